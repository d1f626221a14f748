import type { KubeClient } from './client.ts';
import { KubeError } from '../error.ts';

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
 * Returns a client that writes only while we lead. Components that get no other client cannot forget to check. A process that is stopped
 * between check and request writes once more when it wakes up; hence the uid and version in every write (docs/adr/0014).
 */
export function fencedClient(client: RequestsAndPages, fence: Fence): RequestsAndPages {
  return {
    get: (...request) => client.get(...request),
    page: (...request) => client.page(...request),
    async write(write, signal) {
      const { term } = fence;
      if (!fence.mayWrite()) throw new KubeError('notLeading', 'nothing is written: the Lease was not renewed in time');
      return client.write(write, signal === undefined ? term : AbortSignal.any([signal, term]));
    },
  };
}
