import type { KubeErrorCode } from '../error.ts';

/** Counts requests. Called when a request has ended, and when a watch has begun or failed to begin. Must be quick and must not throw. */
export interface ClientObserver {
  /** `code` is the HTTP status, or why there was no response. */
  request(verb: string, code: number | KubeErrorCode | 'aborted', milliseconds: number): void;
}

/** Counts watch events. `path` is that of the resource, without a query. */
export interface WatchObserver {
  /** The list is complete. */
  listed(path: string): void;
  watchEvent(path: string, type: 'present' | 'gone' | 'bookmark'): void;
  /** The watch failed and is retried. */
  watchFailed(path: string, code: KubeErrorCode): void;
  /** The resource is no longer watched. */
  watchEnded(path: string): void;
}
