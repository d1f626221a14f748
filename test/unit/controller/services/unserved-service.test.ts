import { expect, test } from 'vitest';
import { addBuiltInProviders } from '../../../support/built-in-providers.ts';
import { serviceConditions } from '../../../../src/controller/services/service-conditions.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { cluster, service } from '../../decisions/fixtures.ts';

addBuiltInProviders();

const key = 'service.beta.kubernetes.io/aws-load-balancer-target-node-labels';

test('AddressAssigned of a Service whose load balancer has no target is True with the reason, the verdict and its fix', () => {
  const unserved = reason('AwsNoTargets', { of: 'node', all: true, labels: 'role=edgee', key });
  const web = { ...service({ name: 'shop/web' }), ingress: [{ hostname: 'web.elb.amazonaws.com', ipMode: undefined }] } as never;
  expect(serviceConditions(cluster({}), web, { reason: undefined, details: [], remark: unserved }, 0)).toMatchObject([
    {
      type: 'herald.dev/AddressAssigned',
      status: 'True',
      reason: 'AwsNoTargets',
      message:
        'Not served: the load balancer has no target: no Node has role=edgee of annotation service.beta.kubernetes.io/aws-load-balancer-target-node-labels. Correct the annotation, or label Nodes: kubectl label node NAME role=edgee.',
    },
  ]);
});

test('AddressAssigned of a Service that loses its last targets is True with the reason, the time and the fix', () => {
  const remark = reason('AwsLastTargets', { of: 'node', all: true, labels: 'role=edgee', key, until: '2026-01-01T01:00:00Z' });
  const web = { ...service({ name: 'shop/web' }), ingress: [{ hostname: 'web.elb.amazonaws.com', ipMode: undefined }] } as never;
  const [condition] = serviceConditions(cluster({}), web, { reason: undefined, details: [], remark }, 0);
  expect(condition).toMatchObject({ status: 'True', reason: 'AwsLastTargets' });
  expect(condition?.message).toMatch(
    /loses its last targets at 2026-01-01T01:00:00Z, because no Node has role=edgee .*Correct the annotation/,
  );
});
