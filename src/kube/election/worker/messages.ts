import type { Credentials } from '../../client/connection.ts';
import type { ElectionOptions } from '../election.ts';

/** What the thread that renews the Lease gets at its start. */
export interface ElectionThreadOptions extends ElectionOptions {
  readonly server: string;
  readonly whenUnreachable?: string;
  readonly userAgent: string;
  /** The memory of a Fence. */
  readonly fence: SharedArrayBuffer;
}

/** To the thread. Any of them shows that the main thread works. */
export type ToElection =
  | { readonly type: 'credentials'; readonly credentials: Credentials }
  | { readonly type: 'noCredentials'; readonly message: string; readonly fix: string }
  | { readonly type: 'stop' };

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** From the thread. */
export type FromElection =
  | { readonly type: 'elected'; readonly elected: boolean }
  | { readonly type: 'termEnded' }
  | { readonly type: 'ended'; readonly because: 'lost' | 'stopped' }
  | { readonly type: 'refusal'; readonly refusal: string | undefined }
  /** The API server rejected the credentials. */
  | { readonly type: 'expired' }
  | { readonly type: 'log'; readonly level: LogLevel; readonly fields: object; readonly message: string };
