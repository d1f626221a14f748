import type { Community } from '../route.ts';

const standard = (high: number, low: number): Community => ({ kind: 'standard', value: high * 0x1_0000 + low });

/** Not to any external peer (RFC 1997). */
export const NO_EXPORT = standard(0xffff, 0xff01);

/** To no peer at all (RFC 1997). */
export const NO_ADVERTISE = standard(0xffff, 0xff02);

/** Not outside the confederation's member AS (RFC 1997). */
export const NO_EXPORT_SUBCONFED = standard(0xffff, 0xff03);

/** Is about to go away: prefer anything else (RFC 8326). */
export const GRACEFUL_SHUTDOWN = standard(0xffff, 0);

/** Throw away what is sent there (RFC 7999). */
export const BLACKHOLE = standard(0xffff, 666);

/** Kept longer than graceful restart allows: least preferred (RFC 9494). */
export const LLGR_STALE = standard(0xffff, 6);

/** Not to be kept longer than graceful restart allows (RFC 9494). */
export const NO_LLGR = standard(0xffff, 7);

/** To be taken also where its own route target says that it came from there (RFC 7611). */
export const ACCEPT_OWN = standard(0xffff, 1);

/** Not to peers in the sense of business, only to customers (RFC 3765). */
export const NO_PEER = standard(0xffff, 0xff04);
