import { formatAddress, sameAddress, type Address } from '../../src/net/address.ts';
import { slotOf } from '../../src/net/connection-hash.ts';
import { frontendFamily, type Backend, type Frontend, type NodeForwarding, type Protocol, type SlotTable } from '../../src/net/frontend.ts';
import { prefixContains } from '../../src/net/prefix.ts';

/** The first packet of a connection. */
export interface Packet {
  readonly source: Address;
  /** The interface at which it arrives. Undefined: the node sends it. */
  readonly interface: string | undefined;
  readonly protocol: Protocol;
  readonly destination: Address;
  readonly port: number;
  /** Absent: any port. */
  readonly sourcePort?: number;
}

/** The fate of a packet on a node. */
export type Fate =
  /** Translated to one of these, with equal probability. */
  | { readonly kind: 'delivered'; readonly to: readonly Delivery[] }
  /** Answered by a TCP reset, or by ICMP port unreachable. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'dropped' }
  /** Not affected: routed as if there were no Services. */
  | { readonly kind: 'untouched' };

export interface Delivery {
  readonly backend: Backend;
  /** The backend sees an address of the node instead of the client's. */
  readonly masqueraded: boolean;
}

/** A node's forwarding and its own addresses. */
export interface TracedNode {
  readonly forwarding: NodeForwarding;
  readonly addresses: readonly Address[];
  readonly frontends: readonly Frontend[];
}

/**
 * Computes what a data plane must do with a packet, from the data types of forwarding (src/net/frontend.ts) alone. It shares no code with
 * any data plane, so the vectors check the planner and the kernel independently.
 */
export function trace(node: TracedNode, packet: Packet): Fate {
  const { forwarding, frontends } = node;
  const isPod =
    forwarding.podPrefixes.some((prefix) => prefixContains(prefix, packet.source)) ||
    (forwarding.podInterfaces ?? []).some((pattern) => isCalled(packet.interface, pattern));
  const isNode = node.addresses.some((address) => sameAddress(address, packet.source));
  const found = frontendOf(node, packet);
  if (found !== undefined) {
    if (found.sourceRanges !== undefined && !found.sourceRanges.some((range) => prefixContains(range, packet.source)))
      return { kind: 'dropped' };
    const { backends, masquerade } = viewOf(forwarding, found, packet, isPod, isNode);
    if (found.backends.length === 0) return { kind: 'refused' };
    if (backends.length === 0) return { kind: 'dropped' };
    return { kind: 'delivered', to: backends.map((backend) => deliver(node, packet, backend, masquerade)) };
  }
  const isClusterIP = frontends.some(
    ({ match, scope }) => scope === 'internal' && match.kind === 'address' && sameAddress(match.address, packet.destination),
  );
  if (isClusterIP) return { kind: 'refused' };
  const isService = forwarding.servicePrefixes.some((prefix) => prefixContains(prefix, packet.destination));
  return isService ? { kind: 'dropped' } : { kind: 'untouched' };
}

/** A Service address takes precedence over a NodePort of the same number. */
function frontendOf({ forwarding, addresses, frontends }: TracedNode, { protocol, destination, port }: Packet): Frontend | undefined {
  const same = frontends.filter(({ match }) => match.protocol === protocol && match.port === port);
  const onAddress = same.find(({ match }) => match.kind === 'address' && sameAddress(match.address, destination));
  if (onAddress !== undefined) return onAddress;
  const isNode = addresses.some((address) => sameAddress(address, destination));
  if (!isNode || !forwarding.nodePortAddresses.some((prefix) => prefixContains(prefix, destination))) return undefined;
  return same.find(({ match }) => match.kind === 'nodePort' && frontendFamily(match) === destination.family);
}

/** Returns the backends that a sender may get, and whether the packet is masqueraded. */
function viewOf(
  node: NodeForwarding,
  frontend: Frontend,
  packet: Packet,
  isPod: boolean,
  isNode: boolean,
): { backends: readonly Backend[]; masquerade: boolean } {
  const local = frontend.policy === 'Local';
  const any = chosen(frontend.backends, frontend.slots, packet);
  const own = chosen(frontend.localBackends, frontend.localSlots, packet);
  if (frontend.scope === 'internal') {
    const family = frontendFamily(frontend.match);
    const knowsPods = node.podInterfaces !== undefined || node.podPrefixes.some((prefix) => prefix.address.family === family);
    const masquerade = node.masqueradeAll === true || (knowsPods && !isPod);
    return { backends: local ? own : any, masquerade };
  }
  if (!local) return { backends: any, masquerade: true };
  if (isPod) return { backends: any, masquerade: false };
  if (isNode) return { backends: any, masquerade: true };
  return { backends: own, masquerade: false };
}

/** Returns the backend of the packet's slot. If the source port, which is hashed, is unknown, returns the backends of all slots. */
function chosen(backends: readonly Backend[], slots: SlotTable | undefined, packet: Packet): readonly Backend[] {
  if (slots === undefined) return backends;
  const { hashed, backendOf } = slots;
  if (hashed === 'connection' && packet.sourcePort === undefined) return backends.filter((_, index) => backendOf.includes(index));
  const address = hashed === 'destination' ? packet.destination : packet.source;
  const index = backendOf[slotOf(hashed, address, packet.sourcePort ?? 0, backendOf.length)];
  return backends.filter((_, other) => other === index);
}

function isCalled(name: string | undefined, pattern: string): boolean {
  if (name === undefined) return false;
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function deliver(node: TracedNode, { source }: Packet, backend: Backend, masquerade: boolean): Delivery {
  const fromItself = backend.local && sameAddress(source, backend.address);
  // A packet from outside that is delivered to the node itself does not pass the hook where sources are translated.
  const isNode = (address: Address): boolean => node.addresses.some((own) => sameAddress(own, address));
  const passes = isNode(source) || !isNode(backend.address);
  return { backend, masqueraded: passes && (masquerade || fromItself) };
}

/** Returns "10.1.0.1:8080* 10.1.0.2:8080", with a star for masquerade, or the kind of the fate. */
export function fateText(
  fate: Fate,
  nameOf: (backend: Backend) => string = ({ address, port }) => `${formatAddress(address)}:${port}`,
): string {
  if (fate.kind !== 'delivered') return fate.kind;
  return [...new Set(fate.to.map(({ backend, masqueraded }) => `${nameOf(backend)}${masqueraded ? '*' : ''}`))].toSorted().join(' ');
}
