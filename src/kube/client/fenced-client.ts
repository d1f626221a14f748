import type { KubeClient, Query, Write } from './client.ts';
import { KubeError } from '../error.ts';
import type { ListPage } from '../format/object-format.ts';
import type { ObjectTable } from '../format/protobuf/object-table.ts';

/** The part of a client that readers and writers of objects need. */
export type Requests = Pick<KubeClient, 'get' | 'write'>;

/** The part that a reader of many objects needs as well. */
export type RequestsAndPages = Requests & Pick<KubeClient, 'page'>;

interface Fence {
  /** True when a write may begin now. */
  mayWrite(): boolean;
  /** Aborts when writing has ended for good; requests in progress are abandoned. */
  readonly term: AbortSignal;
}

/**
 * A client that writes only while we lead. Components that get no other client cannot forget to check. A process that is stopped between
 * check and request writes once more when it wakes up; hence the uid and version in every write (docs/adr/0014).
 */
export class FencedClient implements RequestsAndPages {
  readonly #client: RequestsAndPages;
  readonly #fence: Fence;

  constructor(client: RequestsAndPages, fence: Fence) {
    this.#client = client;
    this.#fence = fence;
  }

  get(path: string, query?: Query, signal?: AbortSignal): Promise<unknown> {
    return this.#client.get(path, query, signal);
  }

  page(path: string, table: ObjectTable, query: Query, signal?: AbortSignal): Promise<ListPage> {
    return this.#client.page(path, table, query, signal);
  }

  async write(write: Write, signal?: AbortSignal): Promise<unknown> {
    const { term } = this.#fence;
    if (!this.#fence.mayWrite()) throw new KubeError('notLeading', 'nothing is written: the Lease was not renewed in time');
    return this.#client.write(write, signal === undefined ? term : AbortSignal.any([signal, term]));
  }
}
