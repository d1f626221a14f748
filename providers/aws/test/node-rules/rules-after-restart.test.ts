import { describe, expect, test } from 'vitest';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { config, pool } from '../../../../test/unit/decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { awsMember, node } from '../support/stack-fixture.ts';
import { unreachableReason } from '../support/reachability.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
const first = { name: 'a', ports: ['http:80/TCP@30080'], createdAt: '2026-01-01T00:00:00Z' };
const second = { name: 'b', ports: ['http:80/TCP@31081'], createdAt: '2026-01-02T00:00:00Z' };
const b = 'default/b';
const http = { from: '10.1.2.3', protocol: 'TCP', port: 80 } as const;

/** Ports that the security groups of nodes open to load balancers. */
function opened({ cloud: { world } }: ProviderFixture | ControllerFixture): string[] {
  return [...world.securityGroups.values()].flatMap(({ IpPermissions }) =>
    IpPermissions.flatMap(({ UserIdGroupPairs = [], FromPort, ToPort }) =>
      UserIdGroupPairs.length === 0 ? [] : [`${FromPort}-${ToPort}`],
    ),
  );
}

const hostnameOf = ({ results }: ProviderFixture): string => results.get(b)?.ingress[0]?.hostname ?? 'nowhere';

describe('node rules after a restart', () => {
  test('nodes admit the own load balancer of a Service whose port is taken in the shared one', async () => {
    const fixture = new ProviderFixture();
    fixture.apply({ ...first, annotations: shared });
    fixture.apply(second);
    await fixture.run(400);
    fixture.apply({ ...second, annotations: shared });
    await fixture.run(60);
    fixture.restart();
    await fixture.run(1200);
    expect(fixture.results.get(b)?.reason?.code).toBe('AwsSharedPortTaken');
    expect(unreachableReason(fixture.cloud.world, hostnameOf(fixture), http)).toBeUndefined();
  });

  test('nodes admit the load balancer of a Service that moves to a pool without a free address', async () => {
    const [one, other] = [
      { ...first, loadBalancerClass: 'herald.dev/aws' },
      { ...second, annotations: { type: 'nlb' } },
    ].map((literal) => awsMember('nlb', literal).service);
    const cluster = new ControllerFixture(...[one, other].filter((service) => service !== undefined));
    await cluster.start();
    await cluster.run(400);
    const hostname = cluster.service(b)?.ingress[0]?.hostname ?? 'nowhere';
    cluster.source.remove(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.9'] }));
    cluster.source.put(config({ defaultClass: true }));
    await cluster.run(60);
    await cluster.start();
    await cluster.run(1200);
    expect(cluster.condition(b)).toBe('False NoPools');
    expect(unreachableReason(cluster.cloud.world, hostname, http)).toBeUndefined();
    // The targets of the load balancer still follow the nodes.
    cluster.source.put(node(2));
    await cluster.run(10);
    cluster.source.remove(node(0));
    cluster.source.remove(node(1));
    await cluster.run(180);
    const ids = [...cluster.cloud.world.targetGroups.values()].map(({ targets }) =>
      [...targets.values()].flatMap(({ target, drainingSince }) => (drainingSince === undefined ? [target.Id] : [])),
    );
    expect(ids).toEqual([['i-00000002'], ['i-00000002']]);
    expect(unreachableReason(cluster.cloud.world, hostname, http)).toBeUndefined();
  });

  test.each([
    ['nodes admit the load balancer of a Service whose manifest cannot be read', true],
    ['nodes admit the load balancer of a vanished Service until it is deleted as an orphan', false],
  ])('%s', async (_, isOnRecord) => {
    const fixture = new ProviderFixture();
    fixture.apply(first);
    fixture.apply(second);
    await fixture.run(400);
    const hostname = hostnameOf(fixture);
    fixture.services.delete(b);
    fixture.restart();
    if (isOnRecord) fixture.provider.adopt(fixture.snapshot, new Map<ServiceKey, unknown>([[b, []]]));
    await fixture.run(1800);
    expect(unreachableReason(fixture.cloud.world, hostname, http)).toBeUndefined();
    await fixture.run(6000);
    expect(opened(fixture)).toEqual(isOnRecord ? ['30080-31081'] : ['30080-30080']);
  });

  test('nodes admit health checks of a previous load balancer until it is deleted', async () => {
    const fixture = new ProviderFixture();
    fixture.settings = { ...fixture.settings, retireSeconds: 900 };
    fixture.apply({ ...first, ports: ['http:81/TCP@30080'], annotations: shared });
    fixture.apply({ ...second, annotations: { 'healthcheck-port': '32100' } });
    await fixture.run(400);
    fixture.apply({ ...second, annotations: shared });
    await fixture.run(200);
    fixture.restart();
    await fixture.run(300);
    expect([opened(fixture), fixture.cloud.world.loadBalancers.size]).toEqual([['30080-32100'], 2]);
    await fixture.run(1200);
    expect([opened(fixture), fixture.cloud.world.loadBalancers.size]).toEqual([['30080-31081'], 1]);
  });
});

test('after a restart, unused node rules are removed, and with the last Service the shared group', async () => {
  const fixture = new ProviderFixture();
  const a = fixture.apply(first);
  fixture.apply(second);
  await fixture.run(400);
  fixture.restart();
  fixture.delete(b);
  await fixture.run(400);
  expect(opened(fixture)).toEqual(['30080-30080']);
  fixture.restart();
  fixture.delete(a);
  await fixture.run(400);
  expect([
    opened(fixture),
    [...fixture.cloud.world.securityGroups.values()].filter(({ GroupName }) => GroupName.startsWith('herald')),
  ]).toEqual([[], []]);
});

test('after a restart, node rules are only added until the account can be listed, then also removed', async () => {
  const fixture = new ProviderFixture();
  fixture.apply(first);
  fixture.apply(second);
  await fixture.run(400);
  fixture.delete(b);
  fixture.restart();
  fixture.cloud.fault = ({ operation, input }) =>
    operation === 'elbv2:DescribeTargetGroups' && JSON.stringify(input) === '{}' ? { kind: 'error', code: 'denied' } : undefined;
  fixture.apply({ name: 'c', ports: ['http:80/TCP@32000'] });
  await fixture.run(900);
  expect(opened(fixture)).toEqual(['30080-31081']);
  fixture.cloud.fault = () => undefined;
  await fixture.run(900);
  expect(opened(fixture)).toEqual(['30080-32000']);
});
