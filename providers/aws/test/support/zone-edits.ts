import fc from 'fast-check';
import type { Member } from '../../../../providers/aws/desire/stack.ts';
import { unreachableReasonByZone } from './reachability.ts';
import { awsMember, StackFixture } from './stack-fixture.ts';

/** How the Service gets its subnets. `routes`: discovered, because no subnet has a role tag. `roles`: discovered by their role tags. */
export type Choice = 'routes' | 'roles' | 'ids' | 'names';
export const choices: readonly Choice[] = ['routes', 'roles', 'ids', 'names'];

/** An account with six Elastic IPs, in which subnets are found in this way. */
export function accountFor(choice: Choice): StackFixture {
  const account = new StackFixture();
  for (const number of [4, 5, 6]) account.world.allocations.add(`eipalloc-${number}`);
  if (choice !== 'routes') return account;
  for (const [id, subnet] of account.world.subnets)
    account.world.subnets.set(id, { ...subnet, Tags: subnet.Tags.filter(({ Key }) => !Key.startsWith('kubernetes.io/role/')) });
  return account;
}

/** The zones that a Service asks for, as numbers, and one address for each zone, also as a number. */
export interface ZoneEdit {
  readonly zones: readonly number[];
  readonly addresses: 'none' | 'fixed' | 'six' | 'both';
  readonly numbers: readonly number[];
}

/** Zones of discovered subnets are always all three. */
export function zoneMember(scheme: 'internal' | 'internet-facing', choice: Choice, { zones, addresses, numbers }: ZoneEdit): Member {
  const isPublic = scheme === 'internet-facing';
  const isNamed = choice === 'ids' || choice === 'names';
  const used = isNamed ? zones : [0, 1, 2];
  const kind = isPublic ? 'public' : 'private';
  const name = (zone: number): string => (choice === 'ids' ? `subnet-${kind}-${zone}` : `${kind}-us-east-1${'abc'[zone]}`);
  const pick = numbers.slice(0, addresses === 'none' ? 0 : numbers.length);
  const network = isPublic ? 0 : 100;
  const hasFixed = addresses === 'fixed' || addresses === 'both';
  const hasSix = addresses === 'six' || addresses === 'both';
  const fixed: Record<string, string> = isPublic
    ? { 'eip-allocations': pick.map((number) => `eipalloc-${number}`).join() }
    : { 'private-ipv4-addresses': pick.map((number, at) => `10.0.${network + (used[at] ?? 9)}.${10 + number}`).join() };
  const six = {
    'ip-address-type': 'dualstack',
    'ipv6-addresses': pick.map((number, at) => `2001:db8:0:${network + (used[at] ?? 9)}::1${number}`).join(),
  };
  return awsMember('nlb', {
    name: 'web',
    ports: ['http:80/TCP@30080'],
    annotations: {
      scheme,
      ...(isNamed ? { subnets: zones.map(name).join() } : {}),
      ...(hasFixed ? fixed : {}),
      ...(hasSix ? six : {}),
    },
  });
}

/** Addresses fit the number of zones, except in one of five edits. */
export const anyZoneEdit: fc.Arbitrary<ZoneEdit> = fc
  .tuple(
    fc.shuffledSubarray([0, 1, 2], { minLength: 1 }),
    fc.constantFrom('none' as const, 'fixed' as const, 'fixed' as const, 'six' as const, 'both' as const),
    fc.shuffledSubarray([1, 2, 3, 4, 5, 6], { minLength: 3, maxLength: 3 }),
  )
  .map(([zones, addresses, numbers]) => ({ zones, addresses, numbers }));

/** The number of zones with healthy targets. The rules of nodes are not part of this fixture. */
export function servingZones({ world }: StackFixture): number {
  const [balancer] = world.loadBalancers.values();
  if (balancer === undefined) return 0;
  const packet = { from: '203.0.113.9', protocol: 'TCP' as const, port: 80 };
  const reasons = unreachableReasonByZone(world, balancer.value.DNSName.toLowerCase(), packet);
  return [...reasons.values()].filter((one) => one === undefined || one === 'not admitted by any healthy target').length;
}

/** Returns a function that tells the smallest number of serving zones since now, at each call to AWS. */
export function watchServingZones(account: StackFixture): () => number {
  let fewest = servingZones(account);
  account.cloud.fault = () => {
    fewest = Math.min(fewest, servingZones(account));
    return undefined;
  };
  return () => Math.min(fewest, servingZones(account));
}

/** The zones as sorted texts, with the addresses of each: "subnet-public-0 eipalloc-1". */
export function zoneTexts({ world }: StackFixture): string[] {
  const zones = [...world.loadBalancers.values()].flatMap(({ value }) => value.AvailabilityZones);
  return zones
    .map(({ SubnetId, LoadBalancerAddresses = [] }) =>
      [
        SubnetId,
        ...LoadBalancerAddresses.flatMap(({ AllocationId, PrivateIPv4Address, IPv6Address }) =>
          [AllocationId, PrivateIPv4Address, IPv6Address].filter((one) => one !== undefined),
        ),
      ].join(' '),
    )
    .toSorted();
}
