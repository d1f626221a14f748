import { Option } from 'commander';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { unknownNameError } from '../../context/unknown-name.ts';

/** Options that restrict a table to one node or one peer. */
export interface NameOptions {
  readonly node?: string;
  readonly peer?: string;
}

export const nodeOption = (): Option => new Option('--node <name>', 'only this node');
export const peerOption = (): Option => new Option('--peer <name>', 'only this BGPPeer');

/** Throws UsageError with the known names when a name does not exist. Otherwise the empty table would look like an answer. */
export function requireKnownNames({ nodes, peers }: Snapshot, { node, peer }: NameOptions): void {
  if (node !== undefined && !nodes.has(node)) throw unknownNameError('node', node, nodes.keys());
  if (peer !== undefined && !peers.has(peer)) throw unknownNameError('BGPPeer', peer, peers.keys());
}
