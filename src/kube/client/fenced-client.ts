import type { KubeClient, Query, Write } from './client.ts';
import { KubeError } from '../error.ts';

/** What a part of Herald that reads and writes objects needs of a client. */
export type Requests = Pick<KubeClient, 'get' | 'write'>;

interface Fence {
  /** Whether a write may begin now. */
  mayWrite(): boolean;
  /** Aborts when that has ended for good: what is under way is given up. */
  readonly term: AbortSignal;
}

/**
 * A client that writes only while we lead. Whoever is given no other one cannot forget to ask. A process that is stopped between the question
 * and the request writes once more when it wakes up: hence the uid and the version in every write, and docs/adr/0014.
 */
export class FencedClient implements Requests {
  readonly #client: Requests;
  readonly #fence: Fence;

  constructor(client: Requests, fence: Fence) {
    this.#client = client;
    this.#fence = fence;
  }

  get(path: string, query?: Query, signal?: AbortSignal): Promise<unknown> {
    return this.#client.get(path, query, signal);
  }

  async write(write: Write, signal?: AbortSignal): Promise<unknown> {
    const { term } = this.#fence;
    if (!this.#fence.mayWrite()) throw new KubeError('notLeading', 'nothing is written: the Lease was not renewed in time');
    return this.#client.write(write, signal === undefined ? term : AbortSignal.any([signal, term]));
  }
}
