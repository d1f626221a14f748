import { Option } from 'commander';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { unknownName } from '../../context/unknown-name.ts';

/** Options that narrow a table to one node, to one peer. */
export interface NameOptions {
  readonly node?: string;
  readonly peer?: string;
}

export const nodeOption = (): Option => new Option('--node <name>', 'of this node alone');
export const peerOption = (): Option => new Option('--peer <name>', 'with this BGPPeer alone');

/** Throws UsageError, with the names there are: an empty table would look like an answer. */
export function requireKnownNames({ nodes, peers }: Snapshot, { node, peer }: NameOptions): void {
  if (node !== undefined && !nodes.has(node)) throw unknownName('node', node, nodes.keys());
  if (peer !== undefined && !peers.has(peer)) throw unknownName('BGPPeer', peer, peers.keys());
}
