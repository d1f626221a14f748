import { expect, test } from 'vitest';
import { Town } from './town.ts';

test('two Services that share a load balancer and are reconciled at once make one', async () => {
  const town = new Town();
  const annotations = { 'herald.dev/aws-shared-load-balancer': 'edge' };
  const keys = [
    town.apply({ name: 'a', ports: ['a:80/TCP@30080'], annotations }),
    town.apply({ name: 'b', ports: ['b:443/TCP@30443'], annotations }),
  ];
  const services = [...town.services.values()];
  expect(services).toHaveLength(keys.length);
  await Promise.all(services.map((service) => town.provider.reconcile(service, town.snapshot)));
  const made = town.cloud.writes.filter(({ operation }) => operation === 'elbv2:CreateLoadBalancer');
  expect(made).toHaveLength(1);
});
