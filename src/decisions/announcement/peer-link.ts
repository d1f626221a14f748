import { reason, type Reason } from '../../model/reasons.ts';
import {
  bitsOf,
  compareAddresses,
  formatAddress,
  isLinkLocal,
  parseAddressLeniently,
  sameAddress,
  type Address,
} from '../../net/address.ts';
import { prefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import type { HostInterface } from '../../system/host.ts';
import { addressOfSession, type SessionIntent } from './peers.ts';

/** An address of this host, with its network. */
interface LinkAddress {
  readonly interface: string;
  readonly address: Address;
  readonly network: Prefix;
}

/**
 * Returns why there can be no session: the address of the peer belongs to this node. Undefined: it does not. An address of a loopback interface, or
 * another port, may be that of a router program of the node.
 */
export function ownAddress(session: SessionIntent, interfaces: readonly HostInterface[], node: string): Reason | undefined {
  const { peer, peerAddress, peerPort, vrf } = session;
  if (peerAddress === undefined || isLinkLocal(peerAddress) || peerPort !== 179 || vrf !== undefined) return undefined;
  const own = addressesOf(interfaces).find(({ address }) => sameAddress(address, peerAddress));
  return own && reason('PeerIsOwnAddress', { peer, address: formatAddress(peerAddress), node, interface: own.interface });
}

/**
 * Takes the source of the session from its sourceInterface: the Node's InternalIP if it is there, else the first address of the family of the
 * peer. `interfaces`: also those of loopback. `own`: the InternalIPs of the Node.
 */
export function withSourceOfInterface(
  session: SessionIntent,
  interfaces: readonly HostInterface[],
  node: string,
  own: readonly Address[],
): { readonly session: SessionIntent } | { readonly reason: Reason } {
  const { peer, sourceInterface, peerAddress } = session;
  if (sourceInterface === undefined || peerAddress === undefined) return { session };
  const usable = addressesOf(interfaces).flatMap(({ interface: name, address }) =>
    name === sourceInterface && address.family === peerAddress.family && !isOfOneLink(address) && !isOfHost(address) ? [address] : [],
  );
  const sourceAddress = usable.find((address) => own.some((one) => sameAddress(one, address))) ?? usable[0];
  if (sourceAddress !== undefined) return { session: { ...session, sourceAddress } };
  const exists = interfaces.some(({ name }) => name === sourceInterface);
  const family = `IPv${peerAddress.family}`;
  return {
    reason: reason('PeerSourceMissing', { peer, node, interface: sourceInterface, family, what: exists ? 'address' : 'interface' }),
  };
}

/**
 * Chooses the next hop of the family that the session does not run over, among the addresses of the link that leads to the peer: a router reaches
 * these. The Node's InternalIP comes first, then a network's address. Where the link has none, the InternalIP stays, with a warning; a peer that is on
 * no link of the node is left to the routes between.
 */
export function withNextHopOnLink(
  session: SessionIntent,
  interfaces: readonly HostInterface[],
  node: string,
): { readonly session: SessionIntent; readonly warning?: Reason } {
  const peerAddress = addressOfSession(session);
  if (peerAddress === undefined || isLinkLocal(peerAddress) || session.families.length < 2) return { session };
  const all = addressesOf(interfaces);
  const link = session.interface ?? linkTo(peerAddress, all);
  if (link === undefined) return { session };
  const { otherNextHop: internal } = session;
  const usable = all.filter((one) => one.interface === link && one.address.family !== peerAddress.family && !isOfOneLink(one.address));
  const [first] = usable.toSorted((a, b) => Number(isHost(a)) - Number(isHost(b)) || compareAddresses(a.address, b.address));
  if (internal !== undefined && usable.some(({ address }) => sameAddress(address, internal))) return { session };
  if (first !== undefined) return { session: { ...session, otherNextHop: first.address } };
  if (internal === undefined) return { session };
  const details = { peer: session.peer, family: `IPv${internal.family}`, address: formatAddress(internal), node, interface: link };
  return { session, warning: reason('NextHopNotOnLink', details) };
}

/** Returns the interface with the longest network that contains the address. */
function linkTo(peer: Address, addresses: readonly LinkAddress[]): string | undefined {
  const around = addresses.filter((one) => !isHost(one) && prefixContains(one.network, peer));
  return around.toSorted((a, b) => b.network.length - a.network.length)[0]?.interface;
}

function addressesOf(interfaces: readonly HostInterface[]): LinkAddress[] {
  return interfaces.flatMap(({ name, address: text, length }) => {
    const read = parseAddressLeniently(text);
    return read.ok ? [{ interface: name, address: read.value, network: { address: read.value, length } }] : [];
  });
}

/** An address without a network is often a service address that another program added. */
function isHost({ network }: LinkAddress): boolean {
  return network.length === bitsOf(network.address.family);
}

const loopbacks: readonly Prefix[] = [prefix('127.0.0.0/8'), prefix('::1/128')];

function isOfHost(address: Address): boolean {
  return loopbacks.some((one) => prefixContains(one, address));
}

const linkLocal4 = prefix('169.254.0.0/16');

function isOfOneLink(address: Address): boolean {
  return isLinkLocal(address) || prefixContains(linkLocal4, address);
}
