import { setTimeout as sleep } from 'node:timers/promises';
import { BfdProcess } from '../../../test/peers/bfd-process.ts';
import { Link, routerAddress, speakerAddress } from '../../../test/peers/link.ts';
import { until } from '../../../test/lab/until.ts';
import { quantile } from '../../../test/bench/runner/statistics.ts';

export interface DetectionResult {
  /** Milliseconds. */
  readonly interval: number;
  readonly times: number;
  readonly median: number;
  readonly longest: number;
}

/**
 * Cuts the wire between two of our processes repeatedly. Measures milliseconds from before the command that cuts it until the state
 * changes.
 */
export async function measureDetection(interval: number, times: number): Promise<DetectionResult> {
  const link = new Link('hp');
  const ours = new BfdProcess(link.speaker);
  const peer = new BfdProcess(link.router);
  const took: number[] = [];
  try {
    const profile = { transmitInterval: interval, receiveInterval: interval };
    await ours.set({ name: 'x', peer: routerAddress[4], ...profile });
    await peer.set({ name: 'x', peer: speakerAddress[4], ...profile });
    for (let i = 0; i < times; i++) {
      const up = async (): Promise<boolean> => (await ours.session()).state === 'Up' && (await peer.session()).state === 'Up';
      await until('the session is up', up, 30_000);
      // Waits so that the cut falls at a random point of the interval.
      await sleep(1_500 + Math.random() * interval);
      await ours.changes();
      const cut = Date.now();
      const restore = link.dropEverything();
      await until('the cut is noticed', async () => (await ours.session()).state !== 'Up');
      const [down] = await ours.changes();
      took.push(Date.parse(down?.at ?? '') - cut);
      restore();
    }
  } finally {
    await Promise.all([ours.kill(), peer.kill()]);
    link.close();
  }
  took.sort((a, b) => a - b);
  return { interval, times, median: quantile(took, 0.5), longest: took.at(-1) ?? Number.NaN };
}
