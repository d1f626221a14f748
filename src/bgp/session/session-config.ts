import { defined } from '../../lang/defined.ts';
import { isLinkLocal, sameAddress, type Address } from '../../net/address.ts';
import { hostPrefix, prefix } from '../../net/prefix.ts';
import type { FsmConfig } from './fsm-events.ts';
import type { LocalOpen, LocalRestart } from '../negotiation/local-open.ts';
import { connectTimeout, maximumBackoff, minimumSendHoldTime, userTimeoutMargin } from '../limits.ts';
import type { ResolvedOptions } from '../options/peer-options.ts';
import type { DialOptions, Incoming, PeerKey, SocketOptions } from '../transport/transport.ts';

/** This file derives the settings of the state machine, the OPEN and the sockets from the options of a peer. */

const linkLocal = prefix('fe80::/10');

export function fsmConfigOf(options: ResolvedOptions, localOpen: LocalOpen): FsmConfig {
  const { connectRetryTime, keepaliveTime, openHoldTime, passive, shutdownRetryTime } = options;
  return { localOpen, passive, connectRetryTime, connectTimeout, openHoldTime, maximumBackoff, shutdownRetryTime, keepaliveTime };
}

/** `restart`: the current values of the graceful restart capability. */
export function localOpenOf(options: ResolvedOptions, restart: Omit<LocalRestart, 'restartTime'>): LocalOpen {
  const { localAsn, peerAsn, holdTime, minimumHoldTime, families, strictRole, capabilityFallback } = options;
  const { addPathReceive, addPathSend, address, routerId, gracefulRestart, role, longLivedStaleTime, peerAsns } = options;
  return {
    localAsn,
    peerAsn,
    routerId: Number(routerId.value),
    holdTime,
    minimumHoldTime,
    families,
    overIpv6: address === undefined || address.family === 6,
    strictRole,
    addPathReceive,
    addPathSend,
    capabilityFallback,
    ...defined({ role, longLivedStaleTime, peerAsns }),
    ...(gracefulRestart === undefined ? {} : { gracefulRestart: { restartTime: gracefulRestart.restartTime, ...restart } }),
  };
}

export function dialOptionsOf(options: ResolvedOptions, address: Address): DialOptions {
  const { port, sourceAddress, password, tcpAo, vrf, interface: networkInterface } = options;
  return {
    address,
    port,
    ...socketOptionsOf(options),
    ...defined({ sourceAddress, password, tcpAo, vrf, interface: networkInterface }),
  };
}

/** Returns the TCP MD5 or TCP-AO keys for connections from the peer. Undefined: it needs none. */
export function peerKeyOf({ password, tcpAo, address, vrf, interface: networkInterface }: ResolvedOptions): PeerKey | undefined {
  const scope = { prefix: address === undefined ? linkLocal : hostPrefix(address), ...defined({ vrf, interface: networkInterface }) };
  if (tcpAo !== undefined) return { ...scope, tcpAo };
  return password === undefined ? undefined : { ...scope, password };
}

/** Tells whether a connection belongs to the peer. An address means another host in each VRF, but an interface is in one VRF only. */
export function isFromPeer(options: ResolvedOptions, { remoteAddress, interface: networkInterface, vrf }: Incoming): boolean {
  const { address, interface: own } = options;
  const isOnOwn = own !== undefined && networkInterface === own;
  if (vrf !== options.vrf && !isOnOwn) return false;
  if (address === undefined) return isOnOwn && isLinkLocal(remoteAddress);
  if (!sameAddress(address, remoteAddress)) return false;
  return own === undefined || networkInterface === undefined || isOnOwn;
}

/**
 * Returns the socket options. An external peer one hop away gets TTL 1, so that packets do not leave the link. With TTL security both sides
 * send and check TTL 255 (RFC 5082 3). A peer of unknown AS may be internal, and so more than one hop away.
 */
export function socketOptionsOf(options: ResolvedOptions): SocketOptions {
  const { holdTime, ebgpMultiHop, peerAsn, localAsn, ttlSecurityHops, address } = options;
  const external = peerAsn === 'external' || (typeof peerAsn === 'number' && peerAsn !== localAsn);
  const oneHop = external && !ebgpMultiHop && ttlSecurityHops === undefined && !(address !== undefined && isLinkLocal(address));
  return {
    ttl: oneHop ? 1 : 255,
    ...(ttlSecurityHops === undefined ? {} : { minimumTtl: 256 - ttlSecurityHops }),
    ...(holdTime === 0 ? {} : { userTimeout: (sendHoldTime(holdTime) + userTimeoutMargin) * 1000 }),
  };
}

/**
 * Returns the seconds for which a peer may stop reading (RFC 9687 4). The kernel's user timeout also ends a connection whose data the peer
 * does not read or acknowledge, and must be longer: a router that is busy with other sessions reads late but still sends KEEPALIVEs, and is
 * worth waiting for. The hold timer detects a dead peer long before either.
 */
export function sendHoldTime(holdTime: number): number {
  return Math.max(minimumSendHoldTime, 2 * holdTime);
}
