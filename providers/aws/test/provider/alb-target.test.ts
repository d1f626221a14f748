import { describe, expect, test } from 'vitest';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { addAlb, addAlbListener } from '../moto/fake/albs.ts';
import type { World } from '../moto/fake/world.ts';
import { configWith, policy } from '../support/policies.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';
import type { AwsServiceLiteral } from '../support/stack-fixture.ts';

const key = 'herald.dev/aws-alb-target';
const ports = ['http:80/TCP@30080', 'https:443/TCP@30443'];

function fixtureWith(literal: Partial<AwsServiceLiteral>, prepare: (world: World) => void = () => undefined): ProviderFixture {
  const fixture = new ProviderFixture();
  prepare(fixture.cloud.world);
  fixture.apply({ name: 'web', ports, ...literal });
  return fixture;
}

const groupsOf = ({ cloud: { world } }: ProviderFixture) =>
  [...world.targetGroups.values()]
    .map(({ value, targets }) => ({
      port: value.Port,
      type: value.TargetType,
      check: value.HealthCheckProtocol,
      targets: [...targets.values()].filter(({ drainingSince }) => drainingSince === undefined).map(({ target }) => target.Id),
    }))
    .toSorted((a, b) => a.port - b.port);

const resultOf = ({ results }: ProviderFixture) => results.get('default/web');

describe('an ALB as the target of an NLB', () => {
  test('is the only target of each port, and is checked by the protocol of its listener', async () => {
    let alb = '';
    const fixture = fixtureWith(
      { annotations: { [key]: 'edge' }, externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 },
      (world) => {
        alb = addAlb(world, 'edge', { 80: 'HTTP', 443: 'HTTPS' });
      },
    );
    await fixture.run(600);
    expect(groupsOf(fixture)).toEqual([
      { port: 80, type: 'alb', check: 'HTTP', targets: [alb] },
      { port: 443, type: 'alb', check: 'HTTPS', targets: [alb] },
    ]);
    expect(resultOf(fixture)).toMatchObject({ ingress: [{ hostname: expect.any(String) }], warnings: [] });
    expect(resultOf(fixture)?.reason).toBeUndefined();
    // Nodes take no part in it.
    const rules = [...fixture.cloud.world.securityGroups.values()].find(({ GroupName }) => GroupName === 'nodes')?.IpPermissions;
    expect(rules).toEqual([]);
    const before = fixture.cloud.writes.length;
    await fixture.run(3600);
    expect(fixture.cloud.writes.length).toBe(before);
  });

  test('takes one port, named by its ARN, and nodes take the other', async () => {
    let alb = '';
    const fixture = new ProviderFixture();
    alb = addAlb(fixture.cloud.world, 'edge', { 443: 'HTTPS' });
    fixture.apply({ name: 'web', ports, annotations: { [`${key}.https`]: alb } });
    await fixture.run(600);
    expect(groupsOf(fixture)).toMatchObject([
      { port: 443, type: 'alb', targets: [alb] },
      { port: 30_080, type: 'instance', targets: ['i-00000000', 'i-00000001', 'i-00000002'] },
    ]);
  });

  test('is replaced by another ALB, or by nodes, only when those are healthy', async () => {
    const fixture = fixtureWith({ ports: ['http:80/TCP@30080'], annotations: { [key]: 'blue' } }, (world) => {
      addAlb(world, 'blue', { 80: 'HTTP' });
    });
    const green = addAlb(fixture.cloud.world, 'green', { 80: 'HTTP' });
    await fixture.run(600);
    fixture.apply({ name: 'web', ports: ['http:80/TCP@30080'], annotations: { [key]: 'green' } });
    let unserved = 0;
    const isServed = (): boolean => {
      const { world } = fixture.cloud;
      const listener = [...world.listeners.values()].find(({ value }) => value.Port === 80 && value.ListenerArn.includes('/net/'));
      const group = world.targetGroups.get(listener?.value.DefaultActions[0]?.TargetGroupArn ?? '');
      return [...(group?.targets.values() ?? [])].some(
        ({ checkedSince, drainingSince }) => drainingSince === undefined && checkedSince !== undefined && world.now() - checkedSince >= 30,
      );
    };
    for (let pass = 0; pass < 60; pass++) {
      await fixture.run(10);
      if (!isServed()) unserved++;
    }
    expect([unserved, groupsOf(fixture)]).toEqual([0, [{ port: 80, type: 'alb', check: 'HTTP', targets: [green] }]]);
    fixture.apply({ name: 'web', ports: ['http:80/TCP@30080'] });
    for (let pass = 0; pass < 60; pass++) {
      await fixture.run(10);
      if (!isServed()) unserved++;
    }
    expect([unserved, groupsOf(fixture)]).toMatchObject([0, [{ port: 30_080, type: 'instance' }]]);
  });

  test('stays the target when it loses its listener, and the reason says what is missing', async () => {
    const fixture = fixtureWith({ ports: ['http:80/TCP@30080'], annotations: { [key]: 'edge' } }, (world) => {
      addAlb(world, 'edge', { 80: 'HTTP' });
    });
    await fixture.run(600);
    const { world } = fixture.cloud;
    for (const [id, { value }] of world.listeners) if (value.ListenerArn.includes('/app/')) world.listeners.delete(id);
    const before = fixture.cloud.writes.length;
    fixture.restart();
    await fixture.run(600);
    expect([fixture.cloud.writes.length, resultOf(fixture)?.reason?.code]).toEqual([before, 'AwsAlbUnusable']);
    addAlbListener(world, [...world.loadBalancers.keys()].find((arn) => arn.includes('/app/')) ?? '', 80, 'HTTP');
    await fixture.run(900);
    expect(resultOf(fixture)?.reason).toBeUndefined();
  });

  test('appears in the preview', async () => {
    const fixture = fixtureWith({ annotations: { [key]: 'edge' } }, (world) => void addAlb(world, 'edge', { 80: 'HTTP', 443: 'HTTPS' }));
    const { desired } = await fixture.provider.preview('default/web', fixture.snapshot);
    expect(desired).toContain('listener TCP 80: TCP to load balancer edge');
  });

  test('needs no NodePort and no pods', async () => {
    const fixture = fixtureWith(
      { ports: ['http:80/TCP'], annotations: { [key]: 'edge' } },
      (world) => void addAlb(world, 'edge', { 80: 'HTTP' }),
    );
    fixture.snapshot.upsert(slice({ service: 'default/web', ports: ['http:8080'], endpoints: ['10.0.1.5'] }));
    await fixture.run(600);
    expect(resultOf(fixture)?.reason).toBeUndefined();
    expect(groupsOf(fixture)).toMatchObject([{ port: 80, type: 'alb' }]);
  });
});

const named = 'annotation herald.dev/aws-alb-target: load balancer edge';
const conflict = 'but herald.dev/aws-alb-target names edge';
const certificate = 'arn:aws:acm:us-east-1:123456789012:certificate/12345678-1234-1234-1234-123456789012';

describe('an ALB that cannot be a target is an error, and nothing is made:', () => {
  test.each<[string, Partial<AwsServiceLiteral>, (world: World) => void, string]>([
    ['none has the name', {}, () => undefined, `${named} does not exist in region us-east-1`],
    [
      'it has no listener on the port',
      {},
      (world) => void addAlb(world, 'edge', { 8080: 'HTTP' }),
      `${named} has no listener on port 80, only on 8080`,
    ],
    [
      'it is in another VPC',
      {},
      (world) => void addAlb(world, 'edge', { 80: 'HTTP' }, { vpcId: 'vpc-2' }),
      `${named} is in vpc-2, and the NLB is in vpc-1`,
    ],
    [
      'it is an NLB',
      {},
      (world) => void addAlb(world, 'edge', { 80: 'HTTP' }, { type: 'network' }),
      `${named} is no Application Load Balancer`,
    ],
    [
      'the port is UDP',
      { ports: ['dns:80/UDP@30080'] },
      (world) => void addAlb(world, 'edge', { 80: 'HTTP' }),
      `port 80 is not only TCP, which is all that an NLB sends to an ALB, ${conflict}`,
    ],
    [
      'the port has a certificate',
      { annotations: { 'ssl-cert': certificate } },
      (world) => void addAlb(world, 'edge', { 80: 'HTTP' }),
      `port 80 has a certificate, which only the ALB can have where an NLB sends to it, ${conflict}`,
    ],
    [
      'health checks are by TCP',
      { annotations: { 'healthcheck-protocol': 'tcp' } },
      (world) => void addAlb(world, 'edge', { 80: 'HTTP' }),
      'annotation service.beta.kubernetes.io/aws-load-balancer-healthcheck-protocol is TCP, but AWS checks an ALB by HTTP or HTTPS',
    ],
    [
      'the PROXY protocol is asked for',
      { annotations: { 'proxy-protocol': '*' } },
      (world) => void addAlb(world, 'edge', { 80: 'HTTP' }),
      'proxy_protocol_v2.enabled=true is impossible for port 80, which sends to an ALB',
    ],
    [
      'the annotation names a port that the Service does not have',
      { annotations: { [`${key}.8443`]: 'edge' } },
      (world) => void addAlb(world, 'edge', { 80: 'HTTP' }),
      'annotation herald.dev/aws-alb-target.8443 names "8443", which is not a port of the Service that it can apply to',
    ],
  ])('%s', async (_, literal, prepare, text) => {
    const annotations = { [key]: 'edge', ...literal.annotations };
    const fixture = fixtureWith({ ports: ['http:80/TCP@30080'], ...literal, annotations }, prepare);
    await fixture.run(60);
    const { reason } = resultOf(fixture) ?? {};
    expect(reason && [reasonText(reason), fixture.cloud.writes]).toEqual([text, []]);
  });

  test('no policy of the namespace allows it', async () => {
    const fixture = fixtureWith(
      { ports: ['http:80/TCP@30080'], annotations: { [key]: 'edge' } },
      (world) => void addAlb(world, 'edge', { 80: 'HTTP' }),
    );
    fixture.snapshot.upsert(configWith(policy({ loadBalancers: ['other'] })));
    await fixture.run(60);
    const { reason } = resultOf(fixture) ?? {};
    expect([reason?.code, fixture.cloud.writes]).toEqual(['AwsNotAllowed', []]);
    expect(reason && remedyText(reason)).toContain('write other in herald.dev/aws-alb-target');
    fixture.snapshot.upsert(
      configWith(policy({ loadBalancers: ['arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/edge/1'] })),
    );
    fixture.restart();
    await fixture.run(600);
    expect(resultOf(fixture)?.reason).toBeUndefined();
  });
});
