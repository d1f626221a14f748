import { defined } from '../../lang/defined.ts';
import { peersOfNode, type PeerSession, type SessionIntent } from '../../decisions/announcement/peers.ts';
import { decideAnnouncement, type ServiceAnnouncement } from '../../decisions/announcement/decision.ts';
import { routesByPeer } from '../../decisions/announcement/merge-routes.ts';
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

/** The differences that would follow if one snapshot replaced another. Plain data, sorted. */
export interface Plan {
  readonly pools: readonly RefusedPoolChange[];
  readonly addresses: readonly AddressChange[];
  /** Addresses that another node would announce by ARP or NDP. */
  readonly owners: readonly OwnerMove[];
  readonly routes: readonly NodeChange[];
  readonly rules: readonly NodeChange[];
  readonly sessions: readonly SessionChange[];
}

interface AddressChange {
  readonly service: ServiceKey;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Why the Service does not get the address that it requests. */
  readonly reason?: Reason;
}

export interface NodeChange {
  readonly node: string;
  readonly change: 'add' | 'remove' | 'change';
  /** "192.0.2.1/32 to tor1", "192.0.2.1 TCP 80". */
  readonly what: string;
}

export interface SessionChange {
  readonly node: string;
  readonly peer: string;
  readonly change: 'start' | 'stop' | 'reset' | 'live';
  /** The settings that differ. */
  readonly fields: readonly string[];
}

/** Classifies a change of a session's settings; undefined: the settings are equal. */
type ClassifySession = (
  before: SessionIntent,
  after: SessionIntent,
) => { readonly change: 'reset' | 'live'; readonly fields: readonly string[] } | undefined;

/**
 * Compares what all nodes would do. Services of `current` keep the addresses that are recorded there. The cost is proportional to the
 * number of Services times the number of nodes. `released`: addresses that pools keep now.
 */
export function planChanges(
  current: Snapshot,
  proposed: Snapshot,
  classify: ClassifySession,
  released: readonly ReleasedAddress[] = [],
): Plan {
  const recorded = withIngress({ ...valuesOf(proposed), nodeStates: current.nodeStates }, (key) => current.services.get(key)?.ingress);
  const expected = expectedAddresses(current, recorded, released);
  const after = withExpectedIngress(recorded, expected);
  const nodes = [...new Set([...current.nodes.keys(), ...after.nodes.keys()])].toSorted();
  return {
    pools: newlyRefused(current, proposed),
    addresses: changedAddresses(current, expectedAddresses(current, current, released), expected),
    owners: ownerMoves(current, after),
    routes: nodes.flatMap((node) => changes(node, routes(current, node), routes(after, node))),
    rules: nodes.flatMap((node) => changes(node, rules(current, node), rules(after, node))),
    sessions: nodes.flatMap((node) => changedSessions(node, sessions(current, node), sessions(after, node), classify)),
  };
}

export function isEmptyPlan({ pools, addresses, owners, routes, rules, sessions }: Plan): boolean {
  return [pools, addresses, owners, routes, rules, sessions].every((changes) => changes.length === 0);
}

/** `unchanged` is what the current manifests lead to anyway. A Service that waits now and would go on waiting is not a change. */
function changedAddresses(current: Snapshot, unchanged: ExpectedAddresses, expected: ExpectedAddresses): AddressChange[] {
  return [...expected.keys()].toSorted().flatMap((key): AddressChange[] => {
    const service = current.services.get(key);
    const before = service === undefined ? [] : recordedAddresses(service);
    const { addresses: after = [], reason } = expected.get(key) ?? {};
    const saidBefore = JSON.stringify(unchanged.get(key)?.reason);
    if (before.join() === after.join() && JSON.stringify(reason) === saidBefore) return [];
    return [{ service: key, before, after, ...defined({ reason }) }];
  });
}

function recordedAddresses(service: Service): string[] {
  return service.ingress.flatMap((ingress) => (ingress.address === undefined ? [] : [formatAddress(ingress.address)]));
}

/** Returns the text of every route of a node, with its attributes. */
function routes(snapshot: Snapshot, node: string): Map<string, string> {
  const announcements: ServiceAnnouncement[] = [...snapshot.services.values()].map((service) =>
    decideAnnouncement(snapshot, service, node),
  );
  const texts = new Map<string, string>();
  for (const [peer, wanted] of routesByPeer(announcements)) {
    for (const { prefix, ...attributes } of wanted) texts.set(`${formatPrefix(prefix)} to ${peer}`, JSON.stringify(attributes));
  }
  return texts;
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

function changes(node: string, before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): NodeChange[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return keys.flatMap((what): NodeChange[] => {
    const [old, next] = [before.get(what), after.get(what)];
    if (old === next) return [];
    return [{ node, what, change: old === undefined ? 'add' : next === undefined ? 'remove' : 'change' }];
  });
}

function sessions(snapshot: Snapshot, node: string): Map<string, PeerSession> {
  return new Map(peersOfNode(snapshot, node).flatMap(({ peer, result }) => ('session' in result ? [[peer, result] as const] : [])));
}

function changedSessions(
  node: string,
  before: ReadonlyMap<string, PeerSession>,
  after: ReadonlyMap<string, PeerSession>,
  classify: ClassifySession,
): SessionChange[] {
  return [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((peer): SessionChange[] => {
    const [old, next] = [before.get(peer), after.get(peer)];
    if (next === undefined) return [{ node, peer, change: 'stop', fields: [] }];
    if (old === undefined) return [{ node, peer, change: 'start', fields: [] }];
    const { password } = next.passwordGone === undefined ? next.session : old.session;
    const difference = classify(old.session, { ...next.session, ...defined({ password }) });
    return difference === undefined ? [] : [{ node, peer, ...difference }];
  });
}
