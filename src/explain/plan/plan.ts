import { defined } from '../../lang/defined.ts';
import { poolsToRecord } from '../../decisions/announcement/pool-of-address.ts';
import { peersOfNode, type PeerSession, type SessionIntent } from '../../decisions/announcement/peers.ts';
import { nodeForwarding } from '../../decisions/forwarding/node.ts';
import { decideForwarding } from '../../decisions/forwarding/plan.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { ReleasedAddress } from '../../model/parse/released-address.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { valuesOf } from '../../model/store/snapshot-values.ts';
import { formatAddress } from '../../net/address.ts';
import { frontendKey } from '../../net/frontend.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { expectedAddresses, type ExpectedAddresses } from '../pools/allocation.ts';
import { withExpectedIngress, withIngress } from '../pools/with-ingress.ts';
import { ownerMoves, type OwnerMove } from './owner-moves.ts';
import { newlyRefused, type RefusedPoolChange } from './refused-pools.ts';
import { differences, routeChanges, routesLostBy, type DrainChange, type NodeChange, type RouteChanges } from './route-changes.ts';
import type { UnansweredPool } from '../../decisions/l2/local-pools.ts';
import { DivertedAddresses, newlyUnanswered, unannouncedAddresses, type DivertedAddress, type UnannouncedAddress } from './unannounced.ts';

/** The differences that would follow if one snapshot replaced another. Plain data, sorted. */
export interface Plan {
  readonly pools: readonly RefusedPoolChange[];
  readonly addresses: readonly AddressChange[];
  /** Addresses that another node would announce by ARP or NDP. */
  readonly owners: readonly OwnerMove[];
  readonly routes: readonly NodeChange[];
  readonly rules: readonly NodeChange[];
  readonly sessions: readonly SessionChange[];
  /** Drains of nodes that begin. */
  readonly drains: readonly DrainChange[];
  /** New addresses, and addresses announced now, that no node would announce. */
  readonly unannounced: readonly UnannouncedAddress[];
  /** Pools inside a network of nodes that only routers would know, and do not now. */
  readonly unanswered: readonly UnansweredPool[];
  /** Routes that would divert traffic for Nodes and routers. */
  readonly diverted: readonly DivertedAddress[];
}

interface AddressChange {
  readonly service: ServiceKey;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Why the Service does not get the address that it requests. */
  readonly reason?: Reason;
  /** Annotations of another program by which it names addresses or a pool. Absent: there are none. */
  readonly requestedBy?: readonly string[];
}

export interface SessionChange {
  readonly node: string;
  readonly peer: string;
  readonly change: 'start' | 'stop' | 'reset' | 'live';
  /** The settings that differ. */
  readonly fields: readonly string[];
  /** Of these, the settings that the router must have too: the session stays down until it has. Absent: there is none. */
  readonly agreed?: readonly string[];
  /** Number of routes that the router loses by the reset. Absent: none, or it keeps them by graceful restart. */
  readonly lost?: number;
  /** Graceful restart is on, so that the router may keep them for a while. */
  readonly graceful?: true;
}

/** Classifies a change of a session's settings; undefined: the settings are equal. */
type ClassifySession = (
  before: SessionIntent,
  after: SessionIntent,
) => { readonly change: 'reset' | 'live'; readonly fields: readonly string[]; readonly agreed?: readonly string[] } | undefined;

/** What the comparison needs besides the two snapshots. */
export interface PlanFacts {
  readonly classify: ClassifySession;
  /** Addresses that pools keep now. Default: none. */
  readonly released?: readonly ReleasedAddress[] | undefined;
  /** Milliseconds since the epoch, to ignore old reports. Default: no report is too old. */
  readonly now?: number;
}

/**
 * Compares what all nodes would do. Services of `current` keep the addresses that are recorded there. The cost is proportional to the
 * number of Services times the number of nodes.
 */
export function planChanges(current: Snapshot, proposed: Snapshot, { classify, released = [], now }: PlanFacts): Plan {
  const recorded = withIngress({ ...valuesOf(proposed), nodeStates: current.nodeStates }, (key) => {
    const service = current.services.get(key);
    return service === undefined ? undefined : { ingress: service.ingress, recordedPools: poolsToRecord(current, service) };
  });
  const expected = expectedAddresses(current, recorded, released);
  const after = withExpectedIngress(recorded, expected);
  const nodes = [...new Set([...current.nodes.keys(), ...after.nodes.keys()])].toSorted();
  const [drains, routesOfAll, rulesOfAll, sessionsOfAll]: [DrainChange[], NodeChange[], NodeChange[], SessionChange[]] = [[], [], [], []];
  const announced = { before: new Set<string>(), after: new Set<string>() };
  const diverted = new DivertedAddresses(current, after);
  for (const node of nodes) {
    const routes = routeChanges(current, after, node, now);
    routesOfAll.push(...routes.changes);
    if (routes.drain !== undefined) drains.push(routes.drain);
    rulesOfAll.push(...changedRules(node, rules(current, node), rules(after, node), { routes, seconds: after.config.drainSeconds }));
    sessionsOfAll.push(...changedSessions(node, sessions(current, node), sessions(after, node), { classify, routes, current }));
    diverted.addNode(node, routes);
    for (const address of routes.before.announced) announced.before.add(address);
    for (const address of routes.after.announced) announced.after.add(address);
  }
  return {
    pools: newlyRefused(current, proposed),
    addresses: changedAddresses({ current, proposed }, expectedAddresses(current, current, released), expected),
    owners: ownerMoves(current, after),
    routes: routesOfAll,
    rules: rulesOfAll,
    sessions: sessionsOfAll,
    drains,
    unannounced: unannouncedAddresses(current, after, announced),
    unanswered: newlyUnanswered(current, after),
    diverted: diverted.all,
  };
}

export function isEmptyPlan(plan: Plan): boolean {
  return Object.values(plan).every((changes: readonly unknown[]) => changes.length === 0);
}

/** `unchanged` is what the current manifests lead to anyway. A Service that waits now and would go on waiting is not a change. */
function changedAddresses(
  { current, proposed }: { readonly current: Snapshot; readonly proposed: Snapshot },
  unchanged: ExpectedAddresses,
  expected: ExpectedAddresses,
): AddressChange[] {
  return [...expected.keys()].toSorted().flatMap((key): AddressChange[] => {
    const service = current.services.get(key);
    const before = service === undefined ? [] : recordedAddresses(service);
    const { addresses: after = [], reason } = expected.get(key) ?? {};
    const saidBefore = JSON.stringify(unchanged.get(key)?.reason);
    if (sameAddresses(before, after) && JSON.stringify(reason) === saidBefore) return [];
    return [{ service: key, before, after, ...defined({ reason, requestedBy: proposed.services.get(key)?.requestedBy }) }];
  });
}

/** The order in a status, and an address that it names twice, mean nothing to nodes and clients. */
export function sameAddresses(a: readonly string[], b: readonly string[]): boolean {
  return new Set([...a, ...b]).size === new Set(a).size && new Set(a).size === new Set(b).size;
}

/** Returns how many addresses Services get, lose or exchange. A Service that keeps its addresses for another reason counts as none. */
export function countChangedAddresses(changes: readonly AddressChange[]): number {
  return changes.reduce((count, { before, after }) => {
    const [lost, gained] = [before.filter((one) => !after.includes(one)), after.filter((one) => !before.includes(one))];
    return count + Math.max(lost.length, gained.length);
  }, 0);
}

function recordedAddresses(service: Service): string[] {
  return service.ingress.flatMap((ingress) => (ingress.address === undefined ? [] : [formatAddress(ingress.address)]));
}

/** Returns the text of every frontend of a node, and of its settings. */
function rules(snapshot: Snapshot, node: string): Map<string, string> {
  const texts = nodeSettings(snapshot, node);
  for (const service of snapshot.services.values()) {
    for (const frontend of decideForwarding(snapshot, service, node).forwarding?.frontends ?? []) {
      texts.set(
        frontendKey(frontend.match),
        JSON.stringify(frontend, (_, value: unknown) =>
          typeof value === 'bigint' ? value.toString() : value instanceof Uint16Array ? value.join() : value,
        ),
      );
    }
  }
  return texts;
}

/** An empty setting has no entry, because it makes no rule. */
function nodeSettings(snapshot: Snapshot, node: string): Map<string, string> {
  if (!snapshot.nodes.has(node)) return new Map();
  const forwarding = nodeForwarding(snapshot, node);
  const { nodePortAddresses, podPrefixes, podInterfaces = [], servicePrefixes } = forwarding;
  const settings = new Map([
    ['setting: addresses that take NodePort traffic', nodePortAddresses.map(formatPrefix).join()],
    ['setting: prefixes of pods', podPrefixes.map(formatPrefix).join()],
    ['setting: interfaces of pods', podInterfaces.join()],
    ['setting: NodePorts on localhost', forwarding.localhostNodePorts === true ? 'on' : ''],
    ['setting: masquerade of all ClusterIP traffic', forwarding.masqueradeAll === true ? 'on' : ''],
    ['setting: prefixes of Services', servicePrefixes.map(formatPrefix).join()],
    ['setting: masquerade bit', String(forwarding.masqueradeBit)],
  ]);
  return new Map([...settings].filter(([, text]) => text !== ''));
}

/** Rules behind a route that is withdrawn stay for `seconds`, because routers go on sending for a moment. */
function changedRules(
  node: string,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  { routes, seconds }: { readonly routes: RouteChanges; readonly seconds: number },
): NodeChange[] {
  return differences(node, before, after).map((one) => {
    const [address = ''] = one.what.split(' ');
    const drains = one.change === 'remove' && seconds > 0 && routes.before.announced.has(address);
    return drains ? { ...one, afterSeconds: seconds } : one;
  });
}

function sessions(snapshot: Snapshot, node: string): Map<string, PeerSession> {
  return new Map(peersOfNode(snapshot, node).flatMap(({ peer, result }) => ('session' in result ? [[peer, result] as const] : [])));
}

function changedSessions(
  node: string,
  before: ReadonlyMap<string, PeerSession>,
  after: ReadonlyMap<string, PeerSession>,
  { classify, routes, current }: { readonly classify: ClassifySession; readonly routes: RouteChanges; readonly current: Snapshot },
): SessionChange[] {
  return [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((peer): SessionChange[] => {
    const [old, next] = [before.get(peer), after.get(peer)];
    if (next === undefined) return [{ node, peer, change: 'stop', fields: [] }];
    if (old === undefined) return [{ node, peer, change: 'start', fields: [] }];
    const { password } = next.passwordGone === undefined ? next.session : old.session;
    const difference = classify(old.session, { ...next.session, ...defined({ password }) });
    if (difference === undefined) return [];
    if (difference.change === 'live') return [{ node, peer, ...difference }];
    const { fields, agreed } = difference;
    if (next.session.adminDown) return [{ node, peer, change: old.session.adminDown ? 'live' : 'stop', fields }];
    if (old.session.adminDown) return [{ node, peer, change: 'start', fields }];
    const isGraceful = old.session.gracefulRestart && next.session.gracefulRestart;
    const lost = agreed === undefined && isGraceful ? 0 : routesLostBy(peer, routes, current.nodeStates.get(node));
    const loss = lost === 0 ? {} : { lost, ...(isGraceful ? { graceful: true as const } : {}) };
    return [{ node, peer, change: 'reset', fields, ...defined({ agreed }), ...loss }];
  });
}
