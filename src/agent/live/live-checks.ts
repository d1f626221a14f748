import { defined } from '../../lang/defined.ts';
import type { LiveCheck, LiveEndpointCheck, Page } from '../../live/contract.ts';
import { pageOf, type LiveQuery } from '../../live/query.ts';
import { dateAt, type Clock } from '../../system/clock.ts';
import type { ConnectionEvidence, FrontendEvidence } from '../checks/connection-evidence.ts';
import type { NoWay } from '../../net/endpoint-way.ts';
import type { PairEvidence } from '../checks/pair-evidence.ts';

/** Returns a page of what became of connections. Throws LiveQueryError. */
export function liveChecks(evidence: ConnectionEvidence, clock: Clock, query: LiveQuery): Pick<Page<LiveCheck>, 'items' | 'next'> {
  const now = clock.now();
  const wanted = query.text('service');
  const all = [...evidence.evidence(now)].filter(({ service }) => wanted === undefined || service === wanted);
  const { items, ...rest } = pageOf(
    all.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    ({ key }) => key,
    query,
  );
  return { items: items.map((one) => liveCheck(evidence, clock, one)), ...rest };
}

function liveCheck(evidence: ConnectionEvidence, clock: Clock, { key, service, answered, pairs }: FrontendEvidence): LiveCheck {
  const endpoints = [...pairs].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    frontend: key,
    service,
    ...defined({ answered: timeOf(clock, answered) }),
    ...(answered !== undefined && !evidence.counts(key) ? { stale: true } : {}),
    endpoints: endpoints.map(([endpoint, pair]): LiveEndpointCheck => {
      return { endpoint, ...timesOf(pair, clock), ...defined({ way: wayText(evidence.wayOf(endpoint)) }) };
    }),
  };
}

function wayText(way: NoWay | undefined): string | undefined {
  if (way?.kind === 'notOnLink') return `nobody answers on ${way.interface}`;
  return way?.kind === 'onOtherNode' ? `it is on node "${way.other}", not where EndpointSlice ${way.slice} says` : way?.route;
}

const failures = ['refused', 'silent', 'dropped', 'unfinished', 'unheard', 'unacknowledged'] as const;

function timesOf(pair: PairEvidence, clock: Clock): Omit<LiveEndpointCheck, 'endpoint'> {
  const now = clock.now();
  const [fresh, used] = [pair.last('answered', now), pair.last('used', now)];
  const answered = fresh === undefined || used === undefined ? (fresh ?? used) : Math.max(fresh, used);
  const failed = Object.fromEntries(failures.map((outcome) => [outcome, timeOf(clock, pair.last(outcome, now))]));
  return { ...defined({ answered: timeOf(clock, answered), ...failed }), ...(pair.isOwn ? { own: true } : {}) };
}

function timeOf(clock: Clock, at: number | undefined): string | undefined {
  return at === undefined ? undefined : dateAt(clock, at).toISOString();
}
