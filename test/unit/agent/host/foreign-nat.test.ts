import { expect, test } from 'vitest';
import { serviceDifferences } from '../../../../src/agent/report/report-content.ts';
import { reason } from '../../../../src/model/reasons.ts';

test('the report lists a Service that another program translates first, with aspect Programmed', () => {
  const details = {
    chain: 'early of table ip other',
    hook: 'prerouting',
    priority: -150,
    rule: 'tcp dport 80 dnat',
    frontend: '192.0.2.1 TCP 80',
  };
  const because = reason('ForeignNat', details);
  const nothing = {
    quarantined: new Map(),
    missing: new Map(),
    held: new Map(),
    unsupportedRoutes: [],
    wantedBy: () => [],
    healthChecks: [],
  };
  expect(serviceDifferences({ ...nothing, taken: [{ service: 'shop/web', reason: because }] })).toEqual([
    { service: 'shop/web', aspect: 'Programmed', reason: because },
  ]);
});
