import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { receiverAddress } from './addresses.ts';
import type { Counts } from './sink.ts';
import { BenchProcess, receiverNamespace } from '../../../test/bench/runner/bench-network.ts';
import { Caller } from '../../../test/bench/runner/caller.ts';
import { startHerald } from './senders/herald.ts';
import { quantile } from '../../../test/bench/runner/statistics.ts';

export interface SingleChange {
  /** The number of prefixes announced during the measurement. */
  readonly prefixes: number;
  readonly changes: number;
  /** Latency of a change in milliseconds, by percentile. */
  readonly p50: number;
  readonly p99: number;
  readonly maximum: number;
}

/**
 * Measures the time from `routes.update` until the octets of the change are read from the socket at the other end. All processes of a
 * machine share the clock. The other end is a process of its own, and its reading is included.
 */
export async function measureSingleChange(prefixes: number, changes: number): Promise<SingleChange> {
  const far = new BenchProcess(receiverNamespace, [process.execPath, join(import.meta.dirname, 'sink.ts')], { ipc: true });
  const sink = new Caller(far.child);
  const { process: near, call } = startHerald();
  try {
    await sink.call('listen');
    await call('addPeer', receiverAddress, false);
    await call('set', prefixes);
    const deadline = performance.now() + 30_000;
    while ((await sink.call<Counts>('counts')).announced < prefixes) {
      if (performance.now() > deadline) throw new Error('the far end does not get all prefixes');
      await sleep(20);
    }
    const sent = await call<string[]>('changes', changes, 4);
    await sleep(200);
    const arrived = await sink.call<(string | undefined)[]>('arrivals', changes);
    const delays = sent.map((time, n) => Number(BigInt(arrived[n] ?? '') - BigInt(time)) / 1e6).toSorted((a, b) => a - b);
    return { prefixes, changes, p50: quantile(delays, 0.5), p99: quantile(delays, 0.99), maximum: quantile(delays, 1) };
  } finally {
    await near.kill();
    await far.kill();
  }
}
