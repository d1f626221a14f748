import { expect, test } from 'vitest';
import { World } from './two-controllers.ts';

/**
 * The leader pauses at each of its waits in turn, the other controller takes over and works, and the first one resumes at each wait of the
 * second. Both use a fake API server with the optimistic concurrency of a real one.
 */
interface Run {
  readonly world: World;
  /** True when the first process reached the point at which it pauses. */
  readonly stopped: boolean;
  /** True when the other process reached the point at which the first resumes. */
  readonly woken: boolean;
}

async function run(stopAt: number, wakeAfter: number): Promise<Run> {
  const world = new World();
  const { first, second } = world;
  world.put('settled', 'LoadBalancer', 1);
  world.put('older', 'ClusterIP', 2);
  first.gate.stopAt = stopAt;
  void first.run();
  await world.pass(1000);
  void second.run();
  // The Services on which the first one works when it pauses, from its first request to one after its first decisions.
  world.put('young', 'LoadBalancer', 10);
  await world.pass(5000);
  world.put('younger', 'LoadBalancer', 11);
  await world.pass(5000);
  const stopped = first.gate.stopped;
  // The older Services come first when the next leader decides: it gives them the addresses that the first was about to assign.
  world.put('older', 'LoadBalancer', 2);
  let [steps, begun] = [0, 0];
  let woken = false;
  second.gate.onStep = () => {
    if (!second.leads || ++steps !== wakeAfter) return;
    woken = true;
    begun = first.begun;
    // After the other one has finished what it does before its next wait.
    void Promise.resolve().then(() => first.gate.wake());
  };
  await world.pass(20_000);
  world.put('last', 'LoadBalancer', 12);
  await world.pass(5000);
  if (stopped && !woken) {
    begun = first.begun;
    first.gate.wake();
  }
  await world.pass(10_000);
  if (stopped && first.begun > begun) world.violations.push('it began to write after its Lease');
  return { world, stopped, woken };
}

const names = ['settled', 'older', 'young', 'younger', 'last'].map((name) => `n/${name}`);

function problems({ world }: Run): string[] {
  const { history, doubled, violations } = world;
  const addresses = names.map((name) => world.addressesOf(name).join());
  const found = [...violations];
  if (addresses.some((address) => address === '')) found.push(`a Service has no address: ${addresses.join(' ')}`);
  if (new Set(addresses).size < names.length) found.push(`an address is given twice: ${addresses.join(' ')}`);
  for (const [name, had] of history) if (had.length > 1 && !doubled.has(name)) found.push(`${name} was moved: ${had.join(' ')}`);
  return found;
}

test('a leader that pauses and resumes anywhere causes no duplicate address and moves no other Service', { timeout: 300_000 }, async () => {
  const found: string[] = [];
  let [runs, doubles, afterwards] = [0, 0, 0];
  for (let stopAt = 1; ; stopAt++) {
    let stopped = false;
    for (let wakeAfter = 1; ; wakeAfter++) {
      const one = await run(stopAt, wakeAfter);
      runs++;
      if (one.world.doubled.size > 0) doubles++;
      if (one.world.first.lost) afterwards++;
      for (const problem of problems(one)) found.push(`stands still at ${stopAt}, wakes at ${wakeAfter}: ${problem}`);
      stopped = one.stopped;
      if (!one.woken) break;
    }
    if (!stopped) break;
  }
  expect(found.slice(0, 10)).toEqual([]);
  // The test would prove nothing if few runs reached both points.
  expect(runs).toBeGreaterThan(300);
  expect(doubles).toBeGreaterThan(0);
  expect(afterwards).toBeGreaterThan(100);
});
