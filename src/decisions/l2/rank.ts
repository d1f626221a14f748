import { textHash } from '../../net/text-hash.ts';

/** Any constant works. It must never change, or addresses move during an upgrade. */
const basis = 0x6c_32_61_64;

interface Ranked {
  readonly node: string;
  readonly weight: number;
  /** Present: the node answers only while no other candidate lives. */
  readonly lastResort?: unknown;
}

/**
 * Sorts candidates, the best one first: nodes that are no last resort, then by the weight of preferences, then by rendezvous hash of node
 * and `key`. Nodes that come or go therefore move only the addresses that they get or had. Every node computes the same order.
 */
export function inOrderOfRank<C extends Ranked>(candidates: readonly C[], key: string): C[] {
  return candidates
    .map((candidate) => ({ candidate, score: textHash(`${candidate.node} ${key}`, basis) }))
    .toSorted(
      ({ candidate: a, score: scoreA }, { candidate: b, score: scoreB }) =>
        Number(a.lastResort !== undefined) - Number(b.lastResort !== undefined) ||
        b.weight - a.weight ||
        scoreB - scoreA ||
        (a.node < b.node ? -1 : 1),
    )
    .map(({ candidate }) => candidate);
}
