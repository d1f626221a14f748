import { Option } from 'commander';
import { requireRead, unknownNameError } from '../../context/unknown-name.ts';
import type { Reading } from '../../reading/reading.ts';

/** Options that restrict a table to one node or one peer. */
export interface NameOptions {
  readonly node?: string;
  readonly peer?: string;
}

export const nodeOption = (): Option => new Option('--node <name>', 'only this node');
export const peerOption = (): Option => new Option('--peer <name>', 'only this BGPPeer');

/** Throws UsageError when a name does not exist, with the known names, or when that is not known. Otherwise the empty table would look like an answer. */
export function requireKnownNames({ snapshot, unread }: Pick<Reading, 'snapshot' | 'unread'>, { node, peer }: NameOptions): void {
  const { nodes, peers } = snapshot;
  if (node !== undefined && !nodes.has(node)) requireRead('Node', node, unread);
  if (peer !== undefined && !peers.has(peer)) requireRead('BGPPeer', peer, unread);
  if (node !== undefined && !nodes.has(node)) throw unknownNameError('node', node, nodes.keys());
  if (peer !== undefined && !peers.has(peer)) throw unknownNameError('BGPPeer', peer, peers.keys());
}
