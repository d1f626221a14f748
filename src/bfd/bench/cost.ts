import { setTimeout as sleep } from 'node:timers/promises';
import { BfdProcess } from '../../../test/peers/bfd-process.ts';
import { Link, routerAddress, run, speakerAddress } from '../../../test/peers/link.ts';
import { until } from '../../../test/lab/until.ts';

export interface CostResult {
  readonly sessions: number;
  /** Milliseconds. */
  readonly interval: number;
  /** Percent of one processor used by the whole process. */
  readonly cpuPercent: number;
  /** The part of it that the kernel used, which is mostly for sending and receiving. */
  readonly kernelPercent: number;
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
  const network = (side: number): string => `10.98.${side * 16}`;
  const address = (side: number, i: number): string => `10.98.${side * 16 + (i >> 8)}.${i & 255}`;
  try {
    for (const [namespace, side, gateway] of [
      [link.speaker, 1, routerAddress[4]],
      [link.router, 2, speakerAddress[4]],
    ] as const) {
      run('ip', '-n', namespace, 'route', 'add', 'local', `${network(side)}.0/20`, 'dev', 'lo');
      // By a gateway: the kernel's table of neighbours is too small for 1,000 peers on the link. Nothing is forwarded, so the TTL stays 255.
      run('ip', '-n', namespace, 'route', 'add', `${network(3 - side)}.0/20`, 'via', gateway);
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
    const cpu = async () => (await ours.call('cpu')) as NodeJS.CpuUsage;
    const [flapsBefore, cpuBefore, began] = [await flaps(), await cpu(), performance.now()];
    await sleep(seconds * 1_000);
    const { user, system } = await cpu();
    const passed = (performance.now() - began) / 1_000;
    const kernel = system - cpuBefore.system;
    const used = user - cpuBefore.user + kernel;
    return {
      sessions,
      interval,
      cpuPercent: used / passed / 10_000,
      kernelPercent: kernel / passed / 10_000,
      microsecondsPerSession: used / passed / sessions,
      memoryMiB: ((await ours.call('memory')) as number) / 1024 / 1024,
      flaps: (await flaps()) - flapsBefore,
    };
  } finally {
    await Promise.all([ours.kill(), peer.kill()]);
    link.close();
  }
}
