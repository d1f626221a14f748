import type { Cancel, Clock } from '../../../src/system/clock.ts';
import type { Change, LoadFigures } from './load-program.ts';

/** Requests of one kind that may wait for an answer at the same time. More mean that the API server cannot follow. */
const inFlight = 64;
const stepMilliseconds = 10;

interface Actions {
  readonly change: () => Promise<Change>;
  readonly service: () => Promise<Change>;
}

interface Rates {
  readonly changesPerSecond: number;
  readonly servicesPerSecond: number;
}

/** Makes changes at a rate, or as many as the API server answers if it answers fewer. */
export class Load {
  readonly #clock: Clock;
  readonly #actions: Actions;
  readonly #rates: Rates;
  readonly #waiting = { change: new Set<Promise<void>>(), service: new Set<Promise<void>>() };
  readonly #done = { change: [] as Change[], service: [] as Change[] };
  readonly #begun = { change: 0, service: 0 };
  #began = 0;
  #failed = 0;
  #cancel: Cancel = () => undefined;

  constructor(clock: Clock, actions: Actions, rates: Rates) {
    this.#clock = clock;
    this.#actions = actions;
    this.#rates = rates;
  }

  start(): void {
    this.#began = this.#clock.now();
    this.#step();
  }

  /** Resolves when everything that has begun is answered. */
  async stop(): Promise<LoadFigures> {
    this.#cancel();
    const seconds = (this.#clock.now() - this.#began) / 1000;
    await Promise.all([...this.#waiting.change, ...this.#waiting.service]);
    return { seconds, changes: this.#done.change, services: this.#done.service, failed: this.#failed };
  }

  #step(): void {
    const seconds = (this.#clock.now() - this.#began) / 1000;
    this.#begin('change', seconds * this.#rates.changesPerSecond);
    this.#begin('service', seconds * this.#rates.servicesPerSecond);
    this.#cancel = this.#clock.after(stepMilliseconds, () => this.#step());
  }

  #begin(kind: 'change' | 'service', due: number): void {
    while (this.#begun[kind] < Math.floor(due)) {
      if (this.#waiting[kind].size >= inFlight) {
        // Changes that could not begin are given up, or a pause of the API server would be followed by a burst.
        this.#begun[kind] = Math.floor(due);
        return;
      }
      this.#begun[kind]++;
      const doing = this.#make(kind).finally(() => this.#waiting[kind].delete(doing));
      this.#waiting[kind].add(doing);
    }
  }

  async #make(kind: 'change' | 'service'): Promise<void> {
    try {
      this.#done[kind].push(await this.#actions[kind]());
    } catch {
      // Counted: the API server is away or too busy.
      this.#failed++;
    }
  }
}
