import type { ClaimEvent, ClaimState } from './claim/fsm.ts';
import type { Counters } from './counters.ts';
import type { Standing, Verdict } from './election/peer-view.ts';
import type { PeerSession } from './table.ts';

/** Something that the main thread should know. `at` is wall-clock time. */
export type L2Event =
  /** An address changed its state on this node. */
  | {
      readonly kind: 'changed';
      readonly at: Date;
      readonly address: string;
      readonly interface: string;
      readonly from: ClaimState;
      readonly to: ClaimState;
      readonly cause: ClaimEvent | 'removed';
      /** The node or host that caused it, if a frame did. */
      readonly mac?: string;
      readonly node?: string;
      /** This node became the owner: the node that had the address before, as far as this one knows, and the state of its session. */
      readonly previous?: { readonly node: string; readonly session?: PeerSession };
    }
  /** A foreign host uses the address. Repeated at most every 10 s for an address, every second when the MAC address is another one. */
  | { readonly kind: 'conflict'; readonly at: Date; readonly address: string; readonly interface: string; readonly mac: string }
  /** The foreign host is silent, and does not answer when it is asked. */
  | { readonly kind: 'conflictEnded'; readonly at: Date; readonly address: string; readonly interface: string }
  /** Another node claims the address again and again although this one answers: frames get lost in one direction, or ranks differ. */
  | { readonly kind: 'disputed'; readonly at: Date; readonly address: string; readonly interface: string; readonly node: string }
  /** The sessions with all nodes of the segment were lost at once, or one of them is back. */
  | { readonly kind: 'isolated' | 'rejoined'; readonly at: Date; readonly interface: string }
  /** The thread did not run for this time. */
  | { readonly kind: 'stalled'; readonly at: Date; readonly milliseconds: number }
  /** The main thread died or hangs: answers ended. It is back: answers go on after a check. */
  | { readonly kind: 'suspended' | 'resumed'; readonly at: Date };

export interface AddressStatus {
  readonly address: string;
  readonly interface: string;
  readonly state: ClaimState;
  readonly since: Date;
  readonly cause?: ClaimEvent;
  /** How often this node became the owner. */
  readonly claims: number;
  /** The other node that owns the address as far as this one knows. */
  readonly owner?: string;
  readonly requests: number;
  readonly answers: number;
  readonly lastRequest?: { readonly at: Date; readonly mac: string };
  /** The last answer to a host that is no node, or to a node that wants to send a packet. Other nodes also ask only whether this one lives. */
  readonly lastAnswer?: { readonly at: Date; readonly mac: string };
  /** Such answers in the last minute, estimated from the present and the previous one. */
  readonly answersPerMinute: number;
  readonly lastAnnouncement?: Date;
  readonly lastConflict?: { readonly at: Date; readonly mac: string };
}

export interface PeerStatus {
  readonly node: string;
  readonly mac: string;
  readonly session?: PeerSession;
  /** The table names a BFD session with the node. */
  readonly watched: boolean;
  /** When the session came into this state. Absent: it was in no state yet. */
  readonly sessionSince?: Date;
  readonly verdict: Verdict;
  readonly standing: Standing;
  /** BFD says that it is dead, but it answers ARP or NDP. */
  readonly answersWithoutSession: boolean;
}

export interface LinkStatus {
  readonly interface: string;
  readonly mac: string;
  /** Addresses may be claimed: the sessions have come up, or had their time. */
  readonly settled: boolean;
  readonly isolated: boolean;
  /** There are sessions, and none was ever up: failures are noticed within 2 s and not within 0.2 s. */
  readonly noPeerLiveness: boolean;
  readonly peers: readonly PeerStatus[];
  /** Multicast groups that the interface has joined and still has to join, and why the kernel refused one. */
  readonly groups: { readonly joined: number; readonly waiting: number; readonly problem?: string };
  /** Why frames are not received or sent. */
  readonly problem?: string;
  /** Frames that the kernel dropped because the buffer was full. */
  readonly drops?: number;
}

export interface L2Status {
  readonly links: readonly LinkStatus[];
  readonly addresses: readonly AddressStatus[];
  readonly counters: Counters;
  readonly suspended: boolean;
}
