import type { ImportOptions, NextHops, PeerGroupOptions, PeerOptions, Route } from '../../bgp/index.ts';
import { withGracefulShutdownAttributes } from '../../decisions/announcement/last-resort.ts';
import { octetsOfMegabit } from '../../decisions/announcement/next-hops/link-bandwidth.ts';
import { addressOfSession, type ImportIntent, type SessionIntent } from '../../decisions/announcement/peers.ts';
import type { RouteIntent } from '../../decisions/announcement/route.ts';
import { defined } from '../../lang/defined.ts';
import type { Address } from '../../net/address.ts';
import { limits } from '../limits.ts';

/** Converts a decided session into the options of a peer of the BGP speaker. */
export function peerOptions(session: SessionIntent): PeerOptions {
  return {
    name: session.peer,
    port: session.peerPort,
    localAsn: session.localASN,
    peerAsn: session.peerASN,
    routerId: session.routerID,
    holdTime: session.holdTimeSeconds,
    openHoldTime: limits.openHoldSeconds,
    families: session.families,
    ebgpMultiHop: session.ebgpMultiHop,
    passive: session.passive,
    flapDamping: session.flapDamping,
    adminDown: session.adminDown,
    // Without a hold time there are no keepalives (RFC 4271 4.4).
    ...(session.keepaliveTimeSeconds === 0 ? {} : { keepaliveTime: session.keepaliveTimeSeconds }),
    ...(session.otherNextHop === undefined ? {} : { nextHop: nextHopOf(session.otherNextHop) }),
    ...(session.gracefulRestart ? { gracefulRestart: {} } : {}),
    ...(session.import === undefined ? {} : { import: importOptions(session.import) }),
    ...defined({
      connectRetryTime: session.connectTimeSeconds,
      sourceAddress: session.sourceAddress,
      // Any address of the ranges stands for the members, whose other options are the same.
      address: addressOfSession(session),
      interface: session.interface,
      vrf: session.vrf,
      ttlSecurityHops: session.ttlSecurityHops,
      password: session.password,
      shutdownMessage: session.shutdownMessage,
    }),
  };
}

/** Converts the decided sessions with dynamic neighbours into the options of a peer group. */
export function peerGroupOptions(session: SessionIntent): PeerGroupOptions {
  const { address: _a, interface: _i, port: _p, passive: _v, sourceAddress: _s, connectRetryTime: _c, ...options } = peerOptions(session);
  const { ranges = [], asns = [], maximum } = session.dynamicNeighbors ?? {};
  return {
    ...options,
    name: session.peer,
    ranges,
    ...(asns.length === 0 ? {} : { peerAsns: asns.map(({ from, to = from }) => ({ from, to })) }),
    ...defined({ maximumPeers: maximum }),
  };
}

/** Converts a decided route into a route of the BGP speaker. */
export function speakerRoute(route: RouteIntent): Route {
  const { prefix, communities, localPref, med, asPathPrepend, linkBandwidth: bandwidth } = withGracefulShutdownAttributes(route);
  const linkBandwidth = bandwidth && bandwidth.megabitsPerSecond * octetsOfMegabit;
  return { prefix, communities, asPathPrepend, ...defined({ localPref, med, linkBandwidth }) };
}

/** All prefixes are in one rule: a route must be in the list and have all communities. */
function importOptions({ prefixes, communities, localPref, maximumRoutes }: ImportIntent): ImportOptions {
  const rule = {
    prefixes,
    ...(communities.length === 0 ? {} : { communities }),
    ...defined({ setLocalPref: localPref }),
  };
  return { rules: prefixes.length === 0 ? [] : [rule], otherwise: 'refuse', maximumRoutes };
}

function nextHopOf(address: Address): NextHops {
  return address.family === 4 ? { ipv4: address } : { ipv6: address };
}
