import { readFileSync, writeSync } from 'node:fs';
import { median, quantile } from '../runner/statistics.ts';
import { HeraldNode, type ExecutorName } from './herald-node.ts';
import { serviceObject, sliceObject } from './services.ts';

/** Figures of one executor for a number of Services, in milliseconds and megabytes of 10^6 octets. */
export interface Figures {
  readonly executor: ExecutorName;
  readonly services: number;
  readonly endpoints: number;
  /** From the snapshot to the desired forwarding. */
  readonly decide: number;
  /** From the desired forwarding to the kernel's commit, into an empty kernel. */
  readonly load: number;
  /** The longest time for which the event loop was blocked meanwhile. */
  readonly stall: number;
  /** Starting another instance, which reads the tables and finds nothing to do. */
  readonly adopt: number;
  /** Replacing one endpoint of one Service, adding a Service, and removing it. */
  readonly change: Latency;
  readonly add: Latency;
  readonly remove: Latency;
  /** Kernel memory of the whole machine: the difference between after and before the load. */
  readonly kernelMemory: number;
  /** Resident memory of this process after the load, including all objects. */
  readonly memory: number;
}

/** From the object to the kernel's commit, and the part of the transaction alone: medians. */
export interface Latency {
  readonly total: number;
  readonly transaction: number;
  readonly p99: number;
}

const [executor = 'netlink', count = '1000', changes = '100'] = process.argv.slice(2);
const name = executor as ExecutorName;
const services = Number(count);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function latency(step: (round: number) => Promise<unknown>): Promise<Latency> {
  const totals: number[] = [];
  const transactions: number[] = [];
  for (let round = 1; round <= Number(changes); round++) {
    totals.push(await timed(() => step(round)));
    transactions.push(herald.transaction);
  }
  totals.sort((a, b) => a - b);
  return { total: quantile(totals, 0.5), transaction: median(transactions), p99: quantile(totals, 0.99) };
}

/** Samples the event loop every millisecond. The returned function gives the longest time between two samples. */
function watchLoop(): () => number {
  let last = performance.now();
  let longest = 0;
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  return () => {
    look();
    clearInterval(timer);
    return longest;
  };
}

/** Returns the megabytes that the kernel's allocator holds and cannot reclaim. */
function slab(): number {
  return (Number(/^SUnreclaim:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024) / 1e6;
}

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

const herald = new HeraldNode(name, undefined);
herald.putServices(0, services);
await pause(200);
const slabBefore = slab();
const start = performance.now();
const wanted = herald.decideAll();
const decide = performance.now() - start;
await pause(50);
const stalled = watchLoop();
const load = await timed(() => herald.load(wanted));
const stall = stalled();
// The monitor causes one read after its start. Afterwards nothing else runs.
await pause(2_000);
const kernelMemory = slab() - slabBefore;
const memory = process.memoryUsage.rss() / 1e6;
const key = (index: number): `${string}/${string}` => `bench/s${index}`;
const apply = (index: number): Promise<unknown> => herald.dataplane.apply(new Map([[key(index), herald.decide(key(index))]]));
const change = await latency((round) => {
  const index = 1 + ((round * 7_919) % (services - 1));
  herald.put(sliceObject(index, round));
  return apply(index);
});
const added = (round: number): number => services + round;
const add = await latency((round) => {
  herald.put(serviceObject(added(round)));
  herald.put(sliceObject(added(round)));
  return apply(added(round));
});
const remove = await latency((round) => {
  herald.store.remove('Service', key(added(round)));
  return apply(added(round));
});
await herald.dataplane.close();
const successor = new HeraldNode(name, undefined, herald.store);
const again = successor.decideAll();
const adopt = await timed(() => successor.load(again));
await successor.dataplane.close();
const endpoints = [...wanted.values()].reduce((sum, { frontends }) => sum + (frontends[0]?.backends.length ?? 0), 0);
const figures: Figures = {
  executor: name,
  services,
  endpoints,
  decide,
  load,
  stall,
  adopt,
  change,
  add,
  remove,
  kernelMemory,
  memory,
};
writeSync(1, JSON.stringify(figures));
process.exit();
