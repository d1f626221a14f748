import { expect, test } from 'vitest';
import { addBuiltInProviders } from '../../../support/built-in-providers.ts';
import { serviceConditions } from '../../../../src/controller/services/service-conditions.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { cluster, service } from '../../decisions/fixtures.ts';

addBuiltInProviders();

test('AddressAssigned of a Service whose load balancer has no target is True with the reason, the verdict and its fix', () => {
  const unserved = reason('AwsNoTargets', { of: 'node', all: true, labels: 'role=edgee' });
  const web = { ...service({ name: 'shop/web' }), ingress: [{ hostname: 'web.elb.amazonaws.com', ipMode: undefined }] } as never;
  expect(serviceConditions(cluster({}), web, { reason: undefined, details: [], unserved }, 0)).toMatchObject([
    {
      type: 'herald.dev/AddressAssigned',
      status: 'True',
      reason: 'AwsNoTargets',
      message:
        'Not served: the load balancer has no target: no node matches herald.dev/aws-target-node-labels: role=edgee. Correct the annotation, or label Nodes: kubectl label node NAME role=edgee.',
    },
  ]);
});
