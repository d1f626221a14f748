import { join } from 'node:path';
import { startProgram, type CalledProcess } from '../../peers/called-process.ts';

export interface WatchOptions {
  readonly own: string;
  readonly own6: string;
  readonly ownMac: string;
}

/** A frame that tells who has an address. `answer`: to a request of the watch. `at`: milliseconds since the epoch. */
export interface WatchedFrame {
  readonly at: number;
  readonly kind: 'answer' | 'announcement';
  readonly address: string;
  readonly mac: string;
}

/** A host of its own that asks who has an address, many times a second, and records what it hears. No client is affected. */
export class Watch {
  readonly #program: CalledProcess;
  readonly #frames: WatchedFrame[] = [];

  constructor(namespace: string, options: WatchOptions) {
    this.#program = startProgram(namespace, join(import.meta.dirname, 'watch-program.ts'), options);
  }

  /** Asks for the addresses every so many milliseconds from now on. */
  async ask(addresses: readonly string[], interval = 10): Promise<void> {
    await this.#program.call('ask', addresses, interval);
  }

  /** Returns all frames so far. */
  async frames(): Promise<readonly WatchedFrame[]> {
    this.#frames.push(...((await this.#program.call('take')) as WatchedFrame[]));
    return this.#frames;
  }

  /** Returns the link-layer addresses that answered for an address since then, and how often. */
  async answers(address: string, since: number): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    for (const { at, kind, address: of, mac } of await this.frames())
      if (kind === 'answer' && of === address && at >= since) counts.set(mac, (counts.get(mac) ?? 0) + 1);
    return counts;
  }

  /** Returns the longest time without an answer for an address between two moments. */
  async longestSilence(address: string, from: number, to: number): Promise<number> {
    const answers = (await this.frames()).filter((one) => one.kind === 'answer' && one.address === address);
    const times = [from, ...answers.map(({ at }) => at).filter((at) => at > from && at < to), to];
    return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at)));
  }

  /** Returns the longest time for which two hosts answered for an address together. */
  async longestOverlap(address: string, from: number): Promise<number> {
    return longestDoubled(
      (await this.frames()).filter(({ at }) => at >= from),
      address,
    );
  }

  kill(): Promise<void> {
    return this.#program.kill();
  }
}

/** The present time as frames carry it. */
export const wallTime = (): number => performance.timeOrigin + performance.now();

/** Two answers belong to the same moment if they are in the same span of so many milliseconds. A watch asks every 10 ms. */
const span = 50;

/** Returns for how long two hosts answered for the address together, at the longest. */
export function longestDoubled(frames: readonly WatchedFrame[], address: string): number {
  const answers = frames.filter((frame) => frame.kind === 'answer' && frame.address === address);
  const doubled = [...Map.groupBy(answers, ({ at }) => Math.floor(at / span))]
    .filter(([, group]) => new Set(group.map(({ mac }) => mac)).size > 1)
    .map(([number]) => number)
    .sort((a, b) => a - b);
  let longest = 0;
  let first = doubled[0] ?? 0;
  for (const [index, number] of doubled.entries()) {
    // A span without two answers between two that have them: a request was lost.
    if (number - (doubled[index - 1] ?? number) > 2) first = number;
    longest = Math.max(longest, (number - first + 1) * span);
  }
  return longest;
}
