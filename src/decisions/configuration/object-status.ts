import type { ObjectFields } from '../../model/status-manifest.ts';
import type { Reason } from '../../model/reasons.ts';

/** The status of a configuration object. */
export interface ObjectStatus {
  /** Why the object, or a part of it, is left out. Absent when it is in force. */
  readonly refused?: Reason;
  /** Why the object in force has no effect. Absent when it works. */
  readonly unready?: Reason;
  readonly fields: ObjectFields;
}
