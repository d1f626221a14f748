import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processorTime, residentMemory } from '../../../test/bench/runner/process-figures.ts';
import { BenchProcess, receiverNamespace } from '../../../test/bench/runner/bench-network.ts';
import type { Contender } from './sender.ts';
import { Caller } from '../../../test/bench/runner/caller.ts';
import type { Counts } from './sink.ts';

/** One run of one sender with many peers that get the same routes. Times are in milliseconds, memory is in MB. */
export interface ManyPeersRun {
  readonly sender: string;
  readonly peers: number;
  /** The number of prefixes that the sender has: its bulk load may lose some. */
  readonly count: number;
  /** The time from the command until all peers have every prefix, and until all have none. */
  readonly announce: number;
  readonly withdraw: number;
  readonly processorAnnounce: number;
  readonly processorWithdraw: number;
  /** Resident memory of the sender with all sessions and no routes, and what it has more with all routes announced. */
  readonly idle: number;
  readonly aboveIdle: number;
  /** Processor time with all sessions and nothing to do, in per cent of one processor. */
  readonly idleLoad: number;
  readonly updates: number;
  /** Only Herald: processor time to set the same routes again, and to tell all peers one change. */
  readonly unchanged: number | undefined;
  readonly oneChange: number | undefined;
}

const idleMilliseconds = 3_000;

export async function measureManyPeers(contender: Contender, peers: number, size: number): Promise<ManyPeersRun | undefined> {
  if (contender.startMany === undefined || peers * size > (contender.mostForMany ?? Infinity)) return undefined;
  const far = new BenchProcess(receiverNamespace, [process.execPath, join(import.meta.dirname, 'sink.ts')], { ipc: true });
  const sink = new Caller(far.child);
  const until = async (what: string, holds: (counts: Counts) => boolean): Promise<Counts> => {
    const deadline = performance.now() + 60_000 + peers * size * 0.1;
    for (;;) {
      const counts = await sink.call<Counts>('counts');
      if (holds(counts)) return counts;
      if (performance.now() > deadline)
        throw new Error(`${contender.name} with ${peers} peers: ${what} takes too long: ${JSON.stringify(counts)}`);
      await sleep(2);
    }
  };
  try {
    await sink.call('listen');
    const sender = await contender.startMany(peers, size);
    try {
      await until('all sessions', ({ sessions }) => sessions >= peers);
      const { pid } = sender;
      await sleep(1500);
      const idle = residentMemory(pid);
      const beforeIdle = processorTime(pid);
      await sleep(idleMilliseconds);
      const idleLoad = ((processorTime(pid) - beforeIdle) / idleMilliseconds) * 100;
      const before = processorTime(pid);
      const ordered = performance.now();
      const count = await sender.announce();
      const { updates } = await until('the announcement', ({ announced }) => announced >= peers * count);
      const announce = performance.now() - ordered;
      const processorAnnounce = processorTime(pid) - before;
      await sleep(500);
      const aboveIdle = residentMemory(pid) - idle;
      const cost = async (work: (() => Promise<void>) | undefined, more: number): Promise<number | undefined> => {
        if (work === undefined) return undefined;
        const costs: number[] = [];
        for (let round = 0; round < 5; round++) {
          const { announced } = await sink.call<Counts>('counts');
          const begun = processorTime(pid);
          await work();
          await until('a change', (counts) => counts.announced >= announced + more);
          costs.push(processorTime(pid) - begun);
          await sleep(100);
        }
        return Math.min(...costs);
      };
      const unchanged = await cost(sender.repeat, 0);
      const oneChange = await cost(sender.change, peers);
      const beforeWithdrawal = processorTime(pid);
      const withdrawn = performance.now();
      const order = sender.withdraw();
      await until('the withdrawal', (counts) => counts.withdrawn >= peers * count);
      const withdraw = performance.now() - withdrawn;
      const processorWithdraw = processorTime(pid) - beforeWithdrawal;
      await order;
      return {
        sender: contender.name,
        peers,
        count,
        announce,
        withdraw,
        processorAnnounce,
        processorWithdraw,
        idle,
        aboveIdle,
        idleLoad,
        updates,
        unchanged,
        oneChange,
      };
    } finally {
      await sender.stop();
    }
  } finally {
    await far.kill();
  }
}

/** Renders the runs as a Markdown table. */
export function reportManyPeers(runs: readonly ManyPeersRun[]): string {
  const number = (value: number | undefined): string =>
    value === undefined ? '' : Math.abs(value) < 10 ? value.toFixed(1) : value.toFixed(0);
  const rows = runs.map((run) =>
    [
      run.peers,
      run.count,
      run.sender,
      (run.processorAnnounce / 1000).toFixed(2),
      (run.processorWithdraw / 1000).toFixed(2),
      number(run.announce),
      number(run.withdraw),
      number(run.idle),
      number(run.aboveIdle),
      number(run.idleLoad),
      run.updates,
      number(run.unchanged),
      number(run.oneChange),
    ].join(' | '),
  );
  const head = [
    'peers',
    'prefixes',
    'sender',
    'CPU announce, s',
    'CPU withdraw, s',
    'announce, ms',
    'withdraw, ms',
    'idle, MB',
    'above idle, MB',
    'idle CPU, %',
    'UPDATEs',
    'CPU same routes again, ms',
    'CPU one change, ms',
  ].join(' | ');
  return [`| ${head} |`, '|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|', ...rows.map((row) => `| ${row} |`), ''].join(
    '\n',
  );
}
