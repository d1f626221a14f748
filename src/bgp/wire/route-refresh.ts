import { messageType } from './codes.ts';
import { withHeader } from './header.ts';
import { Reader } from './reader.ts';
import { octets, u16 } from './writer.ts';

/** ROUTE-REFRESH (RFC 2918 3, RFC 7313 3.2): AFI (2) | subtype (1) | SAFI (1). The framer has checked its length. */
export interface RouteRefresh {
  readonly afi: number;
  /** 0: a request. 1 and 2: begin and end of an enhanced refresh. Others are ignored. */
  readonly subtype: number;
  readonly safi: number;
}

export function decodeRouteRefresh(body: Uint8Array): RouteRefresh {
  const reader = new Reader(body);
  return { afi: reader.u16(), subtype: reader.u8(), safi: reader.u8() };
}

export function encodeRouteRefresh({ afi, subtype, safi }: RouteRefresh): Uint8Array {
  return withHeader(messageType.routeRefresh, octets(u16(afi), subtype, safi));
}
