import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../fuzz/random.ts';
import type { Case } from './differences.ts';
import { explain, type Explanation } from './explain-differences.ts';
import { nextChange, type Change } from './changes.ts';
import { keyOf, randomPools, type Pool, type WantedService } from './objects.ts';
import { outcomeOf, outcomeText, sameOutcome, type Outcome } from './outcome.ts';
import type { Side } from './side.ts';

/** How long a difference that is not intended may last, in milliseconds, and an intended one before it counts. */
const patience = { unintended: 20_000, intended: 1_000 } as const;
/** Differences that follow from the removal of Services that differ are looked for this often. */
const rounds = 6;

const nothing: Outcome = { addresses: [], pools: [], families: [] };

type Outcomes = ReadonlyMap<string, { readonly service: WantedService; readonly metallb: Outcome; readonly herald: Outcome }>;

/** What both sides have after a change, with the Services that differ. */
interface Comparison extends Explanation {
  readonly outcomes: Outcomes;
  readonly cases: readonly Case[];
}

/** The result of one seed. */
export interface SeedResult {
  /** Outcomes of Services that were compared: one a change, and one for each Service that differed. */
  readonly compared: number;
  /** The rows of intended differences, once for each Service that differed so. */
  readonly intended: readonly string[];
  readonly problems: readonly string[];
}

/** Makes the same changes to the same Services on both sides, and compares after each what the Services have. */
export class Judge {
  readonly #metallb: Side;
  readonly #herald: Side;

  constructor(metallb: Side, herald: Side) {
    this.#metallb = metallb;
    this.#herald = herald;
  }

  async run(seed: number, steps: number): Promise<SeedResult> {
    const random = new Random(seed);
    const pools = randomPools(random);
    await this.#both((side) => side.replacePools(pools));
    const services = new Map<string, WantedService>();
    const result = { compared: 0, intended: [] as string[], problems: [] as string[] };
    let before: Outcomes = new Map();
    for (let step = 0; step < steps; step++) {
      const change = nextChange(random, pools, services, step);
      if (!(await this.#make(change, services))) continue;
      let what = `step ${step}: ${change.key} ${change.text}`;
      for (let round = 0; round < rounds; round++) {
        await this.#both((side) => side.settle());
        const found = await this.#agree(pools, services, before);
        result.compared += round === 0 ? services.size : 0;
        const { cases, intended, unexplained } = found;
        result.intended.push(...intended);
        for (const about of cases) if (unexplained.has(about)) result.problems.push(this.#describe(what, about));
        before = found.outcomes;
        if (cases.length === 0) break;
        // Both sides go on from the same state.
        const differing = cases.map(({ service }) => keyOf(service));
        for (const key of differing) services.delete(key);
        await this.#both(async (side) => {
          for (const key of differing) await side.remove(key);
        });
        what = `step ${step}: after the removal of ${differing.join(', ')}`;
      }
    }
    await this.#both(async (side) => {
      for (const key of services.keys()) await side.remove(key);
      await side.settle();
    });
    return result;
  }

  /** Makes a change on both sides. Returns false when the API servers refuse it. */
  async #make({ key, service }: Change, services: Map<string, WantedService>): Promise<boolean> {
    if (service === undefined) {
      await this.#both((side) => side.remove(key));
      services.delete(key);
      return true;
    }
    const [first, second] = await this.#both((side) => side.put(service));
    if (first !== second) throw new Error(`only one API server accepts ${key}`);
    if (first) services.set(keyOf(service), service);
    return first;
  }

  /** Returns what both sides have when that is the same twice, when only intended differences have lasted, or when time is up. */
  async #agree(pools: readonly Pool[], services: ReadonlyMap<string, WantedService>, before: Outcomes): Promise<Comparison> {
    const start = performance.now();
    for (let last = '', since = start; ;) {
      const outcomes = await this.#outcomes(pools, services);
      const now = performance.now();
      const text = JSON.stringify([...outcomes]);
      const repeated = text === last;
      if (!repeated) [last, since] = [text, now];
      const cases = casesOf(pools, outcomes, before);
      const explanation = explain(cases);
      const quiet =
        cases.length === 0
          ? repeated
          : explanation.unexplained.size === 0
            ? now - since > patience.intended
            : now - start > patience.unintended;
      if (quiet) return { outcomes, cases, ...explanation };
      await sleep(cases.length === 0 ? 30 : 100);
    }
  }

  async #outcomes(pools: readonly Pool[], services: ReadonlyMap<string, WantedService>): Promise<Outcomes> {
    const [metallb, herald] = await this.#both((side) => side.addresses());
    return new Map(
      [...services].map(([key, service]) => [
        key,
        { service, metallb: outcomeOf(pools, metallb.get(key) ?? []), herald: outcomeOf(pools, herald.get(key) ?? []) },
      ]),
    );
  }

  #describe(what: string, { service, metallb, herald, before, pools, services }: Case): string {
    const key = keyOf(service);
    const others = [...services].flatMap(([other, { service, metallb, herald }]) =>
      other === key
        ? []
        : [
            `    ${other} ${JSON.stringify(service)}: ${outcomeText(metallb)}${sameOutcome(metallb, herald) ? '' : ` | ${outcomeText(herald)}`}`,
          ],
    );
    return [
      what,
      `  ${key}: MetalLB ${outcomeText(metallb)}, Herald ${outcomeText(herald)}; before: ${outcomeText(before.metallb)}, ${outcomeText(before.herald)}`,
      `  ${JSON.stringify(service)}`,
      ...pools.map((pool) => `  ${JSON.stringify(pool)}`),
      ...others,
      ...this.#metallb.logAbout(key).map((line) => `    MetalLB: ${line.slice(0, 400)}`),
      ...this.#herald.logAbout(key).map((line) => `    Herald: ${line.slice(0, 400)}`),
    ].join('\n');
  }

  #both<T>(act: (side: Side) => Promise<T>): Promise<[T, T]> {
    return Promise.all([act(this.#metallb), act(this.#herald)]);
  }
}

function casesOf(pools: readonly Pool[], services: Outcomes, earlier: Outcomes): Case[] {
  return [...services]
    .filter(([, { metallb, herald }]) => !sameOutcome(metallb, herald))
    .map(([key, one]) => {
      const { metallb = nothing, herald = nothing } = earlier.get(key) ?? {};
      return { ...one, before: { metallb, herald }, pools, services, earlier };
    });
}
