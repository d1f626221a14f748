/**
 * The messages of the main thread to the library. All of it is plain data that can be sent to a thread. The library knows addresses, interfaces
 * and nodes; why a node is a candidate, and in which order, is the caller's decision.
 */

/** A network interface on which addresses are announced, and the other nodes on its segment. */
export interface Link {
  /** Name of the interface, such as `eth0` or `br0`. */
  readonly interface: string;
  /** MAC address of the interface. A change is announced at once. */
  readonly mac: string;
  /** The link is up and has a carrier. When it returns, held addresses are checked and announced again. Default: true. */
  readonly carrier?: boolean;
  /** Receives all frames of the segment (WiFi and some bridges deliver broadcasts only then). Default: no. */
  readonly promiscuous?: boolean;
  /** All other nodes of the segment, also those that are no candidates at present: frames from their MACs are not conflicts. */
  readonly peers: readonly Peer[];
}

/** Another node on a segment. */
export interface Peer {
  /** Name of the node. */
  readonly node: string;
  /** MAC address of its interface on this segment. */
  readonly mac: string;
  /**
   * Name of the BFD session with this node on this interface; the states come by `sessionChanged`. Absent: no session. The node then counts
   * as alive while it answers probes.
   */
  readonly session?: string;
}

/** State of a BFD session. `AdminDown`: the peer stops in order, and its addresses may be claimed without a probe. */
export type PeerSession = 'Up' | 'Down' | 'AdminDown';

/** An address that this node announces or may have to announce on an interface. */
export interface AddressEntry {
  /** IPv4 or IPv6, as text. */
  readonly address: string;
  /** The interface. An address that is announced on several interfaces has an entry for each. */
  readonly interface: string;
  /**
   * Names of the candidates, best first. Every node must have the same order. This node is among them only if it may own the address: it
   * forwards the address, its link is up, it is not draining. Without this node the entry only makes the interface join the multicast group.
   */
  readonly candidates: readonly string[];
  /**
   * True if a node of ours holds or held the address: it is then claimed without looking for foreign hosts. False: the address is
   * probed first (RFC 5227 2.1, RFC 4862 5.4). Default: false.
   */
  readonly everHeld?: boolean;
  /** When a foreign host uses the address: go on and announce it again, or withdraw. Default: defend. */
  readonly onConflict?: 'defend' | 'withdraw';
  /** Milliseconds between two announcements of a held address. 0: none. Default: 60,000. */
  readonly refreshInterval?: number;
}

/** The complete table. */
export interface Table {
  /** Name of this node. */
  readonly node: string;
  readonly links: readonly Link[];
  readonly addresses: readonly AddressEntry[];
}

/** A change of a few addresses of a large table. */
export interface AddressChanges {
  /** New and changed entries. */
  readonly set: readonly AddressEntry[];
  /** Entries that are gone: they are released at once. */
  readonly remove: readonly Pick<AddressEntry, 'address' | 'interface'>[];
}

/** A refused entry or link, and the reason. The others are in force. */
export interface Refusal {
  readonly subject: string;
  readonly message: string;
}
