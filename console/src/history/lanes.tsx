import type { HistoryView } from '../../../src/console/contract.ts';
import { clockText } from '../state/time.ts';

const laneHeight = 26;
const left = 110;
const width = 1000;

/** A line for each process, with a mark for each entry, by time. The list below has the same as text. */
export function Lanes({ entries }: { readonly entries: HistoryView['entries'] }) {
  const lanes = [...new Set(entries.map(({ by }) => by))].toSorted();
  const times = entries.map(({ at }) => Date.parse(at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const span = Math.max(1000, last - first);
  const place = (at: number): number => left + 20 + ((at - first) / span) * (width - left - 40);
  const height = lanes.length * laneHeight + 24;
  return (
    <svg class="lanes" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {lanes.map((lane, index) => (
        <g key={lane}>
          <text x={left - 10} y={index * laneHeight + 18} text-anchor="end">
            {lane}
          </text>
          <path d={`M${left} ${index * laneHeight + 14}H${width}`} />
        </g>
      ))}
      {entries.map((entry, index) => (
        <circle
          key={`${entry.at} ${index}`}
          class={good.has(entry.what) ? 'good' : bad.has(entry.what) ? 'bad' : ''}
          cx={place(Date.parse(entry.at))}
          cy={lanes.indexOf(entry.by) * laneHeight + 14}
          r="5"
        >
          <title>{`${clockText(entry.at)} ${entry.what}: ${entry.text}`}</title>
        </circle>
      ))}
      <text x={left + 20} y={height - 4}>
        {clockText(new Date(first).toISOString())}
      </text>
      <text x={width - 20} y={height - 4} text-anchor="end">
        {clockText(new Date(last).toISOString())}
      </text>
    </svg>
  );
}

const good = new Set(['Announced', 'Programmed', 'Accepted', 'SessionUp', 'Owner', 'AddressAssigned', 'Resumed', 'Rejoined']);
const bad = new Set(['Withdrawn', 'Removed', 'Refused', 'SessionDown', 'Conflict', 'Disputed', 'Stalled', 'Suspended', 'Isolated']);
