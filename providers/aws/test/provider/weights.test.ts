import { beforeEach, describe, expect, test } from 'vitest';
import { forwardingOf } from '../../../../providers/aws/cloud/forwarding.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import { service, slice } from '../../../../test/unit/decisions/fixtures.ts';
import { addAlb } from '../moto/fake/albs.ts';
import { configWith, policy } from '../support/policies.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';
import { acmCertificate } from '../support/stack-fixture.ts';

const name = 'service.beta.kubernetes.io/actions';
const canary = { serviceName: 'canary', servicePort: 8080 };
const pods = { 'nlb-target-type': 'ip' };

let fixture: ProviderFixture;

beforeEach(() => {
  fixture = new ProviderFixture();
  fixture.snapshot.upsert(service({ name: 'canary', type: 'NodePort', ports: ['http:8080/TCP@31080', 'dns:53/UDP@31053'] }));
});

/** The JSON of the annotation. `config` overrides. */
function action(weight: number, targetGroups: readonly object[], config: object = {}): string {
  return JSON.stringify({ type: 'forward', forwardConfig: { baseServiceWeight: weight, targetGroups, ...config } });
}

function apply(json: string | undefined, annotations: Readonly<Record<string, string>> = {}, member = 'TCP-80'): ServiceKey {
  const weights = json === undefined ? {} : { [`${name}.${member}`]: json };
  return fixture.apply({ name: 'web', ports: ['http:80/TCP@30080'], annotations: { ...weights, ...annotations } });
}

const nameOf = (arn: string): string => {
  const tag = fixture.cloud.world.tags.get(arn)?.get('herald.dev/resource') ?? arn;
  return tag.replace('target-group:default/', '');
};

/** What each listener does: "80: web:80/TCP 90, web:80/TCP+canary:8080 10, sticky". */
function listeners(): string[] {
  return [...fixture.cloud.world.listeners.values()].map(({ value }) => {
    const { groups, isSticky } = forwardingOf(value);
    const shares = [...groups].map(([arn, weight]) => `${nameOf(arn)} ${weight}`).toSorted();
    return `${value.Port}: ${[...shares, ...(isSticky ? ['sticky'] : [])].join(', ')}`;
  });
}

/** The registered targets of each target group. */
function targets(): Record<string, string[]> {
  return Object.fromEntries(
    [...fixture.cloud.world.targetGroups].map(([arn, group]) => [
      nameOf(arn),
      [...group.targets.values()].flatMap(({ target, drainingSince }) =>
        drainingSince === undefined ? [`${target.Id}:${target.Port}`] : [],
      ),
    ]),
  );
}

/** The writes in so many seconds, without those of node rules. */
async function writesOf(seconds: number): Promise<string[]> {
  const before = fixture.cloud.writes.length;
  await fixture.run(seconds);
  const writes = fixture.cloud.writes.slice(before).map(({ operation }) => operation.replace('elbv2:', ''));
  return writes.filter((one) => !one.endsWith('SecurityGroupIngress'));
}

function failure(key: ServiceKey): string {
  const wrong = fixture.results.get(key)?.reason;
  return wrong === undefined ? '' : `${wrong.code}: ${reasonText(wrong)}`;
}

const both = '80: web:80/TCP 90, web:80/TCP+canary:8080 10';

describe('a listener with weights', () => {
  test('sends to its own Service and to another one of the namespace, and everything goes with the Service', async () => {
    const key = apply(action(90, [{ ...canary, weight: 10 }]));
    await fixture.run(600);
    expect([failure(key), listeners()]).toEqual(['', [both]]);
    const nodes = ['i-00000000', 'i-00000001', 'i-00000002'];
    expect(targets()).toEqual({
      'web:80/TCP': nodes.map((id) => `${id}:30080`),
      'web:80/TCP+canary:8080': nodes.map((id) => `${id}:31080`),
    });
    expect(await writesOf(900)).toEqual([]);
    fixture.delete(key);
    await fixture.run(900);
    expect([fixture.cloud.world.loadBalancers.size, fixture.cloud.world.targetGroups.size]).toEqual([0, 0]);
  });

  test('opens nodes to the load balancer on the ports of both Services', async () => {
    apply(action(90, [{ ...canary, weight: 10 }]));
    await fixture.run(600);
    const rules = fixture.cloud.world.securityGroups.get('sg-00000aaa')?.IpPermissions ?? [];
    expect(rules.map(({ FromPort, ToPort }) => [FromPort, ToPort])).toEqual([[30_080, 31_080]]);
  });

  test('changes weights and stickiness by one call', async () => {
    apply(action(90, [{ ...canary, weight: 10 }]));
    await fixture.run(600);
    const before = [...fixture.cloud.world.targetGroups.keys()];
    apply(action(50, [{ ...canary, weight: 50 }], { targetGroupStickinessConfig: { enabled: true } }));
    expect(await writesOf(600)).toEqual(['ModifyListener']);
    expect(listeners()).toEqual(['80: web:80/TCP 50, web:80/TCP+canary:8080 50, sticky']);
    expect([...fixture.cloud.world.targetGroups.keys()]).toEqual(before);
    apply(action(0, [{ ...canary, weight: 1 }]));
    expect(await writesOf(600)).toEqual(['ModifyListener']);
    expect(listeners()).toEqual(['80: web:80/TCP 0, web:80/TCP+canary:8080 1']);
  });

  test('starts another target group with weight 0 until AWS has checked it, and drops it before deletion', async () => {
    apply(undefined);
    await fixture.run(600);
    apply(action(90, [{ ...canary, weight: 10 }]));
    expect(await writesOf(10)).toEqual(['CreateTargetGroup', 'RegisterTargets', 'ModifyListener']);
    expect(listeners()).toEqual(['80: web:80/TCP 1, web:80/TCP+canary:8080 0']);
    expect(await writesOf(600)).toEqual(['ModifyListener']);
    expect(listeners()).toEqual([both]);
    apply(undefined);
    expect(await writesOf(600)).toEqual(['ModifyListener', 'DeleteTargetGroup']);
    expect(listeners()).toEqual(['80: web:80/TCP 1']);
  });

  test('keeps its weights when the other Service has no healthy target', async () => {
    fixture.snapshot.upsert(slice({ service: 'default/web', ports: ['http:80'], endpoints: ['10.0.1.5@node-0'] }));
    fixture.snapshot.upsert(slice({ service: 'default/canary', ports: ['http:8080'], endpoints: ['10.0.1.6@node-0'] }));
    fixture.cloud.world.unhealthy.add('10.0.1.6');
    apply(undefined, pods);
    await fixture.run(600);
    apply(action(90, [{ ...canary, weight: 10 }]), pods);
    await fixture.run(600);
    expect(listeners()).toEqual([both]);
  });

  test('follows the pods and the ports of the other Service', async () => {
    fixture.snapshot.upsert(slice({ service: 'default/web', ports: ['http:80'], endpoints: ['10.0.1.5@node-0'] }));
    const of = (address: string) => slice({ service: 'default/canary', ports: ['http:8080'], endpoints: [`${address}@node-0`] });
    fixture.snapshot.upsert(of('10.0.1.6'));
    apply(action(90, [{ ...canary, weight: 10 }]), pods);
    await fixture.run(600);
    fixture.snapshot.upsert(of('10.0.1.7'));
    const change = { kind: 'EndpointSlice', key: 'default/canary-1', services: ['default/canary'] } as const;
    expect([...fixture.provider.affected([change], fixture.snapshot)]).toEqual(['default/web']);
    await fixture.run(600);
    expect(targets()).toEqual({ 'web:80/TCP': ['10.0.1.5:80'], 'web:80/TCP+canary:8080': ['10.0.1.7:8080'] });
    expect([...fixture.provider.affected([{ kind: 'Service', key: 'default/canary' }], fixture.snapshot)]).toEqual(['default/web']);
  });

  test('follows the pods of the other Service also while its own Service has an error', async () => {
    const of = (address: string) => slice({ service: 'default/canary', ports: ['http:8080'], endpoints: [`${address}@node-0`] });
    fixture.snapshot.upsert(of('10.0.1.6'));
    apply(action(90, [{ ...canary, weight: 10 }]), pods);
    await fixture.run(600);
    fixture.snapshot.upsert(of('10.0.1.7'));
    const key = apply(action(90, [{ ...canary, weight: 10 }]), { ...pods, scheme: 'public' });
    await fixture.run(600);
    expect(failure(key)).toContain('AwsAnnotationInvalid');
    expect(targets()).toMatchObject({ 'web:80/TCP+canary:8080': ['10.0.1.7:8080'] });
  });

  test('is repaired when the weights were changed in AWS', async () => {
    apply(action(90, [{ ...canary, weight: 10 }]));
    await fixture.run(600);
    for (const { value } of fixture.cloud.world.listeners.values()) {
      const [one] = value.DefaultActions;
      const all = (one?.ForwardConfig?.TargetGroups ?? []).map((group) => ({ ...group, Weight: 5 }));
      value.DefaultActions = [{ Type: 'forward', ForwardConfig: { TargetGroups: all } }];
    }
    fixture.restart();
    expect(await writesOf(600)).toEqual(['ModifyListener']);
    expect(listeners()).toEqual([both]);
  });

  test('starts when the other Service appears, and does not change when that disappears', async () => {
    const other = service({ name: 'late', type: 'NodePort', ports: ['http:8080/TCP@31081'] });
    const key = apply(action(90, [{ ...canary, serviceName: 'late', weight: 10 }]));
    await fixture.run(60);
    expect(failure(key)).toContain(`AwsWeightsImpossible: annotation ${name}.TCP-80: Service default/late does not exist`);
    expect(fixture.cloud.writes).toEqual([]);
    fixture.snapshot.upsert(other);
    fixture.provider.affected([{ kind: 'Service', key: 'default/late' }], fixture.snapshot);
    await fixture.run(600);
    expect(listeners()).toEqual(['80: web:80/TCP 90, web:80/TCP+late:8080 10']);
    fixture.snapshot.remove('Service', 'default/late');
    fixture.provider.affected([{ kind: 'Service', key: 'default/late' }], fixture.snapshot);
    expect(await writesOf(600)).toEqual([]);
    expect(failure(key)).toContain('Service default/late does not exist');
  });

  test('changes its protocol together with all its target groups', async () => {
    apply(action(90, [{ ...canary, weight: 10 }]));
    await fixture.run(600);
    fixture.snapshot.upsert(service({ name: 'canary', type: 'NodePort', ports: ['http:8080/TCP@31080', 'udp:8080/UDP@31080'] }));
    const annotations = { [`${name}.TCP_UDP-80`]: action(90, [{ ...canary, weight: 10 }]) };
    fixture.apply({ name: 'web', ports: ['http:80/TCP@30080', 'udp:80/UDP@30080'], annotations });
    await fixture.run(900);
    expect(listeners()).toEqual(['80: web:80/TCP_UDP 90, web:80/TCP_UDP+canary:8080 10']);
    expect(Object.keys(targets())).toEqual(['web:80/TCP_UDP', 'web:80/TCP_UDP+canary:8080']);
  });

  test('is shown by a preview', async () => {
    const key = apply(action(90, [{ ...canary, weight: 10 }], { targetGroupStickinessConfig: { enabled: true } }));
    const first = await fixture.provider.preview(key, fixture.snapshot);
    expect(first.desired).toContain(
      'listener TCP 80: TCP to 3 targets of type instance with weight 90, 3 targets of canary:8080 with weight 10, sticky',
    );
    await fixture.run(600);
    const { observed, actions } = await fixture.provider.preview(key, fixture.snapshot);
    expect(observed.find((line) => line.startsWith('listener'))).toMatch(
      /^listener TCP 80: k8s-default-web-\w+ with weight 90, k8s-default-web-\w+ with weight 10, sticky$/,
    );
    expect(actions).toEqual([]);
  });
});

describe('an action that is impossible', () => {
  const gone = 'arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/gone/0123456789abcdef';

  test.each([
    ['is no JSON', '{', 'is no JSON'],
    ['has another type', JSON.stringify({ type: 'redirect' }), 'has the type "redirect", and only "forward" is possible'],
    ['has an unknown field', action(1, [{ ...canary, wieght: 1 }]), 'has the unknown field wieght in targetGroups[0]'],
    ['lacks a weight', action(1, [canary]), 'has no number from 0 to 999 in targetGroups[0].weight'],
    ['has a weight above 999', action(1000, [{ ...canary, weight: 1 }]), 'has no number from 0 to 999 in forwardConfig.baseServiceWeight'],
    ['has only weights of 0', action(0, [{ ...canary, weight: 0 }]), 'has only weights of 0'],
    ['names neither Service nor ARN', action(1, [{ weight: 1 }]), 'needs either serviceName or targetGroupARN in targetGroups[0]'],
    [
      'names something twice',
      action(
        1,
        [1, 2].map((weight) => ({ ...canary, weight })),
      ),
      'names canary:8080 twice',
    ],
    [
      'has no ARN',
      action(1, [{ targetGroupARN: 'shop', weight: 1 }]),
      'has no ARN of a target group in targetGroups[0].targetGroupARN: "shop"',
    ],
    [
      'names an ARN that does not exist',
      action(1, [{ targetGroupARN: gone, weight: 1 }]),
      `target group ${gone} does not exist in us-east-1`,
    ],
    ['names an unknown Service', action(1, [{ ...canary, serviceName: 'no', weight: 1 }]), 'Service default/no does not exist'],
    ['names an unknown port', action(1, [{ ...canary, servicePort: 'web', weight: 1 }]), 'Service default/canary has no port web with TCP'],
    ['names a port of another protocol', action(1, [{ ...canary, servicePort: 53, weight: 1 }]), 'has no port 53 with TCP'],
    [
      'has too many',
      action(
        1,
        [1, 2, 3, 4, 5].map((n) => ({ ...canary, serviceName: `s${n}`, weight: 1 })),
      ),
      'at most 5 target groups',
    ],
    ['decrypts without TLS', action(1, [{ ...canary, weight: 1, decrypt: true }]), 'decrypt is possible on a TLS listener only'],
  ])('is an error that names the annotation, and nothing is made: it %s', async (_, json, text) => {
    const key = apply(json);
    await fixture.run(60);
    expect(failure(key)).toContain(`annotation ${name}.TCP-80`);
    expect(failure(key)).toContain(text);
    expect(fixture.cloud.writes).toEqual([]);
  });

  test.each([
    ['a port that is no listener', {}, 'UDP-80', 'belongs to no listener of the Service (TCP-80)'],
    ['a sticky TLS listener', { 'ssl-cert': acmCertificate }, 'TLS-80', 'AWS allows no targetGroupStickinessConfig on a TLS listener'],
    [
      'a TLS listener with targets of two protocols',
      { 'ssl-cert': acmCertificate, 'backend-protocol': 'ssl' },
      'TLS-80',
      'decrypt of canary makes its targets TCP, but those of the Service itself are TLS',
    ],
  ])('is one for %s', async (_, annotations, member, text) => {
    const sticky = { targetGroupStickinessConfig: { enabled: true } };
    const key = apply(
      action(1, [{ ...canary, weight: 1, ...(member === 'TLS-80' ? { decrypt: true } : {}) }], sticky),
      annotations,
      member,
    );
    await fixture.run(60);
    expect(failure(key)).toContain(text);
    expect(fixture.cloud.writes).toEqual([]);
  });

  test('is one for a Service without a NodePort when nodes are the targets', async () => {
    fixture.snapshot.upsert(service({ name: 'inner', type: 'ClusterIP', ports: ['http:8080/TCP'] }));
    const key = apply(action(1, [{ ...canary, serviceName: 'inner', weight: 1 }]));
    await fixture.run(60);
    expect(failure(key)).toContain('port 8080 of Service default/inner has no NodePort');
  });

  test('is one for a port that sends to an ALB', async () => {
    addAlb(fixture.cloud.world, 'edge', { 80: 'HTTP' });
    const key = apply(action(1, [{ ...canary, weight: 1 }]), { 'herald.dev/aws-alb-target': 'edge' });
    await fixture.run(60);
    expect(failure(key)).toContain('the port sends to an ALB, which gets all connections');
    expect(fixture.cloud.writes).toEqual([]);
  });

  test('is one for sticky target groups without sticky weights', async () => {
    const key = apply(action(1, [{ ...canary, weight: 1 }]), { 'target-group-attributes': 'stickiness.enabled=true' });
    await fixture.run(60);
    expect(failure(key)).toContain('AWS requires targetGroupStickinessConfig');
  });
});

describe('an existing target group', () => {
  const arn = 'arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/legacy/0123456789abcdef';

  function legacy(changes: object = {}): void {
    const value = {
      TargetGroupArn: arn,
      TargetGroupName: 'legacy',
      Protocol: 'TCP',
      Port: 80,
      VpcId: 'vpc-1',
      TargetType: 'ip',
      IpAddressType: 'ipv4',
      LoadBalancerArns: [],
      ...changes,
    } as const;
    fixture.cloud.world.targetGroups.set(arn, { value, input: '', attributes: new Map(), targets: new Map() });
    fixture.cloud.world.tags.set(arn, new Map([['herald.dev/namespaces', 'shop default']]));
  }

  test.each([
    ['no tag', []],
    ['a tag for other namespaces', [['herald.dev/namespaces', 'shop default-2']]],
    ['a tag of other clusters', [['herald.dev/multi-cluster', 'true']]],
    ['a tag of a Service of another namespace', [['herald.dev/service', 'shop/default']]],
  ] as const)('with %s needs the consent of its owner, also without a policy', async (_, tags) => {
    legacy();
    fixture.cloud.world.tags.set(arn, new Map(tags));
    const key = apply(action(90, [{ targetGroupARN: arn, weight: 10 }]));
    await fixture.run(60);
    expect(failure(key)).toContain(`target group ${arn} is not shared with namespace default by its owner`);
    expect(fixture.cloud.writes).toEqual([]);
    fixture.cloud.world.tags.set(arn, new Map([['herald.dev/namespaces', 'default']]));
    await fixture.run(900);
    expect([failure(key), listeners()]).toEqual(['', [`80: ${arn} 10, web:80/TCP 90`]]);
  });

  test('of another region is named, and the group beside it is read nevertheless', async () => {
    legacy();
    const far = arn.replace('us-east-1', 'eu-west-1');
    const key = apply(
      action(90, [
        { targetGroupARN: arn, weight: 5 },
        { targetGroupARN: far, weight: 5 },
      ]),
    );
    await fixture.run(60);
    expect(failure(key)).toContain(`target group ${far} does not exist in us-east-1`);
    expect(failure(key)).not.toContain(arn);
    expect(fixture.cloud.writes).toEqual([]);
  });

  test('takes its share, and is neither changed nor deleted', async () => {
    legacy();
    const key = apply(action(90, [{ targetGroupARN: arn, weight: 10 }]));
    await fixture.run(600);
    expect([failure(key), listeners()]).toEqual(['', [`80: ${arn} 10, web:80/TCP 90`]]);
    fixture.delete(key);
    await fixture.run(900);
    expect([...fixture.cloud.world.targetGroups.keys()]).toEqual([arn]);
    expect(JSON.stringify(fixture.cloud.writes.filter(({ operation }) => !operation.endsWith('Listener')))).not.toContain(arn);
  });

  test.each([
    ['of another VPC', { VpcId: 'vpc-2' }, 'is in vpc-2, and the NLB is in vpc-1'],
    ['of another protocol', { Protocol: 'UDP' }, 'has protocol UDP, and the listener needs TCP'],
    ['of another IP family', { IpAddressType: 'ipv6' }, 'is ipv6, and the targets of the Service are ipv4'],
  ])('%s is an error, and nothing is made', async (_, changes, text) => {
    legacy(changes);
    const key = apply(action(90, [{ targetGroupARN: arn, weight: 10 }]));
    await fixture.run(60);
    expect(failure(key)).toContain(`target group ${arn} ${text}`);
    expect(fixture.cloud.writes).toEqual([]);
  });

  test('that serves another load balancer is an error', async () => {
    legacy();
    apply(action(90, [{ targetGroupARN: arn, weight: 10 }]));
    await fixture.run(600);
    const weights = { [`${name}.TCP-80`]: action(90, [{ targetGroupARN: arn, weight: 10 }]) };
    const other = fixture.apply({ name: 'api', ports: ['http:80/TCP@30081'], annotations: weights });
    await fixture.run(60);
    expect(failure(other)).toContain(
      `target group ${arn} belongs to arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/`,
    );
  });

  test('needs the permission of the policies of the namespace', async () => {
    legacy();
    fixture.snapshot.upsert(configWith(policy({ schemes: ['internal'] })));
    const key = apply(action(90, [{ targetGroupARN: arn, weight: 10 }]));
    await fixture.run(60);
    expect([failure(key).startsWith('AwsNotAllowed'), failure(key).includes(arn), fixture.cloud.writes]).toEqual([true, true, []]);
    fixture.snapshot.upsert(configWith(policy({ schemes: ['internal'], targetGroups: [arn] })));
    fixture.provider.affected([{ kind: 'HeraldConfig', key: 'default' }], fixture.snapshot);
    await fixture.run(600);
    expect(listeners()).toEqual([`80: ${arn} 10, web:80/TCP 90`]);
  });
});
