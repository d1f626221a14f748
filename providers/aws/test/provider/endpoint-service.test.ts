import { describe, expect, test } from 'vitest';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import type { FakeEndpointService } from '../moto/fake/world.ts';
import { configWith, policy } from '../support/policies.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const name = 'herald.dev/aws-endpoint-service';
const nameAnnotation = 'herald.dev/aws-endpoint-service-name';
const account = 'arn:aws:iam::210987654321:root';
const ports = ['http:80/TCP@30080'];
const annotations = { [name]: 'true', [`${name}-allowed-principals`]: account };

async function served(changes: Readonly<Record<string, string>> = {}): Promise<ProviderFixture> {
  const fixture = new ProviderFixture();
  fixture.apply({ name: 'web', ports, annotations: { ...annotations, ...changes } });
  await fixture.run(400);
  return fixture;
}

function only({ cloud }: ProviderFixture): FakeEndpointService {
  expect(cloud.world.endpointServices.size).toBe(1);
  return cloud.world.endpointServices.values().next().value as FakeEndpointService;
}

const arnOf = ({ cloud }: ProviderFixture): string => [...cloud.world.loadBalancers.keys()][0] ?? '';
const resultOf = ({ results }: ProviderFixture) => results.get('default/web');

describe('the PrivateLink endpoint service of an NLB', () => {
  test('is made for the active NLB with its settings and tags, and its name is written to the Service', async () => {
    const fixture = await served({ [`${name}-acceptance-required`]: 'false', 'additional-resource-tags': 'team=shop' });
    const { value, principals } = only(fixture);
    expect(value).toMatchObject({
      AcceptanceRequired: false,
      NetworkLoadBalancerArns: [arnOf(fixture)],
      SupportedIpAddressTypes: ['ipv4'],
    });
    expect([...principals]).toEqual([account]);
    expect(Object.fromEntries(fixture.cloud.world.tags.get(value.ServiceId) ?? [])).toMatchObject({
      'herald.dev/cluster': 'test',
      'herald.dev/stack': 'default/web',
      'herald.dev/resource': 'endpoint-service',
      team: 'shop',
    });
    expect(fixture.services.get('default/web')?.metadata.annotations[nameAnnotation]).toBe(value.ServiceName);
    expect(resultOf(fixture)).toMatchObject({ warnings: [] });
    expect(resultOf(fixture)?.reason).toBeUndefined();
  });

  test('is announced once, by the result of the reconcile that finds it', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply({ name: 'web', ports, annotations });
    const notices: string[] = [];
    for (let pass = 0; pass < 60; pass++) {
      await fixture.run(10);
      notices.push(...(fixture.results.get(key)?.notices ?? []));
    }
    const { value } = only(fixture);
    expect(new Set(notices)).toEqual(new Set([`clients in other VPCs reach it by the PrivateLink endpoint service ${value.ServiceName}`]));
    expect(resultOf(fixture)?.notices).toBeUndefined();
  });

  test('is found again by a controller without memory, and removed when no Service asks for it', async () => {
    const fixture = await served();
    const { ServiceId } = only(fixture).value;
    fixture.restart();
    await fixture.run(60);
    expect(only(fixture).value.ServiceId).toBe(ServiceId);
    fixture.apply({ name: 'web', ports });
    fixture.restart();
    await fixture.run(60);
    expect(fixture.cloud.world.endpointServices.size).toBe(0);
    expect(fixture.services.get('default/web')?.metadata.annotations[nameAnnotation]).toBeUndefined();
    expect(fixture.cloud.world.tags.get(arnOf(fixture))?.has(name)).toBe(false);
  });

  test('is repaired when another program changes it', async () => {
    const fixture = await served();
    const { value, principals } = only(fixture);
    value.AcceptanceRequired = false;
    principals.add('*').delete(account);
    fixture.cloud.world.tags.get(value.ServiceId)?.delete('herald.dev/resource');
    await fixture.run(2 * 3600);
    expect([value.AcceptanceRequired, [...principals]]).toEqual([true, [account]]);
    expect(fixture.cloud.world.tags.get(value.ServiceId)?.get('herald.dev/resource')).toBe('endpoint-service');
    expect(fixture.repairs.join('; ')).toContain('endpoint service: principals');
  });

  test('is made once when the answer to its creation is lost', async () => {
    const fixture = new ProviderFixture();
    fixture.apply({ name: 'web', ports, annotations });
    let lost = 0;
    fixture.cloud.fault = ({ operation }) =>
      operation === 'ec2:CreateVpcEndpointServiceConfiguration' && lost++ === 0 ? { kind: 'lost' } : undefined;
    await fixture.run(900);
    expect([lost, [...only(fixture).principals]]).toEqual([1, [account]]);
  });

  test('is made once when AWS lists it late', async () => {
    const fixture = new ProviderFixture();
    fixture.cloud.world.describeDelaySeconds = 20;
    fixture.apply({ name: 'web', ports, annotations });
    await fixture.run(900);
    expect([...only(fixture).principals]).toEqual([account]);
  });

  test('moves with the host name when another scheme needs another NLB', async () => {
    const fixture = await served();
    const { ServiceId } = only(fixture).value;
    const before = arnOf(fixture);
    fixture.apply({ name: 'web', ports, annotations: { ...annotations, scheme: 'internet-facing' } });
    await fixture.run(900);
    const after = arnOf(fixture);
    expect(after).not.toBe(before);
    expect(only(fixture).value).toMatchObject({ ServiceId, NetworkLoadBalancerArns: [after] });
    expect(fixture.cloud.world.loadBalancers.size).toBe(1);
  });

  test('that clients use keeps the NLB of a deleted Service, and the reason has their endpoints and the fix', async () => {
    const fixture = await served();
    const { value, connections } = only(fixture);
    const client = { VpcEndpointOwner: '210987654321', VpcEndpointState: 'available' };
    connections.push({ ...client, VpcEndpointId: 'vpce-1' }, { ...client, VpcEndpointId: 'vpce-2', VpcEndpointState: 'rejected' });
    fixture.delete('default/web');
    await fixture.run(900);
    expect([fixture.cloud.world.loadBalancers.size, fixture.services.has('default/web')]).toEqual([1, true]);
    const { reason } = resultOf(fixture) ?? {};
    expect(reason && [reasonText(reason), remedyText(reason)]).toEqual([
      `endpoint service ${value.ServiceName} cannot be deleted, because clients are connected to it: vpce-1 of account 210987654321`,
      `let their owners delete the endpoints, or reject them: aws ec2 reject-vpc-endpoint-connections --service-id ${value.ServiceId} --vpc-endpoint-ids vpce-1; Herald tries again at growing intervals of at most 10 minutes`,
    ]);
    const attempts = fixture.cloud.calls.filter(({ operation }) => operation === 'ec2:DeleteVpcEndpointServiceConfigurations').length;
    expect(attempts).toBeLessThan(10);
    connections.length = 0;
    await fixture.run(900);
    const { world } = fixture.cloud;
    expect([world.endpointServices.size, world.loadBalancers.size, fixture.services.has('default/web')]).toEqual([0, 0, false]);
  });

  test('stays without our tags when the Service disowns its load balancer', async () => {
    const fixture = await served();
    const { ServiceId } = only(fixture).value;
    fixture.apply({ name: 'web', ports, annotations: { ...annotations, 'herald.dev/aws-disown': 'true' } });
    await fixture.run(60);
    expect(only(fixture).value.ServiceId).toBe(ServiceId);
    expect([...(fixture.cloud.world.tags.get(ServiceId)?.keys() ?? [])].filter((key) => key.startsWith('herald.dev/'))).toEqual([]);
  });

  test('with a private DNS name that AWS has not verified is a warning with the TXT record', async () => {
    const fixture = await served({ [`${name}-private-dns-name`]: 'shop.example.com' });
    const { value } = only(fixture);
    const [warning] = resultOf(fixture)?.warnings ?? [];
    expect(warning && [reasonText(warning), remedyText(warning)]).toEqual([
      `private DNS name shop.example.com of endpoint service ${value.ServiceName} is not verified (pendingVerification), so clients cannot use it`,
      `add a TXT record _a1b2 with the value vpce:c3d4 to the domain, then run aws ec2 start-vpc-endpoint-service-private-dns-verification --service-id ${value.ServiceId}`,
    ]);
    value.PrivateDnsNameConfiguration = { State: 'verified' };
    await fixture.run(600);
    expect(resultOf(fixture)?.warnings).toEqual([]);
  });

  test('costs Services without one no read', async () => {
    const fixture = new ProviderFixture();
    fixture.apply({ name: 'web', ports });
    await fixture.run(24 * 3600);
    expect(fixture.cloud.calls.filter(({ operation }) => operation.includes('VpcEndpoint'))).toEqual([]);
  });

  test('appears in the preview, before and after it is made', async () => {
    const fixture = new ProviderFixture();
    const key = fixture.apply({ name: 'web', ports, annotations });
    const planned = await fixture.provider.preview(key, fixture.snapshot);
    expect(planned.desired).toContain(`endpoint service for ${account}, acceptance required`);
    await fixture.run(400);
    const { observed } = await fixture.provider.preview(key, fixture.snapshot);
    expect(observed).toContain(`endpoint service ${only(fixture).value.ServiceName}, Available, for ${account}, acceptance required`);
  });
});

describe('bad requests for an endpoint service', () => {
  test.each([
    [
      'a principal that is no ARN',
      { [`${name}-allowed-principals`]: '210987654321' },
      `annotation ${name}-allowed-principals has "210987654321", which is neither * nor the ARN of an account (arn:aws:iam::123456789012:root), a role or a user`,
    ],
    [
      'IPv6 endpoints of an NLB without IPv6',
      { [`${name}-ip-address-types`]: 'ipv4,ipv6' },
      `annotation ${name}-ip-address-types has ipv6, but the NLB is ipv4; set service.beta.kubernetes.io/aws-load-balancer-ip-address-type: dualstack`,
    ],
  ])('%s is an error, and nothing is made', async (_, wrong, text) => {
    const fixture = await served(wrong);
    const { reason } = resultOf(fixture) ?? {};
    expect(reason && reasonText(reason)).toBe(text);
    expect(fixture.cloud.writes).toEqual([]);
  });

  test('a principal that no policy allows is an error, and nothing is made', async () => {
    const fixture = new ProviderFixture();
    fixture.snapshot.upsert(configWith(policy({ principals: ['arn:aws:iam::123456789012:root'] })));
    fixture.apply({ name: 'web', ports, annotations });
    await fixture.run(60);
    expect(resultOf(fixture)?.reason).toMatchObject({ code: 'AwsNotAllowed', details: { refused: account } });
    expect(fixture.cloud.writes).toEqual([]);
  });

  test('settings of an endpoint service that is not asked for are a warning', async () => {
    const fixture = new ProviderFixture();
    fixture.apply({ name: 'web', ports, annotations: { [`${name}-acceptance-required`]: 'false' } });
    await fixture.run(400);
    expect(resultOf(fixture)?.warnings).toMatchObject([{ code: 'AwsFieldWithoutEffect' }]);
    expect(fixture.cloud.world.endpointServices.size).toBe(0);
  });
});
