import { setTimeout as sleep } from 'node:timers/promises';
import { BfdProcess } from '../../peers/bfd-process.ts';
import { Link, run } from '../../peers/link.ts';
import { until } from '../../lab/until.ts';

export interface CostResult {
  readonly sessions: number;
  /** Milliseconds. */
  readonly interval: number;
  /** Percent of one processor used by the whole process. */
  readonly cpuPercent: number;
  /** Microseconds of processor time per session and second. */
  readonly microsecondsPerSession: number;
  readonly memoryMiB: number;
  /** The number of times that sessions went down during the measurement. */
  readonly flaps: number;
}

const seconds = 15;

/** Runs many sessions between two of our processes and measures the cost of one. */
export async function measureCost(sessions: number, interval: number): Promise<CostResult> {
  const link = new Link('hp');
  const ours = new BfdProcess(link.speaker, { realTime: true });
  const peer = new BfdProcess(link.router, { realTime: true });
  const address = (side: number, i: number): string => `10.98.${side * 16 + (i >> 8)}.${i & 255}`;
  try {
    for (const [namespace, side] of [
      [link.speaker, 1],
      [link.router, 2],
    ] as const) {
      run('ip', '-n', namespace, 'route', 'add', '10.98.0.0/16', 'dev', 'v0');
      for (let i = 0; i < sessions; i++) run('ip', '-n', namespace, 'addr', 'add', `${address(side, i)}/32`, 'dev', 'v0');
    }
    const set = (process: BfdProcess, mine: number, theirs: number) =>
      process.set(
        ...Array.from({ length: sessions }, (_, i) => ({
          name: `s${i}`,
          peer: address(theirs, i),
          localAddress: address(mine, i),
          transmitInterval: interval,
          receiveInterval: interval,
        })),
      );
    await Promise.all([set(ours, 1, 2), set(peer, 2, 1)]);
    const all = async () => (await ours.status()).sessions;
    await until('all are up', async () => (await all()).every(({ state }) => state === 'Up'), 60_000);
    await sleep(3_000);
    const flaps = async (): Promise<number> => (await all()).reduce((sum, { counters }) => sum + counters.downs, 0);
    const cpu = async (): Promise<number> => {
      const { user, system } = (await ours.call('cpu')) as NodeJS.CpuUsage;
      return user + system;
    };
    const [flapsBefore, cpuBefore, began] = [await flaps(), await cpu(), performance.now()];
    await sleep(seconds * 1_000);
    const [used, passed] = [(await cpu()) - cpuBefore, (performance.now() - began) / 1_000];
    return {
      sessions,
      interval,
      cpuPercent: used / passed / 10_000,
      microsecondsPerSession: used / passed / sessions,
      memoryMiB: ((await ours.call('memory')) as number) / 1024 / 1024,
      flaps: (await flaps()) - flapsBefore,
    };
  } finally {
    await Promise.all([ours.kill(), peer.kill()]);
    link.close();
  }
}
