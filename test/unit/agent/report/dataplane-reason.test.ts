import { expect, test } from 'vitest';
import { dataplaneReason } from '../../../../src/agent/report/report-content.ts';
import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';

test('an agent that may not use nftables names the capability and the field of the manifest', () => {
  const because = dataplaneReason('n1', new DataplaneError('permission', 'operation not permitted'));
  expect(because.code).toBe('DataPlaneNotPermitted');
  expect(reasonText(because)).toContain('agent of node "n1" runs');
  expect(remedyText(because)).toContain('securityContext.capabilities.add');
});

test('an agent whose kernel answers with another error does not blame a capability', () => {
  const because = dataplaneReason('n1', new DataplaneError('failed', 'no buffer space available'));
  expect(because.code).toBe('DataPlaneFailed');
  expect(remedyText(because)).not.toContain('NET_ADMIN');
});
