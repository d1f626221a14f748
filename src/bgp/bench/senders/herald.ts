import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { receiverAddress } from '../addresses.ts';
import { BenchProcess, senderNamespace } from '../../../../test/bench/runner/bench-network.ts';
import type { Contender } from '../sender.ts';
import { Caller } from '../../../../test/bench/runner/caller.ts';

export function herald(): Contender {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../../package.json'), 'utf8')) as { version: string };
  return {
    name: 'Herald',
    version,
    how: 'routes.set of Route objects; withdrawal by routes.set of none',
    async start(count) {
      const { process, call } = startHerald();
      await call('addPeer', receiverAddress, true);
      await call('set', count);
      return {
        pid: process.pid,
        count,
        open: () => call('open'),
        withdraw: () => call('set', 0),
        stop: () => process.kill(),
      };
    },
    async startMany(peers, count) {
      const { process, call } = startHerald();
      await call('addPeers', peers);
      let med = 0;
      return {
        pid: process.pid,
        announce: async () => {
          await call('setForAll', count);
          return count;
        },
        withdraw: () => call('setForAll', 0),
        repeat: () => call('setForAll', count),
        change: () => call('changeForAll', ++med),
        stop: () => process.kill(),
      };
    },
  };
}

/** Starts a speaker in a process of its own that takes calls over a pipe. */
export function startHerald(): { readonly process: BenchProcess; readonly call: Caller['call'] } {
  const bench = new BenchProcess(senderNamespace, [process.execPath, join(import.meta.dirname, '../herald-speaker.ts')], { ipc: true });
  const caller = new Caller(bench.child);
  return { process: bench, call: caller.call };
}
