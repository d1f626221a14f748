import type { Address } from '../../net/address.ts';
import { encodeArp, unspecified4, type ArpPacket } from '../wire/arp.ts';
import { broadcastMac, zeroMac, type Mac } from '../wire/mac.ts';
import { allNodes, allRouters, isUnspecified, multicastMac, solicitedNodeGroup, unspecified6 } from '../wire/multicast.ts';
import { encodeAdvertisement, encodeSolicitation, type NeighborSolicitation } from '../wire/ndp.ts';

/**
 * The frames that this node sends. The source of an advertisement is the announced address itself, as of an advertisement of Linux, so no
 * other address of the interface is needed.
 */

/**
 * Announces an address, in its first or second form. IPv4: ARP with equal sender and target, as request (RFC 5227 2.3) and as reply, because
 * some devices heed only one of them. IPv6: to all nodes with the Override flag (RFC 4861 7.2.6), and to all routers without it, which makes
 * a router create an entry (RFC 9131 6.1.2).
 */
export function announcement(address: Address, mac: Mac, form: 'first' | 'second'): Uint8Array {
  if (address.family === 4) {
    const asRequest = arpRequest(address, address, mac);
    return encodeArp(form === 'first' ? asRequest : { ...asRequest, operation: 'reply', targetMac: mac });
  }
  const destination = form === 'first' ? allNodes : allRouters;
  return encodeAdvertisement({
    etherDestination: multicastMac(destination),
    etherSource: mac,
    source: address,
    destination,
    target: address,
    router: false,
    solicited: false,
    override: form === 'first',
    targetLink: mac,
  });
}

/** Asks whether another host has the address, without a sender address (RFC 5227 1.1, RFC 4862 5.4.2): that changes no neighbour table. */
export function probe(address: Address, mac: Mac): Uint8Array {
  if (address.family === 4) return encodeArp(arpRequest(unspecified4, address, mac));
  const group = solicitedNodeGroup(address);
  return encodeSolicitation({
    etherDestination: multicastMac(group),
    etherSource: mac,
    source: unspecified6,
    destination: group,
    target: address,
  });
}

function arpRequest(sender: Address, target: Address, mac: Mac): Omit<ArpPacket, 'kind'> {
  return {
    etherDestination: broadcastMac,
    etherSource: mac,
    operation: 'request',
    senderMac: mac,
    sender,
    targetMac: zeroMac,
    target,
  };
}

/** Answers an ARP request, to the host that sent it. */
export function arpAnswer({ senderMac, sender, target }: ArpPacket, mac: Mac): Uint8Array {
  return encodeArp({
    etherDestination: senderMac,
    etherSource: mac,
    operation: 'reply',
    senderMac: mac,
    sender: target,
    targetMac: senderMac,
    target: sender,
  });
}

/** Answers a solicitation (RFC 4861 7.2.4). Without a source address the answer goes to all nodes. */
export function ndpAnswer({ source, sourceLink, etherSource, target }: NeighborSolicitation, mac: Mac): Uint8Array {
  const hasSource = !isUnspecified(source);
  return encodeAdvertisement({
    etherDestination: hasSource ? (sourceLink ?? etherSource) : multicastMac(allNodes),
    etherSource: mac,
    source: target,
    destination: hasSource ? source : allNodes,
    target,
    router: false,
    solicited: hasSource,
    override: true,
    targetLink: mac,
  });
}
