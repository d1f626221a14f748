import type { DataplaneError } from '../../dataplane/dataplane.ts';
import { reason, type Reason } from '../../model/reasons.ts';

/** Why the data plane accepts no changes. An agent without the capability runs, but can neither read nor write rules. */
export function dataplaneReason(node: string, { code, message }: Pick<DataplaneError, 'code' | 'message'>): Reason {
  if (code === 'permission') return reason('DataPlaneNotPermitted', { node, error: message });
  return reason('DataPlaneFailed', { error: message });
}
