import { reasonEntry, type Numbers, type Texts } from '../entry.ts';

/** A route that a peer announced. */
export interface Received {
  readonly peer: string;
  readonly prefix: string;
}

const steps: Readonly<Record<string, string>> = {
  longLivedStale: 'the peer has been gone for long (LLGR, RFC 9494)',
  localPref: 'LOCAL_PREF',
  asPathLength: 'length of AS_PATH',
  origin: 'ORIGIN',
  med: 'MULTI_EXIT_DISC',
  external: 'internal peer',
  interiorCost: 'cost to the next hop',
  routerId: 'router ID',
  clusterListLength: 'length of CLUSTER_LIST',
  peerAddress: 'address of the peer',
  pathId: 'path identifier',
  peerName: 'name of the peer',
};

/** Reasons why a node does not put a route that it accepted from a peer into its kernel. */
export const receivedRouteReasons = {
  ReceivedRouteInsideCluster: reasonEntry({
    brief: 'The received route would capture traffic of the cluster',
    says: (d: Received & Texts<'range' | 'from'>) =>
      `the route ${d.prefix} of BGPPeer "${d.peer}" lies in ${d.range} (${d.from}): traffic that belongs to the cluster would go to the router`,
    fix: (d) => `remove the prefix from spec.import of BGPPeer "${d.peer}", or give it a smaller le`,
  }),
  ReceivedRouteToPeer: reasonEntry({
    brief: 'The received route leads to a BGP peer itself',
    says: (d: Received & Texts<'other'>) =>
      `the route ${d.prefix} of BGPPeer "${d.peer}" is the address of BGPPeer "${d.other}": a session must not depend on a route that a session brought`,
    fix: (d) => `remove the prefix from spec.import of BGPPeer "${d.peer}", or give it a smaller le`,
  }),
  ReceivedNextHopNotOnLink: reasonEntry({
    brief: 'The next hop of the received route is on no link of the node',
    says: (d: Received & Texts<'nextHop'>) =>
      `the next hop ${d.nextHop} of the route ${d.prefix} of BGPPeer "${d.peer}" is on no network of an interface of this node that is up`,
    fix: () =>
      'have the router announce its own address on the link as the next hop (FRR: next-hop-self), or correct the address of the interface',
  }),
  ReceivedRouteNotBest: reasonEntry({
    brief: 'Another peer has a better route',
    says: (d: Received & Texts<'other' | 'step' | 'value' | 'better'>) =>
      `the route ${d.prefix} of BGPPeer "${d.peer}" loses against that of BGPPeer "${d.other}" by ${steps[d.step] ?? d.step}: ${d.value} against ${d.better}`,
    fix: () => '',
  }),
  ReceivedNextHopsFull: reasonEntry({
    brief: 'The route has as many next hops as Herald uses',
    says: (d: Received & Numbers<'limit'>) =>
      `the route ${d.prefix} of BGPPeer "${d.peer}" is as good as others, and those already have ${d.limit} next hops`,
    fix: () => '',
  }),
  ReceivedRoutesFull: reasonEntry({
    brief: 'The node has as many received routes as Herald puts into its kernel',
    says: (d: Received & Numbers<'limit'>) =>
      `the route ${d.prefix} of BGPPeer "${d.peer}" is one more than the ${d.limit} received routes that a node puts into its kernel`,
    fix: (d) => `accept fewer routes in spec.import of BGPPeer "${d.peer}" and of the other peers of the node`,
  }),
  ReceivedRouteNotInstalled: reasonEntry({
    brief: 'The kernel does not have the received route',
    says: (d: Received & Texts<'error'>) => `the kernel does not take the route ${d.prefix} of BGPPeer "${d.peer}": ${d.error}`,
    fix: () => 'Herald tries again every 10 s; look at the interface of the next hop: ip link, ip address',
  }),
  ReceivedRoutesNotPossible: reasonEntry({
    brief: 'The agent cannot put routes into this kernel',
    says: (d: Received) =>
      `the route ${d.prefix} of BGPPeer "${d.peer}" stays out of the kernel: the agent has no netlink on this machine, because koffi is missing or the kernel refuses the socket`,
    fix: () => 'install Herald with koffi, and give the agent NET_ADMIN',
  }),
};
