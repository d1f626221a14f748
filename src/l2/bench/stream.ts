import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { wallTime } from '../../../test/lab/l2-agents/watch.ts';
import { until } from '../../../test/lab/until.ts';
import { startProgram, type CalledProcess } from '../../../test/peers/called-process.ts';

export interface StreamOptions {
  readonly addresses: readonly string[];
  readonly port: number;
  /** Milliseconds between two requests to an address. */
  readonly interval: number;
}

/** A request. Times are in milliseconds since the epoch. Without `received` it is lost, or not answered yet. */
export interface Request {
  readonly sent: number;
  received?: number;
  pod?: string;
}

/** After this time a request without an answer is lost. */
const patience = 300;

/** A client that asks several addresses all the time. Pods are called `pod` and the number of their node, and serve only their node's clients. */
export class Stream {
  readonly #program: CalledProcess;
  readonly #addresses: readonly string[];

  constructor(namespace: string, addresses: readonly string[]) {
    this.#addresses = addresses;
    const options: StreamOptions = { addresses, port: 80, interval: 5 };
    this.#program = startProgram(namespace, join(import.meta.dirname, 'stream-program.ts'), options);
  }

  /** Returns the only node that answered for each address in the last moments. Undefined: none or several did. */
  async owners(milliseconds = 500): Promise<readonly (number | undefined)[]> {
    const now = wallTime();
    return Promise.all(
      this.#addresses.map(async (address) => {
        const answered = (await this.#requests(address, now - milliseconds, now)).flatMap(({ pod }) => pod ?? []);
        const pods = new Set(answered);
        const [pod = ''] = pods;
        return pods.size === 1 && answered.length > milliseconds / 20 ? Number(pod.replace('pod', '')) : undefined;
      }),
    );
  }

  /** Waits until one node answers for each address, and has done so for a while. */
  async untilSettled(milliseconds = 1_500, timeout = 60_000): Promise<readonly number[]> {
    const settled = async (note: (seen: unknown) => unknown): Promise<readonly number[] | undefined> => {
      const owners = await this.owners(milliseconds);
      note(owners);
      return owners.every((owner) => owner !== undefined) ? owners : undefined;
    };
    return until('one node answers for each address', settled, timeout);
  }

  /** Waits until these nodes answer for the addresses, and have done so for a while. */
  async untilOwners(wanted: readonly number[], milliseconds = 1_500, timeout = 60_000): Promise<void> {
    const same = async (note: (seen: unknown) => unknown): Promise<boolean> => {
      const owners = await this.owners(milliseconds);
      note(owners);
      return owners.join() === wanted.join();
    };
    await until(`nodes ${wanted.join(' and ')} answer`, same, timeout);
  }

  /** Returns how long after `since` the first answer came from another node. Undefined: none came in time. */
  async untilOther(address: string, owner: number, since: number, timeout: number): Promise<number | undefined> {
    while (wallTime() - since < timeout) {
      const first = (await this.#program.call('firstFromOther', address, since, `pod${owner}`)) as number | undefined;
      if (first !== undefined) return first - since;
      await sleep(20);
    }
    return undefined;
  }

  /** Returns the number of requests between two moments, and of those without an answer. */
  async count(from: number, to: number): Promise<{ readonly sent: number; readonly lost: number }> {
    await sleep(patience);
    const all = (await Promise.all(this.#addresses.map((address) => this.#requests(address, from, to)))).flat();
    return { sent: all.length, lost: all.filter(({ received }) => received === undefined).length };
  }

  kill(): Promise<void> {
    return this.#program.kill();
  }

  async #requests(address: string, from: number, to: number): Promise<readonly Request[]> {
    return (await this.#program.call('requests', address, from, to)) as readonly Request[];
  }
}
