import { useMemo, useState } from 'preact/hooks';
import type { AddressCell, AddressRangeView } from '../../../src/console/contract.ts';
import { go, servicePath } from '../state/url.ts';

const step = 16;
const size = 13;
/** Cells of a row, so that addresses of a /24 stand in rows of 32. */
const columns = 32;

/** A range as its cells. The pointer shows the owner of one; the list below has the same as text. */
export function Space({ range }: { readonly range: AddressRangeView }) {
  const { cells, blocks } = range;
  const [shown, setShown] = useState('');
  const count = blocks === undefined ? Number(range.size) : blocks.used.length;
  const byPlace = useMemo(() => new Map(cells.map((cell) => [cell.at, cell])), [cells]);
  const rows = Math.ceil(count / columns);
  const most = blocks === undefined ? 1 : Math.max(1, ...blocks.used);
  const say = (index: number): string => {
    if (blocks !== undefined) return `block ${index + 1}: ${blocks.used[index] ?? 0} of ${blocks.size} addresses used`;
    const cell = byPlace.get(index);
    return cell === undefined ? `${index + 1} of ${count}: free` : cellText(cell);
  };
  const width = Math.min(count, columns) * step;
  const used = cells.filter(({ services }) => services.length > 0).length;
  return (
    <figure class="space">
      <figcaption>
        <span class="mono">{range.range}</span>
        <span class="muted">{shown === '' ? (blocks === undefined ? '' : `each cell is ${blocks.size} addresses`) : shown}</span>
      </figcaption>
      <svg
        role="img"
        aria-label={`${range.range}: ${used} of ${range.size} addresses used`}
        viewBox={`0 0 ${width} ${rows * step}`}
        style={{ maxWidth: `${width * 1.25}px` }}
        onPointerLeave={() => setShown('')}
      >
        {Array.from({ length: count }, (_, index) => {
          const cell = blocks === undefined ? byPlace.get(index) : undefined;
          const share = blocks === undefined ? 0 : (blocks.used[index] ?? 0) / most;
          const state = cell?.state ?? (share > 0 ? 'assigned' : 'free');
          const [x, y] = [(index % columns) * step, Math.floor(index / columns) * step];
          const [service] = cell?.services ?? [];
          return (
            <g
              key={index}
              class={`cell ${state}${service === undefined ? '' : ' owned'}`}
              onPointerEnter={() => setShown(say(index))}
              {...(service === undefined ? {} : { onClick: () => go(servicePath(service)) })}
            >
              <rect x={x + 1} y={y + 1} width={size} height={size} rx="2" {...(share > 0 ? { fillOpacity: 0.25 + 0.75 * share } : {})} />
              {state === 'overlap' && <path d={`M${x + 4} ${y + 11}l7-7`} />}
              {state === 'draining' && <path d={`M${x + 4} ${y + 7.5}h7`} />}
              {state === 'reserved' && <circle cx={x + 7.5} cy={y + 7.5} r="2.5" />}
              {state === 'kept' && <circle cx={x + 7.5} cy={y + 7.5} r="3" />}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

function cellText({ address, state, services, until }: AddressCell): string {
  if (until !== undefined) return `${address}: kept for ${services.join(', ')} until ${until}`;
  return `${address}: ${state}${services.length === 0 ? '' : `, ${services.join(', ')}`}`;
}
