import { expect, test } from 'vitest';
import { remedyText, stableText } from '../../../../src/model/reasons.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const ports = ['http:80/TCP@30080'];
const place = { scheme: 'internet-facing', subnets: 'subnet-public-0,subnet-public-1' };
const addresses = { 'eip-allocations': 'eipalloc-1,eipalloc-2' };
const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };

/** The Elastic IPs of the load balancer that the Service publishes. */
function published({ cloud: { world }, services }: ProviderFixture): string[] {
  const [{ hostname = '' } = {}] = services.get('default/web')?.ingress ?? [];
  const balancer = [...world.loadBalancers.values()].find(({ value }) => value.DNSName.toLowerCase() === hostname);
  const zones = balancer?.value.AvailabilityZones ?? [];
  return zones
    .flatMap(({ LoadBalancerAddresses = [] }) => LoadBalancerAddresses.flatMap(({ AllocationId }) => AllocationId ?? []))
    .toSorted();
}

test('Elastic IPs that the former load balancer of a Service has: the condition has the order of the move, which works', async () => {
  const fixture = new ProviderFixture();
  const { world } = fixture.cloud;
  const key = fixture.apply({ name: 'web', ports, annotations: { ...place, ...addresses } });
  await fixture.run(600);
  const [former] = [...world.loadBalancers.values()].map(({ value }) => value.LoadBalancerName);
  // As AWS shows them.
  const ofFormer = { NetworkInterfaceId: 'eni-1', Description: `ELB net/${former}/0123456789abcdef`, VpcId: 'vpc-1', Groups: [] };
  world.podInterfaces.push({ ...ofFormer, PrivateIpAddresses: [], Ipv6Addresses: [] });
  for (const id of ['eipalloc-1', 'eipalloc-2']) world.associated.set(id, 'eni-1');
  fixture.apply({ name: 'web', ports, annotations: { ...place, ...addresses, ...shared } });
  await fixture.run(600);
  const problem = fixture.results.get(key)?.reason;
  if (problem === undefined) expect.unreachable('there is no reason');
  expect(stableText(problem)).toContain(`eipalloc-1 is in use by network interface ELB net/${former}/`);
  expect(remedyText(problem)).toMatch(
    new RegExp(`^${former} serves the Service .*remove the annotation .*wait until ${former} is deleted`),
  );
  expect(published(fixture)).toEqual(['eipalloc-1', 'eipalloc-2']);
  fixture.apply({ name: 'web', ports, annotations: { ...place, ...shared } });
  await fixture.run(1800);
  expect([world.loadBalancers.size, published(fixture)]).toEqual([1, []]);
  world.associated.clear();
  fixture.apply({ name: 'web', ports, annotations: { ...place, ...addresses, ...shared } });
  await fixture.run(3600);
  expect([fixture.results.get(key)?.reason, published(fixture)]).toEqual([undefined, ['eipalloc-1', 'eipalloc-2']]);
});
