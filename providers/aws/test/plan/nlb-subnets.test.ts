import { describe, expect, test } from 'vitest';
import { stackOf, type Member } from '../../../../providers/aws/desire/stack.ts';
import { StackFixture, awsMember, node } from '../support/stack-fixture.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const stack = stackOf(awsMember('nlb', web));

function facing(subnets: string, eips?: string, more: Record<string, string> = {}): Member {
  const addresses: Record<string, string> = eips === undefined ? {} : { 'eip-allocations': eips };
  return awsMember('nlb', { ...web, annotations: { scheme: 'internet-facing', subnets, ...addresses, ...more } });
}

function internal(subnets: string, addresses: string): Member {
  return awsMember('nlb', { ...web, annotations: { scheme: 'internal', subnets, 'private-ipv4-addresses': addresses } });
}

/** The zones as sorted texts: "subnet-public-0 eipalloc-1". */
function addressesOf({ world }: StackFixture): string[] {
  const zones = [...world.loadBalancers.values()].flatMap(({ value }) => value.AvailabilityZones);
  return zones
    .map(({ SubnetId, LoadBalancerAddresses = [] }) =>
      [
        SubnetId,
        ...LoadBalancerAddresses.flatMap(
          ({ AllocationId, PrivateIPv4Address, IPv6Address }) => AllocationId ?? PrivateIPv4Address ?? IPv6Address ?? [],
        ),
      ].join(' '),
    )
    .toSorted();
}

/** Returns a function that tells the smallest number of zones at any time. */
function watchZones({ cloud, world }: StackFixture): () => number {
  let fewest = Infinity;
  cloud.fault = () => {
    for (const { value } of world.loadBalancers.values()) fewest = Math.min(fewest, value.AvailabilityZones.length);
    return undefined;
  };
  return () => fewest;
}

const two = 'subnet-public-0,subnet-public-1';

describe('changes of subnets and addresses', () => {
  test.each([
    [
      'one of two Elastic IPs changes',
      facing(two, 'eipalloc-1,eipalloc-2'),
      facing(two, 'eipalloc-3,eipalloc-2'),
      ['subnet-public-0 eipalloc-3', 'subnet-public-1 eipalloc-2'],
    ],
    [
      'Elastic IPs are assigned for the first time',
      facing(two),
      facing(two, 'eipalloc-1,eipalloc-2'),
      ['subnet-public-0 eipalloc-1', 'subnet-public-1 eipalloc-2'],
    ],
    [
      'two Elastic IPs are swapped beside a third zone',
      facing(`${two},subnet-public-2`, 'eipalloc-1,eipalloc-2,eipalloc-3'),
      facing(`${two},subnet-public-2`, 'eipalloc-2,eipalloc-1,eipalloc-3'),
      ['subnet-public-0 eipalloc-2', 'subnet-public-1 eipalloc-1', 'subnet-public-2 eipalloc-3'],
    ],
    [
      'two zones swap their Elastic IPs',
      facing(two, 'eipalloc-1,eipalloc-2'),
      facing(two, 'eipalloc-2,eipalloc-1'),
      ['subnet-public-0 eipalloc-2', 'subnet-public-1 eipalloc-1'],
    ],
    [
      'an Elastic IP moves to another existing zone',
      facing(two, 'eipalloc-1,eipalloc-2'),
      facing(two, 'eipalloc-3,eipalloc-1'),
      ['subnet-public-0 eipalloc-3', 'subnet-public-1 eipalloc-1'],
    ],
    [
      'an Elastic IP moves from a zone to a new one',
      facing(two, 'eipalloc-1,eipalloc-2'),
      facing('subnet-public-1,subnet-public-2', 'eipalloc-2,eipalloc-1'),
      ['subnet-public-1 eipalloc-2', 'subnet-public-2 eipalloc-1'],
    ],
    [
      'an Elastic IP moves to a new zone, and a second zone is added',
      facing('subnet-public-0', 'eipalloc-1'),
      facing('subnet-public-1,subnet-public-2', 'eipalloc-1,eipalloc-2'),
      ['subnet-public-1 eipalloc-1', 'subnet-public-2 eipalloc-2'],
    ],
    [
      'all private addresses change',
      internal('subnet-private-0,subnet-private-1', '10.0.100.10,10.0.101.10'),
      internal('subnet-private-0,subnet-private-1', '10.0.100.20,10.0.101.20'),
      ['subnet-private-0 10.0.100.20', 'subnet-private-1 10.0.101.20'],
    ],
  ])('%s: zones change one after the other, and one always serves', async (_, before, after, expected) => {
    const account = new StackFixture();
    await account.settle(stack, [before]);
    const [arn] = account.world.loadBalancers.keys();
    const fewest = watchZones(account);
    const { errors } = await account.settle(stack, [after]);
    expect([...errors]).toEqual([]);
    expect(addressesOf(account)).toEqual(expected);
    expect([...account.world.loadBalancers.keys()]).toEqual([arn]);
    expect(fewest()).toBeGreaterThan(0);
  });

  test('a change of the only zone is reported as impossible until a further zone is added', async () => {
    const account = new StackFixture();
    await account.settle(stack, [facing('subnet-public-0', 'eipalloc-1')]);
    const had = addressesOf(account);
    const writes = account.cloud.writes.length;
    const { errors } = await account.reconcile(stack, [facing('subnet-public-0', 'eipalloc-2')]);
    expect(errors.get('')?.[0]).toMatchObject({
      code: 'AwsAddressesFixed',
      details: { subnet: 'subnet-public-0', wanted: 'eipalloc-2', present: 'eipalloc-1' },
    });
    expect([account.cloud.writes.length, addressesOf(account)]).toEqual([writes, had]);
    await account.settle(stack, [facing(two, 'eipalloc-2,eipalloc-3')]);
    expect(addressesOf(account)).toEqual(['subnet-public-0 eipalloc-2', 'subnet-public-1 eipalloc-3']);
  });

  test('both subnets of two zones: zones change one after the other', async () => {
    const account = new StackFixture();
    for (const index of [0, 1]) {
      const other = account.world.subnets.get(`subnet-public-${index}`);
      if (other !== undefined) account.world.subnets.set(`subnet-public-${index}9`, { ...other, SubnetId: `subnet-public-${index}9` });
    }
    await account.settle(stack, [facing(two)]);
    const fewest = watchZones(account);
    await account.settle(stack, [facing('subnet-public-09,subnet-public-19')]);
    expect(addressesOf(account)).toEqual(['subnet-public-09', 'subnet-public-19']);
    expect(fewest()).toBeGreaterThan(0);
  });

  test('addresses stay while no other zone has healthy targets, and the wait is reported', async () => {
    const account = new StackFixture();
    account.nodes = account.nodes.slice(0, 1);
    await account.settle(stack, [facing(two, 'eipalloc-1,eipalloc-2')]);
    const other = facing(two, 'eipalloc-3,eipalloc-2');
    const { plan } = await account.reconcile(stack, [other]);
    expect([plan.actions, plan.waits.map((wait) => wait.for)]).toEqual([
      [],
      ['healthy targets in the remaining zones before others are removed'],
    ]);
    account.nodes = [...account.nodes, node(1)];
    await account.settle(stack, [other]);
    expect(addressesOf(account)).toEqual(['subnet-public-0 eipalloc-3', 'subnet-public-1 eipalloc-2']);
  });

  test('addresses change zone by zone when the zone that stays has no targets', async () => {
    const account = new StackFixture();
    for (const eip of ['eipalloc-4', 'eipalloc-5']) account.world.allocations.add(eip);
    account.nodes = account.nodes.slice(0, 2);
    const three = `${two},subnet-public-2`;
    await account.settle(stack, [facing(three, 'eipalloc-1,eipalloc-2,eipalloc-3')]);
    await account.settle(stack, [facing(three, 'eipalloc-4,eipalloc-5,eipalloc-3')]);
    expect(addressesOf(account)).toEqual(['subnet-public-0 eipalloc-4', 'subnet-public-1 eipalloc-5', 'subnet-public-2 eipalloc-3']);
  });

  test('addresses stay when the only zone that could remain has no healthy targets', async () => {
    const account = new StackFixture();
    account.nodes = [node(1)];
    await account.settle(stack, [facing(two, 'eipalloc-1,eipalloc-2')]);
    const { plan } = await account.reconcile(stack, [facing(two, 'eipalloc-2,eipalloc-3')]);
    expect([plan.actions, plan.waits.map((wait) => wait.for)]).toEqual([
      [],
      ['healthy targets in the remaining zones before others are removed'],
    ]);
  });

  test('an Elastic IP cannot move from the only zone to a new one, and an error says so', async () => {
    const account = new StackFixture();
    await account.settle(stack, [facing('subnet-public-0', 'eipalloc-1')]);
    const { plan, errors } = await account.reconcile(stack, [facing('subnet-public-1', 'eipalloc-1')]);
    expect(plan.actions).toEqual([]);
    expect(errors.get('')?.[0]).toMatchObject({ code: 'AwsSubnetUnusable', details: { subnet: 'subnet-public-1' } });
  });

  test('addresses stay when annotations no longer name them', async () => {
    const account = new StackFixture();
    await account.settle(stack, [facing(two, 'eipalloc-1,eipalloc-2')]);
    const writes = account.cloud.writes.length;
    await account.settle(stack, [facing(two)]);
    expect([account.cloud.writes.length, addressesOf(account)]).toEqual([
      writes,
      ['subnet-public-0 eipalloc-1', 'subnet-public-1 eipalloc-2'],
    ]);
  });

  test('IPv6 addresses are set together with dual stack in one call', async () => {
    const account = new StackFixture();
    await account.settle(stack, [facing(two, 'eipalloc-1,eipalloc-2')]);
    const six = { 'ip-address-type': 'dualstack', 'ipv6-addresses': '2001:db8::10,2001:db8:0:1::10' };
    const before = account.cloud.writes.length;
    await account.settle(stack, [facing(two, 'eipalloc-1,eipalloc-2', six)]);
    const [balancer] = account.world.loadBalancers.values();
    expect(balancer?.value.AvailabilityZones.map(({ LoadBalancerAddresses }) => LoadBalancerAddresses)).toEqual([
      [{ AllocationId: 'eipalloc-1', IPv6Address: '2001:db8::10' }],
      [{ AllocationId: 'eipalloc-2', IPv6Address: '2001:db8:0:1::10' }],
    ]);
    const types = account.cloud.writes.slice(before).filter(({ operation }) => operation !== 'ec2:AuthorizeSecurityGroupIngress');
    expect(types.map(({ operation }) => operation)).toEqual(['elbv2:SetSubnets']);
  });
});

describe('source NAT for IPv6', () => {
  const dual = { 'ip-address-type': 'dualstack' };
  const nat = { ...dual, 'enable-prefix-for-ipv6-source-nat': 'on' };
  const of = ({ world }: StackFixture): unknown =>
    [...world.loadBalancers.values()].map(({ value }) => [value.IpAddressType, value.EnablePrefixForIpv6SourceNat]);

  test('source NAT is switched on after dual stack and off before it', async () => {
    const account = new StackFixture();
    await account.settle(stack, [facing(two)]);
    await account.settle(stack, [facing(two, undefined, nat)]);
    expect(of(account)).toEqual([['dualstack', 'on']]);
    await account.settle(stack, [facing(two)]);
    expect(of(account)).toEqual([['ipv4', 'off']]);
  });

  test('named prefixes are set, also when source NAT is already on', async () => {
    const account = new StackFixture();
    const named = { ...nat, 'source-nat-ipv6-prefixes': '2001:db8:0:0:1::/80,2001:db8:0:1:1::/80' };
    await account.settle(stack, [facing(two, undefined, nat)]);
    await account.settle(stack, [facing(two, undefined, named)]);
    const [balancer] = account.world.loadBalancers.values();
    expect(balancer?.value.AvailabilityZones.flatMap(({ SourceNatIpv6Prefixes = [] }) => SourceNatIpv6Prefixes)).toEqual([
      '2001:db8:0:0:1::/80',
      '2001:db8:0:1:1::/80',
    ]);
  });
});
