import type { ObjectFields } from '../../model/status-manifest.ts';
import type { Reason } from '../../model/reasons.ts';

/** What the status of a configuration object says. */
export interface ObjectStatus {
  /** Why it, or a part of it, is left out; absent: it is in force. */
  readonly refused?: Reason;
  /** Why it does not do what it is there for; absent: it does, or that is nothing else than being in force. */
  readonly unready?: Reason;
  readonly fields: ObjectFields;
}
