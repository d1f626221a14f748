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
}

/** RFC 1997: 32 bits. RFC 8092: three times 32 bits. */
export type Community =
  | { readonly kind: 'standard'; readonly value: number }
  | { readonly kind: 'large'; readonly globalAdministrator: number; readonly localData1: number; readonly localData2: number };

export const defaultLocalPref = 100;
