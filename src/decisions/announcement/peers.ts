import type { Address, Family } from '../../net/address.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/snapshot.ts';

/** A BGPPeer that selects the node. */
export interface NodePeer {
  readonly peer: string;
  readonly result: { readonly session: SessionIntent } | { readonly reason: Reason };
}

/** The settings of one session, with everything resolved. */
export interface SessionIntent {
  readonly peer: string;
  readonly localASN: number;
  /** A number, or any ASN of the kind: the same as ours (internal), another (external). */
  readonly peerASN: number | 'internal' | 'external';
  readonly peerAddress: Address;
  readonly peerPort: number;
  readonly sourceAddress?: Address;
  readonly holdTimeSeconds: number;
  readonly keepaliveTimeSeconds: number;
  readonly connectTimeSeconds?: number;
  /** IPv4, not 0.0.0.0. */
  readonly routerID: Address;
  /** Never empty, never to be logged. */
  readonly password?: string;
  /** The address families that the session carries, IPv4 first. */
  readonly families: readonly Family[];
  readonly ebgpMultiHop: boolean;
  readonly passive: boolean;
  readonly adminDown: boolean;
  readonly shutdownMessage?: string;
}

/** The BGPPeers that select the node, by name. Empty where there is no Node object or no BGPPeer selects it. */
export function peersOfNode(snapshot: Snapshot, nodeName: string): readonly NodePeer[] {
  void [snapshot, nodeName];
  return [];
}
