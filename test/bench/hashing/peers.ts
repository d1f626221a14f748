import type { SlotCandidate } from '../../../src/decisions/forwarding/slot-table.ts';

/** Two algorithms that other projects use for slot tables, for comparison with ours. */
export type Fill = (salt: string, candidates: readonly SlotCandidate[], size: number) => Uint16Array;

/**
 * Maglev (Eisenbud et al., NSDI 2016, 3.4): candidates take turns, and each takes the next free slot of its own permutation. `size` must be
 * prime. Without weights.
 */
export const maglev: Fill = (salt, candidates, size) => {
  const at = Uint32Array.from(candidates, ({ name }) => textHash(`${salt} ${name} offset`) % size);
  const skips = Uint32Array.from(candidates, ({ name }) => (textHash(`${salt} ${name} skip`) % (size - 1)) + 1);
  const table = new Uint16Array(size);
  const taken = new Uint8Array(size);
  for (let filled = 0; ;) {
    for (let candidate = 0; candidate < skips.length; candidate++) {
      const skip = skips[candidate] ?? 1;
      let slot = at[candidate] ?? 0;
      while (taken[slot] === 1) {
        slot += skip;
        if (slot >= size) slot -= size;
      }
      taken[slot] = 1;
      table[slot] = candidate;
      at[candidate] = slot;
      if (++filled === size) return table;
    }
  }
};

/**
 * Rendezvous hashing (Thaler, Ravishankar 1998): each slot goes to the candidate with the highest score, so candidates may get different
 * numbers of slots.
 */
export const rendezvous: Fill = (salt, candidates, size) => {
  const hashes = Uint32Array.from(candidates, ({ name }) => textHash(`${salt} ${name}`));
  const table = new Uint16Array(size);
  for (let slot = 0; slot < size; slot++) {
    let best = 0;
    let bestScore = -1;
    for (let candidate = 0; candidate < hashes.length; candidate++) {
      const score = mixed((hashes[candidate] ?? 0) ^ Math.imul(slot + 1, 0x9e37_79b1));
      if (score <= bestScore) continue;
      best = candidate;
      bestScore = score;
    }
    table[slot] = best;
  }
  return table;
};

function textHash(text: string): number {
  let value = 0x811c_9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x0100_0193);
  return mixed(value);
}

function mixed(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb_352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846c_a68b);
  return (bits ^ (bits >>> 16)) >>> 0;
}
