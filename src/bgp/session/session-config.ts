import { defined } from '../../lang/defined.ts';
import { isLinkLocal, type Address } from '../../net/address.ts';
import type { FsmConfig } from './fsm-events.ts';
import type { LocalOpen, LocalRestart } from '../negotiation/local-open.ts';
import { connectTimeout, maximumBackoff, minimumSendHoldTime, userTimeoutMargin } from '../limits.ts';
import type { ResolvedOptions } from '../options/peer-options.ts';
import type { DialOptions, SocketOptions } from '../transport/transport.ts';

/** What a peer's options mean for its state machine, for OPEN and for its sockets. */

export function fsmConfigOf(options: ResolvedOptions, localOpen: LocalOpen): FsmConfig {
  const { connectRetryTime, keepaliveTime, openHoldTime, passive, shutdownRetryTime } = options;
  return { localOpen, passive, connectRetryTime, connectTimeout, openHoldTime, maximumBackoff, shutdownRetryTime, keepaliveTime };
}

/** `restart`: what of a graceful restart is true at this moment. */
export function localOpenOf(options: ResolvedOptions, restart: Omit<LocalRestart, 'restartTime'>): LocalOpen {
  const { localAsn, peerAsn, holdTime, minimumHoldTime, families, strictRole, addPathReceive, capabilityFallback } = options;
  const { address, routerId, gracefulRestart, role, longLivedStaleTime } = options;
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
    capabilityFallback,
    ...defined({ role, longLivedStaleTime }),
    ...(gracefulRestart === undefined ? {} : { gracefulRestart: { restartTime: gracefulRestart.restartTime, ...restart } }),
  };
}

export function dialOptionsOf(options: ResolvedOptions, address: Address): DialOptions {
  const { port, sourceAddress, password, interface: networkInterface } = options;
  return {
    address,
    port,
    ...socketOptionsOf(options),
    ...defined({ sourceAddress, password, interface: networkInterface }),
  };
}

/**
 * An external peer that is one hop away is sent TTL 1, so that nothing leaves the link, and 255 where both check that it has
 * arrived undiminished (RFC 5082 3). A peer whose AS is not known beforehand may be internal, and so further away.
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
 * Seconds that a peer may go without reading (RFC 9687 4). The kernel's user timeout ends such a connection too, as it does one whose segments
 * nobody acknowledges, and must not come first: a router that reads late, because it is busy with the tables of others, goes on sending keepalives
 * and is worth waiting for. A peer that is gone is found by the hold timer, long before either.
 */
export function sendHoldTime(holdTime: number): number {
  return Math.max(minimumSendHoldTime, 2 * holdTime);
}
