import assert from 'node:assert';
import { expect, test } from 'vitest';
import type { ServiceKey } from '../../src/model/objects/metadata.ts';
import { Random } from '../fuzz/random.ts';
import { config, metadata } from '../unit/decisions/fixtures.ts';
import { expectNothingLeaks, expectSettled } from './addresses/checks.ts';
import { anyPool, anyService, namespaceNames, poolNames, serviceKeys } from './addresses/random-objects.ts';
import { RunningController, textsOf } from './addresses/running-controller.ts';
import { ClusterState } from './addresses/cluster-state.ts';

/**
 * Plays random changes of Services, pools, Namespaces and settings. The controller sees them late and in any order, its writes may fail,
 * and another controller may take over at any time. The test checks that no address goes to two Services that may not share it, that no
 * address moves unless the Service's owner asks for it, that no address leaks, and that the order of events within a batch does not matter.
 *
 *   npm run test:model    a million operations. MODEL_SEED repeats a run, MODEL_OPERATIONS sets their number
 */
const seed = Number(process.env['MODEL_SEED'] ?? Date.now() % 2 ** 31);
const operations = Number(process.env['MODEL_OPERATIONS'] ?? 20_000);
const perSequence = 250;

class Sequence {
  readonly #random: Random;
  readonly #mayMove = new Set<ServiceKey>();
  readonly #state: ClusterState;
  #running: RunningController;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#state = new ClusterState({ attached: this.#random.chance(2) });
    this.#running = new RunningController(this.#state, this.#random, this.#mayMove);
  }

  async play(count: number): Promise<void> {
    for (const name of poolNames) this.#changePool(name);
    await this.#running.start();
    for (let done = 0; done < count; done++) await this.#step();
    await this.#running.settle();
    expectSettled(this.#state, this.#running);
    for (const key of serviceKeys) this.#mayMove.add(key);
    await expectNothingLeaks(this.#state, this.#running);
    await this.#running.halt();
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const what = random.below(100);
    if (what < 40) this.#changeService(random.pick(serviceKeys));
    else if (what < 50) this.#removeService(random.pick(serviceKeys));
    else if (what < 56) this.#changePool(random.pick(poolNames));
    else if (what < 60) this.#changeSettings();
    else if (what < 68) this.#running.deliver();
    else if (what < 75) this.#running.deliver({ some: true });
    else if (what < 80) this.#running.fate = random.pick(['works', 'refused', 'lost', 'works']);
    else if (what < 88) for (let turns = random.below(12); turns > 0; turns--) await Promise.resolve();
    else if (what < 92) this.#running.clock.advance(random.below(20_000));
    else if (what < 95) await this.#checkpoint();
    else if (what < 97) await this.#takeOver();
    else if (what === 97) await this.#compareOrders();
    else await new Promise(setImmediate);
  }

  #changeService(key: ServiceKey): void {
    const before = this.#state.services.get(key);
    const next = anyService(this.#random, key);
    this.#state.putService(key, next);
    if (before !== undefined) this.#mayMove.add(key);
    this.#running.recordChange('Service', key);
  }

  #removeService(key: ServiceKey): void {
    this.#state.removeService(key);
    this.#mayMove.add(key);
    this.#running.recordChange('Service', key);
  }

  #changePool(name: (typeof poolNames)[number]): void {
    if (this.#random.chance(5)) this.#state.pools.delete(name);
    else this.#state.pools.set(name, anyPool(this.#random, name));
    this.#running.recordChange('IPAddressPool', name);
  }

  #changeSettings(): void {
    if (this.#random.chance(3)) {
      this.#state.config = config({ defaultClass: this.#random.chance(2) });
      this.#running.recordChange('HeraldConfig', 'default');
      return;
    }
    const name = this.#random.pick(namespaceNames);
    const labels: Record<string, string> = this.#random.chance(2) ? { team: 'x' } : {};
    this.#state.namespaces.set(name, { kind: 'Namespace', metadata: metadata(name, '', labels) });
    this.#running.recordChange('Namespace', name);
  }

  async #checkpoint(): Promise<void> {
    await this.#running.settle();
    expectSettled(this.#state, this.#running);
  }

  /** Starts a new controller while the old one may be busy. What the new one has read may be as old as what the old one had seen. */
  async #takeOver(): Promise<void> {
    const last = this.#running;
    last.fenced = true;
    this.#running = new RunningController(this.#state, this.#random, this.#mayMove, this.#random.chance(2) ? last : undefined);
    // The new clock continues from the old one: released addresses are kept until a time of day.
    this.#running.clock.advance(last.clock.now());
    await Promise.all([last.halt(), this.#running.start()]);
  }

  /** Two controllers that start from the same records see the same changes in different orders. */
  async #compareOrders(): Promise<void> {
    await this.#checkpoint();
    const changed = Array.from({ length: 6 }, () => this.#random.pick(serviceKeys));
    const next = changed.map((key) => ({ key, service: this.#random.chance(4) ? undefined : anyService(this.#random, key) }));
    const pool = this.#random.chance(2) ? anyPool(this.#random, 'p') : undefined;
    const ends = [];
    for (const order of [1, 2]) {
      const state = this.#state.copy();
      const one = new RunningController(state, new Random(this.#random.u32() + order), new Set(serviceKeys));
      one.punctual = true;
      one.clock.advance(this.#running.clock.now());
      await one.start();
      for (const { key, service } of next) {
        if (service === undefined) state.removeService(key);
        else state.putService(key, service);
        one.recordChange('Service', key);
      }
      if (pool !== undefined) {
        state.pools.set('p', pool);
        one.recordChange('IPAddressPool', 'p');
      }
      await one.settle();
      await one.halt();
      ends.push([...state.records].map(([key, { ingress }]) => `${key} ${textsOf(ingress).join()}`).toSorted());
    }
    assert.deepEqual(ends[0], ends[1], 'the order of events changes the assigned addresses');
  }
}

test(`random operations keep the address rules: ${operations} operations from seed ${seed}`, async () => {
  let done = 0;
  for (let sequence = 0; done < operations; sequence++) {
    const own = (seed + sequence) >>> 0;
    try {
      await new Sequence(own).play(perSequence);
    } catch (error) {
      throw new Error(`MODEL_SEED=${own} MODEL_OPERATIONS=${perSequence} fails`, { cause: error });
    }
    done += perSequence;
  }
  expect(done).toBeGreaterThanOrEqual(operations);
});
