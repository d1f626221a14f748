import { defined } from '../../lang/defined.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import { reasonText, type Reason } from '../../model/reasons.ts';
import { formatAddress } from '../../net/address.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { AddressExplanation, NodeExplanation } from './service-node.ts';

/** The fate of outside clients' connections to one address and port. */
export interface ClientReachability {
  /** "192.0.2.1:80/TCP", "[2001:db8::1]:80/UDP". */
  readonly target: string;
  /** expected: decided, but no node reports that it is so. */
  readonly outcome: 'answered' | 'expected' | 'refused' | 'unreachable';
  /** Nodes that receive the traffic. */
  readonly via: readonly string[];
  readonly why?: Reason;
  /** Prefixes that may connect. Absent: all. */
  readonly sources?: readonly string[];
}

/** The state of nodes with these reasons is unknown. */
const unreported = new Set<string>(['AgentSilent', 'AgentStopped', 'Undecided']);

/** `ours`: Herald announces the load balancer addresses. Those of another program are left out. */
export function clientReachability(service: Service, nodes: readonly NodeExplanation[], ours: boolean): ClientReachability[] {
  const balanced = ours ? assignedAddresses(service).map(formatAddress) : [];
  const addresses = [...new Set([...balanced, ...service.externalIPs.map(formatAddress)])];
  return addresses.flatMap((address) =>
    service.ports.map(({ protocol, port }): ClientReachability => {
      const target = `${address.includes(':') ? `[${address}]` : address}:${port}/${protocol}`;
      const view = { target, ...viewOf(nodes, address, `${address} ${protocol} ${port}`) };
      const ranges = balanced.includes(address) ? service.loadBalancerSourceRanges : [];
      const sources = ranges.filter((range) => range.address.family === (address.includes(':') ? 6 : 4)).map(formatPrefix);
      return sources.length === 0 ? view : { ...view, sources };
    }),
  );
}

/** Returns one sentence. */
export function reachabilityText({ target, outcome, via, why, sources = [] }: ClientReachability): string {
  const what = target.endsWith('/UDP') ? 'packets' : 'connections';
  const from = sources.length === 0 ? '' : ` from ${sources.join(', ')} only`;
  const because = why === undefined ? '' : `: ${reasonText(why)}`;
  switch (outcome) {
    case 'answered':
      return `${what} to ${target} are answered via ${via.join(', ')}${from}`;
    case 'expected':
      return `${what} to ${target} would be answered via ${via.join(', ')}${from}; no node reports whether they are`;
    case 'refused':
      return `${what} to ${target} come in via ${via.join(', ')} and are refused: no endpoint serves this port`;
    case 'unreachable':
      return `${what} to ${target} time out, because no node announces it${because}`;
  }
}

function viewOf(nodes: readonly NodeExplanation[], address: string, frontend: string): Pick<ClientReachability, 'outcome' | 'via' | 'why'> {
  const found = nodes.map((node) => ({
    node,
    announced: node.addresses.find((one) => one.address === address && one.type !== 'ClusterIP'),
  }));
  const announcing = found.filter(({ announced }) => announced?.peers.some((peer) => peer.reason === undefined) === true);
  const serving = announcing.filter(({ node }) => !isIdle(node, frontend));
  if (serving.length > 0) return { outcome: 'answered', via: serving.map(({ node }) => node.node) };
  if (announcing.length > 0) return { outcome: 'refused', via: announcing.map(({ node }) => node.node) };
  const expected = found.filter(({ announced }) => announced?.peers.some((peer) => isUnreported(peer.reason)) === true);
  if (expected.length > 0) return { outcome: 'expected', via: expected.map(({ node }) => node.node) };
  const why = firstReason(found.flatMap(({ announced }) => announced ?? [])) ?? nodes[0]?.reason;
  return { outcome: 'unreachable', via: [], ...defined({ why }) };
}

function isIdle({ idle = [], forwarding }: NodeExplanation, frontend: string): boolean {
  const refused = forwarding.some(({ code, details }) => code === 'FrontendQuarantined' && details.frontend === frontend);
  return refused || idle.some((one) => one.frontend === frontend);
}

function isUnreported(because: Reason | undefined): boolean {
  return because !== undefined && unreported.has(because.code);
}

/** Returns the most common reason of the nodes: a problem of a single node is rarely the cause. */
function firstReason(addresses: readonly AddressExplanation[]): Reason | undefined {
  const reasons = addresses.flatMap(({ reason, peers }) => reason ?? peers.flatMap((peer) => peer.reason ?? [])[0] ?? []);
  const counted = [...Map.groupBy(reasons, ({ code }) => code).values()].toSorted((a, b) => b.length - a.length);
  return counted[0]?.[0];
}
