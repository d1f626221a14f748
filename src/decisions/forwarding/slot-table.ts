import { mixBits, textHash } from '../../net/text-hash.ts';

/** A backend that can take slots. */
export interface SlotCandidate {
  /** Distinguishes it within the Service; the same on every node. */
  readonly name: string;
  /** Its share relative to the others, above 0. */
  readonly weight: number;
}

/** A candidate may exceed its share by this much, so that fewer slots move (docs/adr/0010). */
const loadSlack = 0.05;

/** Returns the maximum number of `size` slots for each candidate. Together the candidates can take all. */
export function slotCapacities(candidates: readonly SlotCandidate[], size: number): number[] {
  const total = candidates.reduce((sum, { weight }) => sum + weight, 0);
  return candidates.map(({ weight }) => Math.ceil((size * (1 + loadSlack) * weight) / total));
}

/**
 * Assigns every slot to a candidate by rendezvous hashing with bounded loads. Each pair of slot and candidate has a score. A slot goes to
 * the candidate with the highest score, unless that one is full of slots with higher scores (the stable matching of Gale and Shapley, whose
 * result does not depend on the order of proposals). When a candidate goes, the others divide its slots; of the remaining slots only those
 * move that did not have their first choice or lose it.
 *
 * The same candidates in the same order give the same table in every process. `salt` makes tables prefer different candidates. Needs at
 * least one candidate.
 */
export function fillSlots(salt: string, candidates: readonly SlotCandidate[], size: number): Uint16Array {
  const filling = new Filling(salt, candidates, size);
  for (let slot = 0; slot < size; slot++) filling.place(slot);
  return filling.table();
}

class Filling {
  readonly #size: number;
  readonly #capacities: readonly number[];
  /** The slots of each candidate. */
  readonly #slots: number[][];
  /** For each candidate, the start of its score sequence and its step from slot to slot. */
  readonly #starts: Uint32Array;
  readonly #steps: Uint32Array;
  /** The weight of each candidate. Undefined when all weights are equal. */
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

  /** Places a slot at its preferred candidate. A full candidate gives up the slot with its lowest score, which is placed again. */
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

  /** Returns the candidate after `refusedBy` in the slot's order of preference (-1: the first). */
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
   * Computes a score. With weights, as in weighted rendezvous hashing: the highest ln(u) / weight, with u uniform in (0, 1), falls to a
   * candidate in proportion to its weight. Without weights, u alone gives the same order. (Machines may differ in the last bit of the
   * logarithm; they then decide differently only where two scores agree to the fifteenth digit.)
   */
  #score(candidate: number, slot: number): number {
    const start = this.#starts[candidate] ?? 0;
    const hash = mixBits(start + Math.imul(slot, this.#steps[candidate] ?? 0));
    return this.#weights === undefined ? hash : Math.log((hash + 0.5) / 2 ** 32) / (this.#weights[candidate] ?? 1);
  }
}
