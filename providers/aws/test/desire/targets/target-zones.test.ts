import { expect, test } from 'vitest';
import { zonesOfTargets } from '../../../../../providers/aws/desire/targets/target-zones.ts';
import { stackOf } from '../../../../../providers/aws/desire/stack.ts';
import { slice } from '../../../../../test/unit/decisions/fixtures.ts';
import { StackFixture, awsMember, node } from '../../support/stack-fixture.ts';

const member = awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'] });
const stack = stackOf(member);

function registered({ world }: StackFixture): string[] {
  return [...world.targetGroups.values()]
    .flatMap(({ targets }) => [...targets.values()].filter(({ drainingSince }) => drainingSince === undefined))
    .map(({ target }) => target.Id)
    .toSorted();
}

test('a departing node stays a target until its replacement in the same zone is healthy', async () => {
  const account = new StackFixture();
  const first = account.world.instances.get('i-00000000');
  if (first !== undefined) account.world.instances.set('i-00000003', { ...first, InstanceId: 'i-00000003' });
  account.nodes = [node(0), node(1)];
  await account.settle(stack, [member]);
  account.nodes = [node(0, { toBeDeleted: true }), node(1), node(3)];
  for (let pass = 0; pass < 2; pass++) {
    await account.reconcile(stack, [member]);
    expect(registered(account)).toEqual(['i-00000000', 'i-00000001', 'i-00000003']);
  }
  account.advance(30);
  await account.reconcile(stack, [member]);
  expect(registered(account)).toEqual(['i-00000001', 'i-00000003']);
});

function inSubnets(...indexes: readonly number[]): Record<string, string> {
  return { subnets: indexes.map((index) => `subnet-private-${index}`).join() };
}

function zonesOf({ world }: StackFixture): string[] {
  return [...world.loadBalancers.values()]
    .flatMap(({ value }) => value.AvailabilityZones.map(({ ZoneName }) => ZoneName.slice(-1)))
    .toSorted();
}

test('a zone stays while a draining target in a remaining zone is registered again', async () => {
  const account = new StackFixture();
  account.nodes = [node(0), node(1)];
  const web = (...indexes: number[]): typeof member =>
    awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'], annotations: inSubnets(...indexes) });
  await account.settle(stack, [web(0, 1)]);
  account.nodes = [node(0)];
  await account.reconcile(stack, [web(0, 1)]);
  expect(registered(account)).toEqual(['i-00000000']);
  account.nodes = [node(0), node(1)];
  await account.reconcile(stack, [web(1)]);
  expect([registered(account), zonesOf(account)]).toEqual([
    ['i-00000000', 'i-00000001'],
    ['a', 'b'],
  ]);
  await account.settle(stack, [web(1)]);
  expect(zonesOf(account)).toEqual(['b']);
});

test('a shared NLB keeps a zone until others serve a Service with errors', async () => {
  const account = new StackFixture();
  const edge = { 'herald.dev/aws-shared-load-balancer': 'edge', 'nlb-target-type': 'ip' };
  const first = (...indexes: number[]): typeof member =>
    awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'], annotations: { ...edge, ...inSubnets(...indexes) } });
  const dns = (more: Record<string, string> = {}): typeof member =>
    awsMember('nlb', { name: 'dns', ports: ['http:53/TCP@30053'], annotations: { ...edge, ...more } });
  const shared = stackOf(dns());
  account.slices = [
    slice({ service: 'default/web', name: 'web', ports: ['http:8080'], endpoints: ['10.0.1.5'] }),
    slice({ service: 'default/dns', name: 'dns', ports: ['http:8080'], endpoints: ['10.0.0.5', '10.0.2.5'] }),
  ];
  await account.settle(shared, [first(0, 1), dns()]);
  const wrong = dns({ 'healthcheck-interval': 'soon' });
  const { errors } = await account.reconcile(shared, [first(1, 2), wrong]);
  expect([[...errors.keys()], zonesOf(account)]).toEqual([['default/dns'], ['a', 'b', 'c']]);
  await account.settle(shared, [first(1, 2), wrong]);
  expect(zonesOf(account)).toEqual(['b', 'c']);
});

test('an unhealthy target is deregistered although AWS has no room for its replacement', async () => {
  const account = new StackFixture();
  Object.assign(account.world.quotas, { targets: 3 });
  const last = account.world.instances.get('i-00000002');
  if (last !== undefined) account.world.instances.set('i-00000005', { ...last, InstanceId: 'i-00000005' });
  await account.settle(stack, [member]);
  account.world.unhealthy.add('i-00000002');
  account.nodes = [node(0), node(1), node(5)];
  await account.settle(stack, [member]);
  expect(registered(account)).toEqual(['i-00000000', 'i-00000001', 'i-00000005']);
});

test('an unhealthy instance leaves a Classic ELB although AWS refuses its replacement', async () => {
  const account = new StackFixture();
  const classic = awsMember('classic', { name: 'web', ports: ['http:80/TCP@30080'] });
  await account.settle(stack, [classic]);
  account.advance(60);
  account.world.unhealthy.add('i-00000002');
  account.nodes = [node(0), node(1), node(5)];
  await account.reconcile(stack, [classic]);
  const ids = [...account.world.classic.values()].flatMap(({ value }) => value.Instances.map(({ InstanceId }) => InstanceId));
  expect(ids.toSorted()).toEqual(['i-00000000', 'i-00000001']);
});

test('zonesOfTargets uses the zone of the node or of the subnet with the address, IPv4 or IPv6', () => {
  const labels = { 'topology.kubernetes.io/zone': 'us-east-1c' };
  const plain = node(7, { providerID: 'aws:////i-00000007' });
  const nodes = [node(1), { ...plain, metadata: { ...plain.metadata, labels } }];
  const subnet = { id: 's', availableAddresses: 9, tags: {}, public: false };
  const subnets = [
    { ...subnet, zone: 'us-east-1a', cidr: '10.0.0.0/24' },
    { ...subnet, zone: 'us-east-1b', cidr: '10.0.1.0/24', ipv6Cidr: '2001:db8:0:1::/64' },
  ];
  const zoneOf = zonesOfTargets(nodes, subnets);
  const targets = ['i-00000001', 'i-00000007', 'i-00000009', '10.0.0.7', '2001:db8:0:1::7', '192.0.2.1'];
  expect(targets.map(zoneOf)).toEqual(['us-east-1b', 'us-east-1c', undefined, 'us-east-1a', 'us-east-1b', undefined]);
});
