import { execFileSync } from 'node:child_process';
import type { NftExecutor } from '../../src/dataplane/nftables/executor.ts';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import type { Clock } from '../../src/system/clock.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { FakeIngress, FakePaths } from '../unit/dataplane/direct-return/fake-paths.ts';
import { removeLeftovers } from '../lab/leftovers.ts';
import { KernelReading } from './kernel-reading.ts';

/** A clock that runs twenty times as fast, for the pauses between attempts. */
const speedup = 20;
export const quickClock: Clock = {
  now: () => systemClock.now() * speedup,
  date: () => systemClock.date(),
  after: (milliseconds, callback) => systemClock.after(milliseconds / speedup, callback),
};

/** A network namespace that contains only our tables. */
export class KernelNamespace {
  readonly namespace: string;
  readonly reading: KernelReading;

  constructor(name: string) {
    removeLeftovers('hm');
    this.namespace = `hm-${process.pid}-${name}`;
    execFileSync('ip', ['netns', 'add', this.namespace]);
    this.reading = new KernelReading(this.namespace);
  }

  remove(): void {
    this.reading.close();
    execFileSync('ip', ['netns', 'del', this.namespace]);
  }
}

/** Returns a data plane without flows and routes, which this test does not cover. */
export function dataplaneBy(executor: NftExecutor): NftablesDataplane {
  return new NftablesDataplane({
    executor,
    clock: quickClock,
    log: silentLog,
    conntrack: { delete: () => Promise.resolve(0), each: () => Promise.resolve(), close: () => undefined },
    paths: new FakePaths(),
    ingress: new FakeIngress(),
    routes: { list: () => Promise.resolve({ prefixes: [] }), change: () => Promise.resolve(), close: () => undefined },
  });
}
