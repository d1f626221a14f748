import { describe, expect, test } from 'vitest';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { config, pool } from '../../decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { awsMember, node } from '../support/stack-fixture.ts';
import { unreachableReason } from '../support/reachability.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
const first = { name: 'a', ports: ['http:80/TCP@30080'], createdAt: '2026-01-01T00:00:00Z' };
const second = { name: 'b', ports: ['http:80/TCP@31081'], createdAt: '2026-01-02T00:00:00Z' };
const b = 'default/b';
const http = { from: '10.1.2.3', protocol: 'TCP', port: 80 } as const;

/** Ports by which nodes let load balancers in. */
function opened({ cloud: { world } }: ProviderFixture | ControllerFixture): string[] {
  return [...world.securityGroups.values()].flatMap(({ IpPermissions }) =>
    IpPermissions.flatMap(({ UserIdGroupPairs = [], FromPort, ToPort }) =>
      UserIdGroupPairs.length === 0 ? [] : [`${FromPort}-${ToPort}`],
    ),
  );
}

const told = ({ results: said }: ProviderFixture): string => said.get(b)?.ingress[0]?.hostname ?? 'nowhere';

describe('a controller that starts leaves nodes open to', () => {
  test('the load balancer of a Service that asks for a port that is taken in a shared one', async () => {
    const town = new ProviderFixture();
    town.apply({ ...first, annotations: shared });
    town.apply(second);
    await town.run(400);
    town.apply({ ...second, annotations: shared });
    await town.run(60);
    town.restart();
    await town.run(1200);
    expect(town.results.get(b)?.reason?.code).toBe('AwsSharedPortTaken');
    expect(unreachableReason(town.cloud.world, told(town), http)).toBeUndefined();
  });

  test('that of a Service that pools are to serve, which have no address for it', async () => {
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
    // And what it has goes on following its nodes.
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
    ['that of a Service whose manifest cannot be read', true],
    ['that of a Service that is gone without having been deleted, until it is an orphan for long', false],
  ])('%s', async (_, isOnRecord) => {
    const town = new ProviderFixture();
    town.apply(first);
    town.apply(second);
    await town.run(400);
    const hostname = told(town);
    town.services.delete(b);
    town.restart();
    if (isOnRecord) town.provider.adopt(town.snapshot, new Map<ServiceKey, unknown>([[b, []]]));
    await town.run(1800);
    expect(unreachableReason(town.cloud.world, hostname, http)).toBeUndefined();
    await town.run(6000);
    expect(opened(town)).toEqual(isOnRecord ? ['30080-31081'] : ['30080-30080']);
  });

  test('health checks of what goes on serving for a while, and to those no longer', async () => {
    const town = new ProviderFixture();
    town.settings = { ...town.settings, retireSeconds: 900 };
    town.apply({ ...first, ports: ['http:81/TCP@30080'], annotations: shared });
    town.apply({ ...second, annotations: { 'healthcheck-port': '32100' } });
    await town.run(400);
    town.apply({ ...second, annotations: shared });
    await town.run(200);
    town.restart();
    await town.run(300);
    expect([opened(town), town.cloud.world.loadBalancers.size]).toEqual([['30080-32100'], 2]);
    await town.run(1200);
    expect([opened(town), town.cloud.world.loadBalancers.size]).toEqual([['30080-31081'], 1]);
  });
});

test('after a restart, too, rules go that nothing needs, with the security group of the cluster in the end', async () => {
  const town = new ProviderFixture();
  const a = town.apply(first);
  town.apply(second);
  await town.run(400);
  town.restart();
  town.delete(b);
  await town.run(400);
  expect(opened(town)).toEqual(['30080-30080']);
  town.restart();
  town.delete(a);
  await town.run(400);
  expect([opened(town), [...town.cloud.world.securityGroups.values()].filter(({ GroupName }) => GroupName.startsWith('herald'))]).toEqual([
    [],
    [],
  ]);
});

test('where the account cannot be listed, rules are opened, none goes, and it is tried again', async () => {
  const town = new ProviderFixture();
  town.apply(first);
  town.apply(second);
  await town.run(400);
  town.delete(b);
  town.restart();
  town.cloud.fault = ({ operation, input }) =>
    operation === 'elbv2:DescribeTargetGroups' && JSON.stringify(input) === '{}' ? { kind: 'error', code: 'denied' } : undefined;
  town.apply({ name: 'c', ports: ['http:80/TCP@32000'] });
  await town.run(900);
  expect(opened(town)).toEqual(['30080-31081']);
  town.cloud.fault = () => undefined;
  await town.run(900);
  expect(opened(town)).toEqual(['30080-32000']);
});
