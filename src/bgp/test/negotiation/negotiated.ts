import type { Negotiated } from '../../../../src/bgp/negotiation/negotiate.ts';

/** The negotiation result of two ordinary speakers in different ASes. */
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
  addPathSend: [],
  longLivedFamilies: [],
};
