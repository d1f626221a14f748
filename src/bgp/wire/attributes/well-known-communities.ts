import type { Community } from '../../route.ts';

const standard = (high: number, low: number): Community => ({ kind: 'standard', value: high * 0x1_0000 + low });

/** Do not announce to external peers (RFC 1997). */
export const NO_EXPORT = standard(0xffff, 0xff01);

/** Do not announce to any peer (RFC 1997). */
export const NO_ADVERTISE = standard(0xffff, 0xff02);

/** Do not announce outside the member AS of the confederation (RFC 1997). */
export const NO_EXPORT_SUBCONFED = standard(0xffff, 0xff03);

/** The path will go away soon, so any other is preferred (RFC 8326). */
export const GRACEFUL_SHUTDOWN = standard(0xffff, 0);

/** Discard packets to this prefix (RFC 7999). */
export const BLACKHOLE = standard(0xffff, 666);

/** The route is stale beyond the restart time and is the least preferred (RFC 9494). */
export const LLGR_STALE = standard(0xffff, 6);

/** Do not keep the route beyond the restart time (RFC 9494). */
export const NO_LLGR = standard(0xffff, 7);

/** Accept the route even if its own route target says that it originated locally (RFC 7611). */
export const ACCEPT_OWN = standard(0xffff, 1);

/** Do not announce to peers of equal standing, only to customers (RFC 3765). */
export const NO_PEER = standard(0xffff, 0xff04);
