import type { Service } from '../../../model/objects/service.ts';
import { detailsOfOneNode, reason, type Reason, type ReasonCode } from '../../../model/reasons.ts';
import { nodesOfViews, waysOf, type AddressView, type NodeView } from '../node-view.ts';

/** A reason why nodes do not announce an address, or why their announcement does not serve it. */
export interface Cause {
  readonly reason: Reason;
  /** Sorted by name, at least one. */
  readonly nodes: readonly string[];
}

/**
 * By these reasons a node or session does what it should: they are the cause only when there is no other. In the order of the decision: the
 * node whose reason comes last was the nearest to announcing the address.
 */
const intendedInOrder: readonly ReasonCode[] = [
  'NodeNotSelected',
  'NodeExcluded',
  'NoLocalEndpoints',
  'BeyondMaxNextHops',
  'PeerNotInAdvertisement',
  'PeerFamilyNotCarried',
  'L2NoInterface',
  'L2BeyondCandidates',
  'L2NotOwner',
  'NodeDrained',
];
const intended: ReadonlySet<ReasonCode> = new Set(intendedInOrder);

/** The symptom of a reason that the same node gives for its forwarding. */
const symptoms: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['NotProgrammed']);

/** The order in which a Service becomes reachable: an earlier reason explains a later one. */
const frontendReasons = new Set<ReasonCode>(['FrontendQuarantined', 'FrontendTaken', 'AwaitsForwarding', 'ForeignNat']);

/**
 * Returns why nodes do not announce the address, the cause of most nodes first. Reasons that differ only by the name of the node are one
 * cause. Intended ones are left out if there are others; else only the nearest to an announcement remain.
 */
export function causesOf(nodes: readonly NodeView[], address: string): Cause[] {
  return groupCauses(nodes.flatMap((view) => whyNotOnNode(view, address).map((reason) => ({ view, reason }))));
}

/** Returns unintended losses although other nodes or sessions serve the addresses. `byNode`: some node does not serve at all. */
export function lossesOf(nodes: readonly NodeView[], addresses: readonly string[]): { readonly causes: Cause[]; readonly byNode: boolean } {
  const found = nodes.flatMap((view) =>
    addresses.flatMap((address) => {
      const isLost = !isAnnounced(view, address) || addressIn(view, address)?.heldBack !== undefined;
      const broken = view.forwarding.find((reason) => frontendReasons.has(reason.code));
      const reasons = isLost ? whyNotOnNode(view, address) : [...peerReasons(view, address), ...(broken === undefined ? [] : [broken])];
      return reasons
        .filter((one) => !intended.has(one.code) && homeOf(one) === undefined)
        .map((reason) => ({ view, reason, isLost: isLost || reason === broken }));
    }),
  );
  return { causes: groupCauses(found), byNode: found.some(({ isLost }) => isLost) };
}

/** Returns the filters that let only a share of the packets through to the addresses, on nodes that announce them or have endpoints. */
export function limitsOf(nodes: readonly NodeView[], addresses: readonly string[]): Cause[] {
  const found = nodes.flatMap((view) =>
    view.forwarding.flatMap((because) => {
      if (because.code !== 'ServiceLimited') return [];
      const limited = new Set(because.details.frontends.split(', ').map((frontend) => frontend.split(' ')[0]));
      return addresses.some((one) => limited.has(one) && isAnnounced(view, one)) ? [{ view, reason: because }] : [];
    }),
  );
  return groupCauses(found);
}

/** Returns the node that has an external IP itself, and serves it without an announcement. Undefined: the reason is about something else. */
export function homeOf({ code, details }: Reason): string | undefined {
  return code === 'AddressInUseBy' && details.use === 'external' && details.kind === 'Node' ? details.object : undefined;
}

export function isAnnounced(view: NodeView, address: string): boolean {
  const found = addressIn(view, address);
  return found !== undefined && waysOf(found).some(({ reason }) => reason === undefined);
}

function addressIn({ addresses }: NodeView, address: string): AddressView | undefined {
  return addresses.find((one) => one.address === address && one.type !== 'ClusterIP');
}

function whyNotOnNode(view: NodeView, address: string): Reason[] {
  const found = addressIn(view, address);
  if (found?.heldBack !== undefined) return [found.heldBack];
  const reasons = peerReasons(view, address);
  if (reasons.length > 0) return reasons;
  const because = found?.reason ?? view.reason;
  return because === undefined ? [] : [because];
}

/** Returns the reasons of the sessions and of the link, without those that are intended when there are others. */
function peerReasons(view: NodeView, address: string): Reason[] {
  const found = addressIn(view, address);
  const reasons = (found === undefined ? [] : waysOf(found)).flatMap(({ reason }) => reason ?? []);
  const told = reasons.map((reason) => (symptoms.has(reason.code) ? firstCause(view, reason) : reason));
  const real = told.filter(({ code }) => !intended.has(code));
  return unique(real.length > 0 ? real : told);
}

function firstCause({ problem, forwarding }: NodeView, symptom: Reason): Reason {
  return problem ?? forwarding.find(({ code }) => frontendReasons.has(code)) ?? symptom;
}

function unique(reasons: readonly Reason[]): Reason[] {
  return [...new Map(reasons.map((reason) => [JSON.stringify(reason), reason])).values()];
}

/** Equal for reasons that differ only by what is different on every node. */
export function causeKey({ code, details }: Reason): string {
  const others = Object.entries(details ?? {}).filter(([name]) => !detailsOfOneNode.has(name));
  return `${code} ${JSON.stringify(others)}`;
}

/** Joins reasons that differ only by the node. */
export function groupCauses(found: readonly { readonly view: Pick<NodeView, 'node' | 'alike'>; readonly reason: Reason }[]): Cause[] {
  const alike = Map.groupBy(found, ({ reason }) => causeKey(reason));
  const causes = [...alike.values()].flatMap((same): Cause[] => {
    const [first] = same;
    return first === undefined ? [] : [{ reason: first.reason, nodes: nodesOfViews([...new Set(same.map(({ view }) => view))]) }];
  });
  const real = causes.filter(({ reason }) => !intended.has(reason.code));
  const told = real.length > 0 ? real : nearest(causes);
  return told.toSorted((a, b) => b.nodes.length - a.nodes.length);
}

/** Keeps the intended reasons that come last in the order of the decision. */
function nearest(causes: readonly Cause[]): readonly Cause[] {
  const last = Math.max(...causes.map(({ reason }) => intendedInOrder.indexOf(reason.code)));
  return causes.filter(({ reason }) => intendedInOrder.indexOf(reason.code) === last);
}

/** The cause of connections that nodes refuse because no endpoint serves the port. */
export function portWithoutEndpoint({ ports }: Service, { target }: { readonly target: string }): Cause {
  const port = target.slice(target.lastIndexOf(':') + 1);
  const targetPort = ports.find((one) => `${one.port}/${one.protocol}` === port)?.targetPort ?? '';
  return { reason: reason('PortWithoutEndpoint', { port, targetPort: String(targetPort) }), nodes: [] };
}
