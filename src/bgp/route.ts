import type { Address } from '../net/address.ts';
import type { Prefix } from '../net/prefix.ts';

/** A route for a peer. The speaker adds ORIGIN, AS_PATH and next hop. */
export interface Route {
  readonly prefix: Prefix;
  /**
   * The path identifier, 1 (default) to 4294967295. Routes of one prefix with different identifiers are paths of their own (RFC 7911). A peer
   * that does not take several gets the path with the smallest identifier of those that its session can carry.
   */
  readonly pathId?: number;
  /** The next hop of this route. Absent: that of the session. An IPv4 route may have an IPv6 next hop (RFC 8950). */
  readonly nextHop?: Address;
  /** LOCAL_PREF, sent to internal peers only. Default 100. */
  readonly localPref?: number;
  /** MULTI_EXIT_DISC. Absent: not sent. */
  readonly med?: number;
  readonly communities?: readonly Community[];
  /** How many extra times the local AS number precedes AS_PATH, for external peers only. Default 0. */
  readonly asPathPrepend?: number;
  /**
   * Bandwidth behind this route in octets per second, for peers that weight their paths. It is sent as the non-transitive link bandwidth
   * extended community (draft-ietf-idr-link-bandwidth) with the local AS number. Absent: not sent.
   */
  readonly linkBandwidth?: number;
}

/**
 * Standard (RFC 1997): 32 bits. Large (RFC 8092): three times 32 bits. Extended (RFC 4360): type and subtype of one octet each, and 48
 * bits.
 */
export type Community =
  | { readonly kind: 'standard'; readonly value: number }
  | { readonly kind: 'large'; readonly globalAdministrator: number; readonly localData1: number; readonly localData2: number }
  | { readonly kind: 'extended'; readonly type: number; readonly subtype: number; readonly value: number };

export const defaultLocalPref = 100;
