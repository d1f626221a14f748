import { setTimeout as sleep } from 'node:timers/promises';
import { processorTime, residentMemory } from '../../../test/bench/runner/process-figures.ts';
import { receiverAddress } from './addresses.ts';
import { Receiver, type Observation } from './receiver.ts';
import { startHerald } from './senders/herald.ts';

/** One `set` for a session with a short hold time. Times are in milliseconds, memory is in MB. */
export interface HoldRow {
  readonly step: string;
  /** The time from the command until the receiver has the routes, and until the command returned. */
  readonly arrived: number;
  readonly returned: number;
  /** The longest time for which the event loop of the speaker did nothing else. */
  readonly longestTurn: number;
  readonly processor: number;
  /** Resident memory of the speaker afterwards. */
  readonly memory: number;
  /** How often the session ended since it came up. */
  readonly flaps: number;
}

/** Report of the speaker about itself. */
interface SpeakerReport {
  readonly state: string;
  readonly counters: { readonly flaps: number };
  readonly negotiated?: { readonly holdTime: number };
}

export const holdTime = 3;

/**
 * Gives all routes to the speaker in one `speaker.rib.set` while a session with a hold time of 3 s is up, and takes them away in another.
 * Both ends send a KEEPALIVE each second. The routes are parsed prefixes or text, which `set` has to check first.
 */
export async function measureHold(size: number): Promise<HoldRow[]> {
  const receiver = await Receiver.start();
  const { process: near, call } = startHerald();
  try {
    await call('addPeer', receiverAddress, false, holdTime);
    await receiver.established(60_000);
    const rows: HoldRow[] = [];
    const steps: readonly (readonly [step: string, method: string, count: number])[] = [
      ['set', 'setForAll', size],
      ['set again, unchanged', 'setForAll', size],
      ['set of none', 'setForAll', 0],
      ['set, text', 'setText', size],
      ['set of none', 'setText', 0],
    ];
    for (const [step, method, count] of steps) {
      await sleep(1000);
      await call('longestTurn');
      const before = processorTime(near.pid);
      const ordered = performance.now();
      const returned = call(method, count).then(() => performance.now() - ordered);
      const holds = ({ prefixes, established }: Observation): boolean => prefixes === count && established;
      const { at } = await receiver.until(`${count} prefixes after ${step}`, holds, 30_000 + size / 10);
      // A session that fell because of this step falls within its hold time.
      const done = await returned;
      const processor = processorTime(near.pid) - before;
      const longestTurn = await call<number>('longestTurn');
      await sleep(holdTime * 1000 + 500);
      const { state, counters, negotiated } = await call<SpeakerReport>('status');
      if (negotiated?.holdTime !== holdTime) throw new Error(`the session is ${state} with a hold time of ${negotiated?.holdTime} s`);
      rows.push({
        step,
        arrived: at - ordered,
        returned: done,
        longestTurn,
        processor,
        memory: residentMemory(near.pid),
        flaps: counters.flaps,
      });
    }
    return rows;
  } finally {
    await near.kill();
    await receiver.stop();
  }
}

/** Renders the rows as a Markdown table. */
export function reportHold(size: number, rows: readonly HoldRow[]): string {
  const head = ['step', 'at the receiver, ms', 'set returned, ms', 'longest turn, ms', 'CPU, ms', 'memory, MB', 'sessions lost'];
  const lines = rows.map(({ step, arrived, returned, longestTurn, processor, memory, flaps }) =>
    [step, ...[arrived, returned, longestTurn, processor, memory].map((figure) => figure.toFixed(0)), flaps].join(' | '),
  );
  const title = `${size} routes in one speaker.rib.set, hold time ${holdTime} s:`;
  return [title, '', `| ${head.join(' | ')} |`, '|---|---:|---:|---:|---:|---:|---:|', ...lines.map((line) => `| ${line} |`), ''].join(
    '\n',
  );
}
