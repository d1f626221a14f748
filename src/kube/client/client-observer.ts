import type { KubeErrorCode } from '../error.ts';

/** Who counts requests. Called for each that has ended, and for each watch that has begun or could not; must be quick and must not throw. */
export interface ClientObserver {
  /** `code`: the HTTP status, or why there was no answer. */
  request(verb: string, code: number | KubeErrorCode | 'aborted', milliseconds: number): void;
}

/** Who counts what watches say. `path` is that of the resource, without a query. */
export interface WatchObserver {
  /** Everything there is has been said. */
  listed(path: string): void;
  watchEvent(path: string, type: 'present' | 'gone' | 'bookmark'): void;
  /** It is tried again. */
  watchFailed(path: string, code: KubeErrorCode): void;
  /** Nobody follows the resource any longer. */
  watchEnded(path: string): void;
}
