import { consolePaths, type AddressesView, type PoolView } from '../../../src/console/contract.ts';
import { Link } from '../parts/link.tsx';
import { healthWords, Mark } from '../parts/mark.tsx';
import { poolExample } from '../parts/examples.ts';
import { Answered, Example, Message } from '../parts/message.tsx';
import { Notes } from '../parts/notes.tsx';
import { useAnswer } from '../state/answer.ts';
import { useLink } from '../state/pulse.ts';
import { servicePath } from '../state/url.ts';
import { Space } from './space.tsx';

export function AddressesPage() {
  const { pulse } = useLink();
  const answer = useAnswer<AddressesView>(consolePaths.addresses, pulse.versions.addresses ?? '');
  return (
    <div class="page">
      <h1 class="hidden">Addresses</h1>
      <Answered answer={answer}>
        {({ pools, notes, from }) => (
          <>
            <Notes notes={notes} />
            {pools.length === 0 ? (
              <Message title="There is no IPAddressPool">
                <p>
                  {from} has no pool, so no Service gets an address from Herald. Write an IPAddressPool with addresses of yours, and
                  announce it:
                </p>
                <Example manifests={poolExample} />
              </Message>
            ) : (
              <>
                <Legend />
                {pools.map((pool) => (
                  <Pool key={pool.pool} pool={pool} />
                ))}
              </>
            )}
          </>
        )}
      </Answered>
    </div>
  );
}

const legend = [
  { state: 'free', word: 'free' },
  { state: 'assigned', word: 'assigned' },
  { state: 'reserved', word: 'reserved for one Service' },
  { state: 'kept', word: 'released, and kept for its Service' },
  { state: 'draining', word: 'assigned, in a draining pool' },
  { state: 'overlap', word: 'in two pools' },
] as const;

function Legend() {
  return (
    <ul class="legend">
      {legend.map(({ state, word }) => (
        <li key={state}>
          <svg class={`cell ${state}`} viewBox="0 0 14 14" aria-hidden="true">
            <rect x="1" y="1" width="12" height="12" rx="2" />
            {state === 'overlap' && <path d="M3 11l8-8" />}
            {state === 'draining' && <path d="M3 7h8" />}
            {state === 'reserved' && <circle cx="7" cy="7" r="2.5" />}
            {state === 'kept' && <circle cx="7" cy="7" r="3" />}
          </svg>
          {word}
        </li>
      ))}
    </ul>
  );
}

function Pool({ pool }: { readonly pool: PoolView }) {
  const { usage, ranges, announced, lines, pending, health, isDraining } = pool;
  const taken = ranges.flatMap(({ cells }) => cells.filter(({ services }) => services.length > 0));
  const id = `pool-${pool.pool}`;
  return (
    <section class="card" aria-labelledby={id}>
      <div class="card-head">
        <h2 id={id} class={`line ${health}`}>
          <Mark health={health} label={healthWords[health]} />
          {pool.pool}
        </h2>
        {isDraining && <span class="tag">draining</span>}
        <p class="muted tools">{announced === '' ? '' : `announced by ${announced}`}</p>
      </div>
      {usage.map(({ family, given, kept, free, total }) => (
        <p key={family} class="usage">
          <span>{family}</span>
          <meter min={0} max={1} value={shareOf(given, total)} aria-label={`${family} given`} />
          <span>
            {given} given, {kept > 0 && `${kept} kept, `}
            {shortCount(free)} of {shortCount(total)} free
          </span>
        </p>
      ))}
      {lines.map((line) => (
        <p key={line} class="gap">
          {line}
        </p>
      ))}
      {pending.length > 0 && (
        <p class="gap">
          {pending.map(({ code, count }) => `${count} ${count === 1 ? 'Service waits' : 'Services wait'}: ${code}`).join('; ')}
        </p>
      )}
      {ranges.map((range) => (
        <Space key={range.range} range={range} />
      ))}
      {taken.length > 0 && (
        <details class="list">
          <summary>{taken.length === 1 ? '1 address with its Service' : `${taken.length} addresses with their Services`}</summary>
          <ul>
            {taken.map(({ address, state, services, until }) => (
              <li key={address}>
                <span class="mono">{address}</span> <span class="muted">{until === undefined ? state : `kept until ${until} for`}</span>{' '}
                {services.map((service) => (
                  <Link key={service} to={servicePath(service)}>
                    {service}
                  </Link>
                ))}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function shareOf(given: number, total: string): number {
  return total === '0' ? 0 : Math.min(1, given / Number(total));
}

/** A large count of IPv6 addresses as a power of two. */
function shortCount(count: string): string {
  if (count.length <= 12) return count;
  return `about 2^${Math.round(Math.log2(Number(count)))}`;
}
