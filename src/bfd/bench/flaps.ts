import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { frrBfd } from '../../../test/peers/bfd-frr.ts';
import { BfdProcess } from '../../../test/peers/bfd-process.ts';
import { Link, routerAddress, speakerAddress } from '../../../test/peers/link.ts';
import { hostRoot } from '../../../test/peers/root.ts';
import { until } from '../../../test/lab/until.ts';

export interface FlapCase {
  readonly name: string;
  /** Milliseconds. */
  readonly interval: number;
  /** Milliseconds per second for which the main thread is blocked. */
  readonly blocked: number;
  readonly realTime: boolean;
}

export interface FlapResult extends FlapCase {
  readonly peer: string;
  readonly minutes: number;
  /** The number of times that our end and FRR's end left Up. */
  readonly ourFlaps: number;
  readonly peerFlaps: number;
  readonly packetsSent: number;
  readonly packetsReceived: number;
  /** The machine's load average during the measurement; other programs may have contributed. */
  readonly load: number;
}

export const flapCases: readonly FlapCase[] = [
  { name: '300 ms x 3, main thread blocked 500 ms of each second', interval: 300, blocked: 500, realTime: false },
  { name: '50 ms x 3', interval: 50, blocked: 0, realTime: false },
  { name: '50 ms x 3, real-time priority, main thread blocked 500 ms of each second', interval: 50, blocked: 500, realTime: true },
];

/** Runs one session with FRR's bfdd while our process is kept busy, and counts the flaps. */
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
    // Waits until the first Poll Sequence has ended.
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
