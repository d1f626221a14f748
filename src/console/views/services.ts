import { defined } from '../../lang/defined.ts';
import { decideAllocationClaim } from '../../decisions/allocation/claim.ts';
import { poolLookup } from './pool-lookup.ts';
import { formatAddress } from '../../net/address.ts';
import type { Condition } from '../../model/objects/condition.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import { outsideFrontends, seenConnections } from '../../decisions/verdict/seen-connections.ts';
import { reasonLine } from '../../decisions/verdict/verdict-text.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { ServiceOutcome, ServiceRow, ServicesView } from '../contract.ts';
import type { Picture, ServiceState } from '../picture.ts';
import { readingFacts } from './reading-facts.ts';

/** Lists Services of type LoadBalancer, and others of which Herald has a condition. */
export function servicesView(picture: Picture): ServicesView {
  const { snapshot, services, overview } = picture;
  const lines = new Map<string, number>();
  const lineOf = (text: string): number => {
    const known = lines.get(text);
    if (known !== undefined) return known;
    lines.set(text, lines.size);
    return lines.size - 1;
  };
  const unclaimed = new Map(overview.services.unclaimed.map(({ service, reason }) => [service, reason]));
  const poolOf = poolLookup(snapshot.pools.values());
  const rows = [...snapshot.services].flatMap(([key, service]): ServiceRow[] => {
    const state = services.get(key);
    if (service.type !== 'LoadBalancer' && state === undefined) return [];
    const { namespace, name } = service.metadata;
    const orphan = unclaimed.get(key);
    const problem = state?.problem ?? (orphan === undefined ? undefined : { code: orphan.code, line: reasonLine(orphan) });
    const addresses = service.ingress.map(({ address, hostname = '' }) => (address === undefined ? hostname : formatAddress(address)));
    const [first] = service.ingress.flatMap(({ address }) => address ?? []);
    const pool = first === undefined ? undefined : poolOf(first);
    return [
      {
        namespace: namespace ?? '',
        name,
        outcome: outcomeOf(picture, service, state, orphan !== undefined),
        conditions: conditionLetters(state?.conditions ?? []),
        addresses,
        ...defined({ pool, reason: problem?.code, line: problem === undefined ? undefined : lineOf(problem.line) }),
      },
    ];
  });
  return { ...readingFacts(picture), rows: rows.toSorted(byName), lines: [...lines.keys()] };
}

/** Counts Services by outcome. */
export function countOutcomes({ snapshot, services, overview, now }: Picture): Readonly<Record<ServiceOutcome, number>> {
  const counts: Record<ServiceOutcome, number> = { served: 0, partly: 0, notServed: 0, announced: 0, unknown: 0, other: 0 };
  const unclaimed = new Set<ServiceKey>(overview.services.unclaimed.map(({ service }) => service));
  for (const [key, service] of snapshot.services) {
    const state = services.get(key);
    if (service.type === 'LoadBalancer' || state !== undefined) counts[outcomeOf({ snapshot, now }, service, state, unclaimed.has(key))]++;
  }
  return counts;
}

export function outcomeOf(
  { snapshot, now }: Pick<Picture, 'snapshot' | 'now'>,
  service: Service,
  state: ServiceState | undefined,
  isUnclaimed: boolean,
): ServiceOutcome {
  if (state?.problem !== undefined) return state.problem.outcome ?? 'notServed';
  if (isUnclaimed) return 'notServed';
  if (state !== undefined && state.conditions.length > 0) return isSeen(snapshot, service, now) ? 'served' : 'announced';
  return decideAllocationClaim(service, snapshot.config).mine ? 'unknown' : 'other';
}

/** True when connections to every address and port of the Service were answered. */
function isSeen(snapshot: Snapshot, service: Service, now: number): boolean {
  const { answered } = seenConnections(snapshot, now);
  const frontends = outsideFrontends(service);
  return frontends.length > 0 && frontends.every(answered);
}

const order = ['AddressAssigned', 'Programmed', 'Announced'] as const;

function conditionLetters(conditions: readonly Condition[]): string {
  return order.map((type) => conditions.find((one) => one.type === `herald.dev/${type}`)?.status.charAt(0) ?? '-').join('');
}

function byName(a: ServiceRow, b: ServiceRow): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
