/** One that takes slots. */
export interface SlotCandidate {
  /** Tells it from the others of the Service, and is the same on every node. */
  readonly name: string;
  /** Its share, relative to the others: above 0. */
  readonly weight: number;
}

/** A candidate gets at most this much more than its share: the price of fewer slots that move (docs/adr/0009). */
const slack = 0.05;

/** How many of `size` slots each candidate gets at most. Together they can take all. */
export function slotCapacities(candidates: readonly SlotCandidate[], size: number): number[] {
  const total = candidates.reduce((sum, { weight }) => sum + weight, 0);
  return candidates.map(({ weight }) => Math.ceil((size * (1 + slack) * weight) / total));
}

/**
 * Gives every slot to a candidate, by rendezvous hashing with bounded loads: each pair of slot and candidate has a score of its
 * own; a slot goes to the candidate with the highest score, unless that one is full of slots with higher scores (stable
 * matching of Gale and Shapley, whose result does not depend on the order of proposals). When a candidate goes, its slots are
 * divided among the others; of all other slots only those move that had not got their first choice, or lose it to one of them.
 *
 * The same candidates in the same order give the same table in every process. `salt` makes tables differ in whom they prefer.
 * At least one candidate.
 */
export function fillSlots(salt: string, candidates: readonly SlotCandidate[], size: number): Uint16Array {
  const filling = new Filling(salt, candidates, size);
  for (let slot = 0; slot < size; slot++) filling.place(slot);
  return filling.table();
}

class Filling {
  readonly #size: number;
  readonly #capacities: readonly number[];
  /** By candidate, the slots it has. */
  readonly #slots: number[][];
  /** By candidate: where its scores begin, and how they go on from slot to slot. */
  readonly #starts: Uint32Array;
  readonly #steps: Uint32Array;
  /** By candidate, 1 for all where no two differ. */
  readonly #weights: Float64Array | undefined;

  constructor(salt: string, candidates: readonly SlotCandidate[], size: number) {
    this.#size = size;
    this.#capacities = slotCapacities(candidates, size);
    this.#slots = candidates.map(() => []);
    this.#starts = Uint32Array.from(candidates, ({ name }) => textHash(`${salt} ${name}`, 0x811c_9dc5));
    this.#steps = Uint32Array.from(candidates, ({ name }) => textHash(`${salt} ${name}`, 0x0100_0193) | 1);
    const [first] = candidates;
    const even = candidates.every(({ weight }) => weight === first?.weight);
    this.#weights = even ? undefined : Float64Array.from(candidates, ({ weight }) => weight);
  }

  /** Puts a slot where it prefers to be; if that one is full, the slot that it likes least looks for another place, and so on. */
  place(slot: number): void {
    let homeless = slot;
    for (let refusedBy = -1; ;) {
      const candidate = this.#preferred(homeless, refusedBy);
      const slots = this.#slots[candidate] ?? [];
      slots.push(homeless);
      if (slots.length <= (this.#capacities[candidate] ?? 0)) return;
      homeless = this.#takeLeast(candidate, slots);
      refusedBy = candidate;
    }
  }

  table(): Uint16Array {
    const table = new Uint16Array(this.#size);
    for (const [candidate, slots] of this.#slots.entries()) for (const slot of slots) table[slot] = candidate;
    return table;
  }

  /** The candidate that comes next after `refusedBy` in the slot's order of preference (-1: the first). */
  #preferred(slot: number, refusedBy: number): number {
    const below = refusedBy < 0 ? 2 ** 32 : this.#score(refusedBy, slot);
    let best = -1;
    let bestScore = 0;
    for (let candidate = 0; candidate < this.#starts.length; candidate++) {
      const score = this.#score(candidate, slot);
      if (best >= 0 && score <= bestScore) continue;
      if (score > below || (score === below && candidate <= refusedBy)) continue;
      best = candidate;
      bestScore = score;
    }
    return best;
  }

  #takeLeast(candidate: number, slots: number[]): number {
    let least = 0;
    let leastScore = 2 ** 32;
    for (let index = 0; index < slots.length; index++) {
      const score = this.#score(candidate, slots[index] ?? 0);
      if (score > leastScore || (score === leastScore && (slots[index] ?? 0) < (slots[least] ?? 0))) continue;
      least = index;
      leastScore = score;
    }
    const slot = slots[least] ?? 0;
    slots[least] = slots.at(-1) ?? 0;
    slots.pop();
    return slot;
  }

  /**
   * With weights as in weighted rendezvous hashing: the highest of ln(u) / weight, u uniform in (0, 1), is a candidate's in
   * proportion to its weight. Without, u orders just the same. (The logarithm may differ between kinds of machines in its last
   * bit: two of them decide differently only where two scores agree to the fifteenth digit.)
   */
  #score(candidate: number, slot: number): number {
    const start = this.#starts[candidate] ?? 0;
    const hash = mixed(start + Math.imul(slot, this.#steps[candidate] ?? 0));
    return this.#weights === undefined ? hash : Math.log((hash + 0.5) / 2 ** 32) / (this.#weights[candidate] ?? 1);
  }
}

/** FNV-1a, mixed. */
function textHash(text: string, basis: number): number {
  let value = basis;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x0100_0193);
  return mixed(value);
}

/** Every bit of the result depends on every bit of the value, which is taken as 32 bits. */
function mixed(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb_352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846c_a68b);
  return (bits ^ (bits >>> 16)) >>> 0;
}
