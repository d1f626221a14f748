import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { frrBfd } from '../../peers/bfd-frr.ts';
import { BfdProcess } from '../../peers/bfd-process.ts';
import { Link, routerAddress, speakerAddress } from '../../peers/link.ts';
import { hostRoot } from '../../peers/root.ts';
import { until } from '../../lab/until.ts';

export interface FlapCase {
  readonly name: string;
  /** Milliseconds. */
  readonly interval: number;
  /** Milliseconds for which the main thread stands still in each second. */
  readonly blocked: number;
  readonly realTime: boolean;
}

export interface FlapResult extends FlapCase {
  readonly peer: string;
  readonly minutes: number;
  /** Times that our end, and FRR's, left Up. */
  readonly ourFlaps: number;
  readonly peerFlaps: number;
  readonly packetsSent: number;
  readonly packetsReceived: number;
  /** Of the machine while it was measured: others may have been at work. */
  readonly load: number;
}

export const flapCases: readonly FlapCase[] = [
  { name: '300 ms x 3, main thread blocked 500 ms of each second', interval: 300, blocked: 500, realTime: false },
  { name: '50 ms x 3', interval: 50, blocked: 0, realTime: false },
  { name: '50 ms x 3, real-time priority, main thread blocked 500 ms of each second', interval: 50, blocked: 500, realTime: true },
];

/** One session with FRR's bfdd, and how often it flaps while our process is kept busy. */
export async function measureFlaps(flapCase: FlapCase, minutes: number): Promise<FlapResult> {
  const { interval, blocked, realTime } = flapCase;
  const kind = frrBfd(hostRoot);
  const link = new Link('hp');
  const ours = new BfdProcess(link.speaker, { realTime });
  try {
    const daemon = await kind.start(link, { local: routerAddress[4], remote: speakerAddress[4], interval });
    await ours.set({ name: 'x', peer: routerAddress[4], transmitInterval: interval, receiveInterval: interval });
    const isUp = async (): Promise<boolean> => (await ours.session()).state === 'Up' && (await daemon.session()).state === 'Up';
    await until('the session is up', isUp, 30_000);
    // Past the Poll Sequence with which it begins.
    await sleep(2_000);
    const before = { ours: (await ours.session()).counters, peer: (await daemon.session()).ups ?? 0 };
    const loads: number[] = [];
    if (blocked > 0) await ours.call('keepBlocking', blocked, 1000);
    const end = performance.now() + minutes * 60_000;
    while (performance.now() < end) {
      await sleep(Math.min(5_000, end - performance.now()));
      loads.push(loadavg()[0] ?? 0);
    }
    const after = { ours: (await ours.session()).counters, peer: (await daemon.session()).ups ?? 0 };
    return {
      ...flapCase,
      peer: kind.name,
      minutes,
      ourFlaps: after.ours.downs - before.ours.downs,
      peerFlaps: after.peer - before.peer,
      packetsSent: after.ours.sent - before.ours.sent,
      packetsReceived: after.ours.received - before.ours.received,
      load: Math.max(...loads),
    };
  } finally {
    await ours.kill();
    link.close();
  }
}
