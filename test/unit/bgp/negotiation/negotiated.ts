import type { Negotiated } from '../../../../src/bgp/negotiation/negotiate.ts';

/** What two ordinary speakers in different ASes agree on. */
export const ordinary: Negotiated = {
  peerAsn: 65001,
  peerRouterId: 1,
  internal: false,
  holdTime: 90,
  families: [4, 6],
  fourOctetAsn: true,
  routeRefresh: true,
  enhancedRouteRefresh: false,
  extendedMessages: false,
  extendedNextHop: false,
  addPathReceive: [],
  longLivedFamilies: [],
};
