import type { Prefix } from '../net/prefix.ts';

/** A route that a peer should have. ORIGIN, AS_PATH and next hop are the speaker's. */
export interface Route {
  readonly prefix: Prefix;
  /** LOCAL_PREF, sent to internal peers only. Default 100. */
  readonly localPref?: number;
  /** MULTI_EXIT_DISC. Absent: not sent. */
  readonly med?: number;
  readonly communities?: readonly Community[];
  /** How many times the own AS number is put in front of AS_PATH once more, to external peers only. Default 0. */
  readonly asPathPrepend?: number;
  /**
   * Octets per second behind this route, for peers that spread traffic by weight: sent as the non-transitive link
   * bandwidth extended community of draft-ietf-idr-link-bandwidth, with the own AS number. Absent: not sent.
   */
  readonly linkBandwidth?: number;
}

/** RFC 1997: 32 bits. RFC 8092: three times 32 bits. RFC 4360: type and subtype of one octet each, and 48 bits. */
export type Community =
  | { readonly kind: 'standard'; readonly value: number }
  | { readonly kind: 'large'; readonly globalAdministrator: number; readonly localData1: number; readonly localData2: number }
  | { readonly kind: 'extended'; readonly type: number; readonly subtype: number; readonly value: number };

export const defaultLocalPref = 100;
