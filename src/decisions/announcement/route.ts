import type { Prefix } from '../../net/prefix.ts';

/** A route that a node should send to one peer. The speaker adds next hop and AS path. */
export interface RouteIntent {
  /** The prefix after aggregation. */
  readonly prefix: Prefix;
  /** Sorted, without duplicates. */
  readonly communities: readonly RouteCommunity[];
  /** LOCAL_PREF for internal sessions; absent: the speaker's default. */
  readonly localPref?: number;
  /** MULTI_EXIT_DISC; absent: not sent. */
  readonly med?: number;
  /** How many more times our ASN is prepended on external sessions. */
  readonly asPathPrepend: number;
  /** The prefix is shorter than a host prefix: the node needs an unreachable route for it, against loops. */
  readonly aggregate: boolean;
  /** The bandwidth behind the route, by which routers weight their paths; absent: not sent. */
  readonly linkBandwidth?: LinkBandwidth;
  /** Routers should use the route only without an alternative (last-resort.ts). */
  readonly lastResort?: true;
}

export interface LinkBandwidth {
  readonly megabitsPerSecond: number;
  /** The endpoints on the node that it stands for, each as often as its weight. Absent: a BGPAdvertisement gives it to the whole node. */
  readonly endpoints?: number;
}

/** RFC 1997 (32 bits), or RFC 8092 (three times 32 bits). */
export type RouteCommunity =
  | { readonly kind: 'standard'; readonly value: number }
  | { readonly kind: 'large'; readonly globalAdministrator: number; readonly localData1: number; readonly localData2: number };
