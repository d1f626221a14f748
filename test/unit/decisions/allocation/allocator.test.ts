import { describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { createAllocator, type Allocation, type Allocator } from '../../../../src/decisions/allocation/allocator.ts';
import { limits } from '../../../../src/decisions/allocation/limits.ts';
import { knownOwners } from '../../../../src/decisions/allocation/pools/owners-in-pools.ts';
import { effectivePools } from '../../../../src/decisions/allocation/pools/pools.ts';
import { allocationRequest, type AllocationRequest } from '../../../../src/decisions/allocation/request.ts';
import { reasonLine } from '../../../../src/decisions/verdict/verdict-text.ts';
import { conditionText, reasonText, remedyText, type Reason } from '../../../../src/model/reasons.ts';
import { servicesToRetry } from '../../../../src/decisions/allocation/address-queue.ts';
import { cluster, matching, pool, service, type PoolLiteral, type ServiceLiteral } from '../fixtures.ts';

const dual = { clusterIPs: ['10.96.0.1', 'fd96::1'] };
const prefer = { ...dual, ipFamilyPolicy: 'PreferDualStack' } as const;
const required = { ...dual, ipFamilyPolicy: 'RequireDualStack' } as const;

function request(literal: ServiceLiteral | string, namespaces: Readonly<Record<string, Record<string, string>>> = {}): AllocationRequest {
  return allocationRequest(service(typeof literal === 'string' ? { name: literal } : literal), cluster({ namespaces }));
}

const withPools = (...pools: readonly PoolLiteral[]): Allocator => createAllocator(pools.map(pool));

/** "192.0.2.1, 2001:db8::1", followed by "(Reason)" when there is one. */
function show({ addresses, reason }: Allocation): string {
  const what = addresses.map(formatAddress).join(', ');
  return reason === undefined ? what : `${what} (${reason.code})`.trim();
}

const ask = (allocator: Allocator, literal: ServiceLiteral | string): string => show(allocator.allocate(request(literal)));

const small: PoolLiteral = { name: 'small', addresses: ['192.0.2.1-192.0.2.2'] };

describe('the order in which pools are tried', () => {
  const pinned = (name: string, octet: number, priority: number): PoolLiteral => ({
    name,
    addresses: [`192.0.${octet}.1-192.0.${octet}.1`],
    serviceAllocation: { priority, namespaces: ['default'] },
  });

  test('pools with serviceAllocation come first by priority (0 last) and name, then the others', () => {
    const allocator = withPools(
      { name: 'a-open', addresses: ['192.0.9.1-192.0.9.1'] },
      pinned('b-unset', 4, 0),
      pinned('c-second', 2, 20),
      pinned('d-first', 1, 10),
      pinned('e-second', 3, 20),
    );
    expect(['1', '2', '3', '4', '5', '6'].map((name) => ask(allocator, name))).toEqual([
      '192.0.1.1',
      '192.0.2.1',
      '192.0.3.1',
      '192.0.4.1',
      '192.0.9.1',
      '(PoolFull)',
    ]);
  });

  test.each<[string, PoolLiteral['serviceAllocation'], string]>([
    ['a namespace by name', { namespaces: ['default'] }, '192.0.2.1'],
    ['another namespace', { namespaces: ['other'] }, '(PoolNamespaceNotSelected)'],
    ['a namespace by label', { namespaceSelectors: [matching({ team: 'a' })] }, '192.0.2.1'],
    ['a name or a label', { namespaces: ['other'], namespaceSelectors: [matching({ team: 'a' })] }, '192.0.2.1'],
    ['a Service by label', { serviceSelectors: [matching({ app: 'web' })] }, '192.0.2.1'],
    [
      'a namespace and a Service label',
      { namespaces: ['default'], serviceSelectors: [matching({ app: 'db' })] },
      '(PoolServiceNotSelected)',
    ],
    ['no condition', {}, '192.0.2.1'],
  ])('serviceAllocation with %s decides whether the pool serves the Service', (_, serviceAllocation, expected) => {
    const allocator = withPools({ ...small, ...defined({ serviceAllocation }) });
    expect(show(allocator.allocate(request({ name: 'web', labels: { app: 'web' } }, { default: { team: 'a' } })))).toBe(expected);
  });

  test('a pool with autoAssign: false gives addresses on request only', () => {
    const allocator = withPools({ ...small, autoAssign: false });
    expect(ask(allocator, 'web')).toBe('(PoolNotAutoAssigned)');
    expect(ask(allocator, { name: 'web', requestedPool: 'small' })).toBe('192.0.2.1');
    expect(ask(allocator, { name: 'db', requested: ['192.0.2.2'] })).toBe('192.0.2.2');
  });

  test('a requested pool must exist and select the Service', () => {
    const allocator = withPools({ ...small, serviceAllocation: { namespaces: ['other'] } });
    expect(ask(allocator, { name: 'web', requestedPool: 'large' })).toBe('(PoolNotFound)');
    expect(ask(allocator, { name: 'web', requestedPool: 'small' })).toBe('(PoolNamespaceNotSelected)');
    expect(ask(withPools(), 'web')).toBe('(NoPools)');
  });

  test('a refusal lists the reason of each pool', () => {
    const allocator = withPools(
      { name: 'full', addresses: ['192.0.2.1-192.0.2.1'] },
      { name: 'manual', addresses: ['192.0.3.0/24'], autoAssign: false },
      { name: 'six', addresses: ['2001:db8::/64'] },
    );
    allocator.allocate(request('holder'));
    const { reason, pools } = allocator.allocate(request('web'));
    expect(reason?.code).toBe('PoolFull');
    expect(pools.map(({ pool, reason: { code } }) => `${pool} ${code}`)).toEqual([
      'full PoolFull',
      'manual PoolNotAutoAssigned',
      'six PoolHasNoFamily',
    ]);
    expect(allocator.survey(request('web')).map(({ pool, reason }) => `${pool} ${reason?.code}`)).toEqual([
      'full PoolFull',
      'manual PoolNotAutoAssigned',
      'six PoolHasNoFamily',
    ]);
  });
  const full: PoolLiteral = { name: 'full', addresses: ['192.0.2.1-192.0.2.1'], reserved: { '192.0.2.1': 'default/owner' } };
  const foreign: PoolLiteral = { name: 'foreign', addresses: ['198.51.100.0/24'], serviceAllocation: { namespaces: ['other'] } };
  const six: PoolLiteral = { name: 'six', addresses: ['2001:db8::/64'] };
  const manual: PoolLiteral = { name: 'manual', addresses: ['192.0.3.0/24'], autoAssign: false };
  const retired: PoolLiteral = { name: 'retired', addresses: ['192.0.4.0/24'], draining: true };
  const labelled: PoolLiteral = {
    name: 'labelled',
    addresses: ['192.0.5.0/24'],
    serviceAllocation: { serviceSelectors: [matching({ app: 'db' })] },
  };
  const limited: PoolLiteral = { name: 'limited', addresses: ['192.0.6.0/24'], quota: [{ namespaceSelector: matching({}), addresses: 0 }] };
  const overlaps: PoolLiteral = { name: 'overlaps', addresses: ['192.0.2.1-192.0.2.9'] };

  test.each<[string, PoolLiteral[], string, string]>([
    ['that is full beside pools for others', [foreign, full, labelled, manual, six], 'PoolFull', 'full'],
    ['of one family beside pools for others', [foreign, labelled, manual, six], 'PoolHasNoFamily', 'six'],
    ['with autoAssign: false beside pools for others', [foreign, labelled, manual], 'PoolNotAutoAssigned', 'manual'],
    ['with a selector beside a pool for another namespace', [foreign, labelled], 'PoolServiceNotSelected', 'labelled'],
    ['for another namespace', [foreign], 'PoolNamespaceNotSelected', 'foreign'],
    ['that drains', [foreign, retired], 'PoolDraining', 'retired'],
    ['with a quota', [foreign, limited], 'QuotaReached', 'limited'],
    [
      'first of two that are full',
      [{ ...full, name: 'b', addresses: ['192.0.2.2/32'], reserved: { '192.0.2.2': 'default/owner' } }, full],
      'PoolFull',
      'b',
    ],
    ['that is full beside one that drains', [full, retired], 'NoPoolFits', 'full'],
    [
      'that is refused beside a pool for another namespace',
      [foreign, { ...full, serviceAllocation: { namespaces: ['other'] } }, overlaps],
      'PoolOverlaps',
      'overlaps',
    ],
    [
      'that is full beside a refused one for another namespace',
      [full, { ...overlaps, serviceAllocation: { namespaces: ['other'] } }],
      'PoolFull',
      'full',
    ],
  ])('a Service without an address gets the reason of the pool %s', (_, literals, code, name) => {
    const { pools, refused } = effectivePools(new Map(literals.map((literal) => [literal.name, pool(literal)])));
    const allocator = createAllocator(pools, [...refused.values()]);
    const { reason } = allocator.decide(request('web'));
    expect(reason).toMatchObject({ code, details: { pool: name } });
  });
});

describe('requested addresses', () => {
  test.each<[string, Omit<ServiceLiteral, 'name'>, string]>([
    ['a free one', { requested: ['192.0.2.2'] }, '192.0.2.2'],
    ['one that is taken', { requested: ['192.0.2.1'] }, '(AddressTaken)'],
    ['one outside the pools', { requested: ['203.0.113.1'] }, '(AddressNotInPools)'],
    ['another family than the Service has', { requested: ['2001:db8::1'] }, '(RequestedFamilyMismatch)'],
    ['one of two required families', { ...required, requested: ['192.0.2.2'] }, '(RequestedFamilyMismatch)'],
    ['one of two preferred families', { ...prefer, requested: ['2001:db8::1'] }, '2001:db8::1'],
    ['both families', { ...required, requested: ['2001:db8::1', '192.0.2.2'] }, '2001:db8::1, 192.0.2.2'],
    ['addresses of two pools', { ...required, requested: ['192.0.2.2', '2001:db8:1::1'] }, '192.0.2.2, 2001:db8:1::1'],
    ['two addresses of one family', { requested: ['192.0.2.2', '192.0.2.3'] }, '192.0.2.2, 192.0.2.3'],
    ['a free and a taken one', { requested: ['192.0.2.2', '192.0.2.1'] }, '(AddressTaken)'],
    ['an address in another pool than requested', { requested: ['192.0.2.2'], requestedPool: 'six' }, '(AddressInOtherPool)'],
    ['one that avoidBuggyIPs excludes', { requested: ['192.0.2.255'] }, '(AddressAvoided)'],
    ['an unreadable address', { invalidRequest: { field: 'spec.loadBalancerIP', problem: 'no address' } }, '(InvalidRequest)'],
  ])('a Service that asks for %s', (_, literal, expected) => {
    const allocator = withPools(
      { name: 'four', addresses: ['192.0.2.0/24', '2001:db8::/64'], avoidBuggyIPs: true },
      { name: 'six', addresses: ['2001:db8:1::/64'] },
    );
    expect(ask(allocator, 'holder')).toBe('192.0.2.1');
    expect(ask(allocator, { name: 'web', ...literal })).toBe(expected);
  });

  const local = { externalTrafficPolicy: 'Local' } as const;
  test.each<[string, Omit<ServiceLiteral, 'name'>, Omit<ServiceLiteral, 'name'> & { name?: string }, string]>([
    [
      'no keys',
      {},
      {},
      'neither Service has a sharing key (herald.dev/allow-shared-ip). Request another address; or, to share it: annotate both Services with the same herald.dev/allow-shared-ip.',
    ],
    [
      'no key',
      { sharingKey: 'k' },
      { ports: ['443'] },
      'default/holder has sharing key "k", and default/web has no sharing key. Request another address; or, to share it: set herald.dev/allow-shared-ip of default/web to "k".',
    ],
    [
      'a key that the holder lacks',
      {},
      { sharingKey: 'k', ports: ['443'] },
      'default/holder has no sharing key, and default/web has sharing key "k". Request another address; or, to share it: set herald.dev/allow-shared-ip of default/holder to "k".',
    ],
    [
      'another key, policy and a common port',
      { sharingKey: 'k' },
      { sharingKey: 'l', ...local },
      'default/holder has sharing key "k", and default/web has sharing key "l"; default/holder has externalTrafficPolicy Cluster, and default/web has Local; both have port 80/TCP. Request another address; or, to share it: set herald.dev/allow-shared-ip of default/web to "k"; set spec.externalTrafficPolicy: Cluster on default/web; change port 80/TCP of default/web.',
    ],
    [
      'another selector',
      { sharingKey: 'k', ...local },
      { sharingKey: 'k', ...local, selectorText: '', ports: ['443'] },
      'with externalTrafficPolicy Local both need the same selector: default/holder has app=web, and default/web has none. Request another address; or, to share it: give both Services the same selector, or set spec.externalTrafficPolicy: Cluster on both.',
    ],
    [
      'another namespace, whose key is not told',
      { sharingKey: 'secret', sharingNamespaces: ['other'] },
      { name: 'other/web', sharingKey: 'guess', ports: ['443'] },
      'other/web does not admit namespace default. Request another address; or, to share it: add default to herald.dev/allow-shared-ip-namespaces of other/web; give both Services the same herald.dev/allow-shared-ip.',
    ],
  ])('AddressTaken names both Services, what differs between them and what to make equal: %s', (_, holder, web, expected) => {
    const allocator = withPools(small);
    allocator.allocate(request({ name: 'holder', ...holder }));
    const { reason } = allocator.decide(request({ name: 'web', ...web, requested: ['192.0.2.1'] }));
    expect(reasonLine(reason as Reason)).toBe(`192.0.2.1 is held by Service default/holder, and they may not share it: ${expected}`);
  });

  test.each([
    [
      '203.0.113.9',
      'z (198.51.100.1-198.51.100.9)',
      'request an address of 198.51.100.1-198.51.100.9, or add 203.0.113.9 to spec.addresses of IPAddressPool z',
    ],
    [
      '192.0.2.3',
      'small (192.0.2.1-192.0.2.2)',
      'request an address of 192.0.2.1-192.0.2.2, or add 192.0.2.3 to spec.addresses of IPAddressPool small',
    ],
    [
      '2001:db8::',
      'six (2001:db8::1-2001:db8::9)',
      'request an address of 2001:db8::1-2001:db8::9, or add 2001:db8:: to spec.addresses of IPAddressPool six',
    ],
  ])('AddressNotInPools names the pool and the range nearest to %s', (wanted, nearest, fix) => {
    const allocator = withPools(
      small,
      { name: 'z', addresses: ['198.51.100.1-198.51.100.9'] },
      { name: 'six', addresses: ['2001:db8::1-2001:db8::9', '2001:db8:1::/64'] },
    );
    const clusterIPs = [wanted.includes(':') ? 'fd96::1' : '10.96.0.1'];
    const because = allocator.decide(request({ name: 'web', clusterIPs, requested: [wanted] })).reason as Reason;
    expect(reasonText(because)).toBe(`requested address ${wanted} is in no valid IPAddressPool; the nearest is ${nearest}`);
    expect(remedyText(because)).toBe(fix);
  });
});

describe('the condition text of a Service that waits', () => {
  const sharer = (name: string, port: string): ServiceLiteral => ({ name, sharingKey: 'k', ports: [port] });

  test('PoolFull, QuotaReached and AddressTaken name holders that other Services do not change', () => {
    const allocator = withPools({
      name: 'p',
      addresses: ['192.0.2.1-192.0.2.3'],
      quota: [{ namespaceSelector: matching({}), addresses: 2 }],
    });
    const both = { requested: ['192.0.2.2', '192.0.2.3'] };
    allocator.allocate(request('one'));
    const before = allocator.decide(request({ name: 'web', ...both })).reason as Reason;
    allocator.allocate(request('two'));
    const after = allocator.decide(request({ name: 'web', requested: ['192.0.2.3', '192.0.2.1'] })).reason as Reason;
    expect(conditionText(before)).toBe('the quota of pool p for namespace default (2 addresses) has no room for 2 more');
    expect(remedyText(before)).toBe(
      'raise spec.quota[0].addresses of IPAddressPool p, or delete a Service of namespace default that holds one',
    );
    expect(after.code).toBe('AddressTaken');
    expect(conditionText(after)).toContain('Service default/one');
    const full = withPools(small);
    for (const name of ['one', 'two']) full.allocate(request(name));
    expect(conditionText(full.decide(request('web')).reason as Reason)).toBe('pool small is full (2 of 2 IPv4 addresses)');
  });

  test.each<[string, PoolLiteral, readonly (ServiceLiteral | string)[], string]>([
    ['the first by name of its namespace', small, ['b', 'a'], 'release default/a'],
    ['none of another namespace', small, ['other/a', 'other/b'], 'delete a Service that holds one'],
    [
      'none that shares its address',
      { ...small, addresses: ['192.0.2.1/32'] },
      [sharer('a', '80'), sharer('b', '443')],
      'delete a Service that holds one',
    ],
    ['none whose address is reserved', { ...small, reserved: { '192.0.2.1': 'default/a' } }, ['a', 'b'], 'release default/b'],
    [
      'one whose address the pool keeps for a time',
      { ...small, keepReleasedSeconds: 300 },
      ['a', 'b'],
      'release default/a, whose address the pool keeps for another 300 s (keepReleasedSeconds)',
    ],
  ])('PoolFull tells to release %s', (_, literal, holders, fix) => {
    const allocator = withPools(literal);
    for (const holder of holders) allocator.allocate(request(holder));
    const because = allocator.decide(request('web')).reason as Reason;
    expect(remedyText(because)).toBe(`add addresses to IPAddressPool small, or ${fix}`);
  });

  test('a full pool of one family is full for a Service that prefers both, which takes either', () => {
    const allocator = withPools({ name: 'one', addresses: ['192.0.2.1-192.0.2.1'] });
    ask(allocator, 'first');
    expect(ask(allocator, { name: 'web', ...prefer })).toBe('(PoolFull)');
    expect(ask(allocator, { name: 'other', ...required })).toBe('(PoolHasNoFamily)');
  });

  test('PoolFull does not tell to release a Service that is being deleted', () => {
    const allocator = withPools(small);
    for (const holder of ['a', 'b']) allocator.allocate(request(holder));
    allocator.allocate({ ...request('a'), deleting: true });
    expect(remedyText(allocator.decide(request('web')).reason as Reason)).toContain('or release default/b');
  });

  test('PoolFull names the Service whose port keeps it from joining an address of its sharing key', () => {
    const allocator = withPools({ name: 'p', addresses: ['192.0.2.1/32'] });
    allocator.allocate(request({ name: 'a', sharingKey: 'k' }));
    const because = allocator.decide(request({ name: 'web', sharingKey: 'k' })).reason as Reason;
    expect(conditionText(because)).toBe(
      'pool p is full (1 of 1 IPv4 addresses); 192.0.2.1 of the same sharing key is held by default/a: both have port 80/TCP',
    );
  });
});

describe('address families', () => {
  const both: PoolLiteral = { name: 'both', addresses: ['192.0.2.1-192.0.2.2', '2001:db8::1-2001:db8::1'] };
  const four: PoolLiteral = { name: 'a-four', addresses: ['198.51.100.0/24'] };
  const six: PoolLiteral = { name: 'six', addresses: ['2001:db8::/64'] };
  const dualPool: PoolLiteral = { name: 'dual', addresses: ['192.0.2.1-192.0.2.1', '2001:db8::/64'] };

  test('SingleStack takes only the first of ipFamilies', () => {
    expect(ask(withPools(both), { name: 'web', clusterIPs: ['fd96::1'] })).toBe('2001:db8::1');
  });

  test('a dual-stack Service gets both addresses from one pool, in the order of ipFamilies', () => {
    expect(ask(withPools(four, both), { name: 'web', ...required, clusterIPs: ['fd96::1', '10.96.0.1'] })).toBe('2001:db8::1, 192.0.2.1');
  });

  test('RequireDualStack takes both families or none', () => {
    const allocator = withPools(both);
    expect(ask(allocator, { name: 'one', ...required })).toBe('192.0.2.1, 2001:db8::1');
    expect(ask(allocator, { name: 'two', ...required })).toBe('(PoolFull)');
    expect(ask(withPools(four), { name: 'two', ...required })).toBe('(PoolHasNoFamily)');
  });

  test('PreferDualStack prefers a pool with both families, then the primary family, then the other', () => {
    const allocator = withPools(four, both);
    expect(ask(allocator, { name: 'one', ...prefer })).toBe('192.0.2.1, 2001:db8::1');
    expect(ask(allocator, { name: 'two', ...prefer })).toBe('198.51.100.0');
    expect(ask(withPools(six), { name: 'three', ...prefer })).toBe('2001:db8::');
  });

  test.each<[string, PoolLiteral['serviceAllocation']]>([
    ['namespaces', { namespaces: ['default'] }],
    ['namespaceSelectors', { namespaceSelectors: [matching({ team: 'c' })] }],
    ['serviceSelectors', { serviceSelectors: [matching({ app: 'web' })] }],
    ['a priority alone', { priority: 5 }],
  ])('a pool pinned by %s comes before a general pool that has more families', (_, serviceAllocation) => {
    const internal: PoolLiteral = { name: 'internal', addresses: ['10.9.0.1-10.9.0.1'], ...defined({ serviceAllocation }) };
    const web = (rest: Omit<ServiceLiteral, 'name'>, name = 'web'): string =>
      show(allocator.allocate(request({ name, labels: { app: 'web' }, ...rest }, { default: { team: 'c' } })));
    let allocator = withPools(both, internal);
    expect(web(prefer)).toBe('10.9.0.1');
    expect(web(prefer)).toBe('10.9.0.1');
    // As in MetalLB, the general pools serve what pinned pools cannot give at all.
    expect(web(prefer, 'second')).toBe('192.0.2.1, 2001:db8::1');
    allocator = withPools(both, internal);
    expect(web(required)).toBe('192.0.2.1, 2001:db8::1');
    allocator = withPools(both, internal);
    expect(web({ clusterIPs: ['fd96::1'] })).toBe('2001:db8::1');
  });

  test('among pinned pools one with both families comes before one with a better priority and one family', () => {
    const pinned = (priority: number) => ({ serviceAllocation: { priority, namespaces: ['default'] } });
    const pools: PoolLiteral[] = [
      { ...four, ...pinned(1) },
      { ...both, ...pinned(2) },
      { name: 'z', addresses: ['203.0.113.0/24'] },
    ];
    const allocator = withPools(...pools);
    expect(ask(allocator, { name: 'one', ...prefer })).toBe('192.0.2.1, 2001:db8::1');
    expect(ask(allocator, { name: 'two', ...prefer })).toBe('198.51.100.0');
  });

  test('a Service keeps addresses of a general pool when a pinned pool appears, also after a restart', () => {
    const pinned: PoolLiteral = { ...four, serviceAllocation: { namespaces: ['default'] } };
    const allocator = withPools(both);
    expect(ask(allocator, { name: 'web', ...prefer })).toBe('192.0.2.1, 2001:db8::1');
    allocator.setPools([pool(both), pool(pinned)]);
    expect(ask(allocator, { name: 'web', ...prefer })).toBe('192.0.2.1, 2001:db8::1');
    const restarted = withPools(both, pinned);
    restarted.adopt(request({ name: 'web', ...prefer }), [address('192.0.2.1'), address('2001:db8::1')]);
    expect(ask(restarted, { name: 'web', ...prefer })).toBe('192.0.2.1, 2001:db8::1');
  });

  test('a missing family is added later from the same pool', () => {
    const allocator = withPools(both);
    allocator.allocate(request({ name: 'six', clusterIPs: ['fd96::2'] }));
    expect(ask(allocator, { name: 'web', ...prefer })).toBe('192.0.2.1');
    allocator.release('default/six', 0);
    expect(ask(allocator, { name: 'web', ...prefer })).toBe('192.0.2.1, 2001:db8::1');
  });

  test('a Service that becomes dual-stack keeps its address even when its pool lacks the second family', () => {
    const allocator = withPools(four, both);
    expect(ask(allocator, 'web')).toBe('198.51.100.0');
    expect(ask(allocator, { name: 'web', ...required })).toBe('198.51.100.0 (PoolHasNoFamily)');
  });

  test('a Service that becomes single-stack releases the other address', () => {
    const allocator = withPools(both);
    allocator.allocate(request({ name: 'web', ...required }));
    const { addresses, freed } = allocator.allocate(request('web'));
    expect([addresses, freed].map((list) => list.map(formatAddress))).toEqual([['192.0.2.1'], ['2001:db8::1']]);
  });

  const [v4, v6] = [{ clusterIPs: ['10.96.0.1'] }, { clusterIPs: ['fd96::1'] }];
  const strange = { ...v4, requested: ['203.0.113.1'] };
  test.each<[string, string, PoolLiteral, Omit<ServiceLiteral, 'name'>, Omit<ServiceLiteral, 'name'>, string]>([
    ['another family', '198.51.100.0', four, v4, v6, '(PoolHasNoFamily)'],
    [
      'another family, of which it requests no address',
      '2001:db8::',
      six,
      v6,
      { ...v4, requested: ['2001:db8::7'] },
      '(RequestedFamilyMismatch)',
    ],
    ['only the family that it prefers', '2001:db8::', six, prefer, v4, '(PoolHasNoFamily)'],
    ['one family and an address of no pool', '192.0.2.1, 2001:db8::', dualPool, required, strange, '192.0.2.1 (AddressNotInPools)'],
    [
      'another family, and keeps its addresses',
      '198.51.100.0',
      four,
      v4,
      { ...v6, keepsAddresses: true },
      '198.51.100.0 (PoolHasNoFamily)',
    ],
  ])('a Service that changes to %s', (_, had, given, before, after, has) => {
    const allocator = withPools(given);
    expect(ask(allocator, { name: 'web', ...before })).toBe(had);
    const changed = allocator.allocate(request({ name: 'web', ...after }));
    expect(show(changed)).toBe(has);
    const lost = had.split(', ').filter((text) => !has.includes(text));
    expect(changed.freed.map(formatAddress)).toEqual(lost);
    expect(lost.flatMap((text) => allocator.holdersOf(address(text)))).toEqual([]);
    // A controller that was away decides the same.
    const restarted = withPools(given);
    restarted.adopt(request({ name: 'web', ...after }), had.split(', ').map(address));
    expect(ask(restarted, { name: 'web', ...after })).toBe(has);
  });
});

describe('several addresses of one family on record, without a request', () => {
  const recorded = ['192.0.2.2', '192.0.2.3', '2001:db8::3', '2001:db8::4'].map(address);
  const pools: PoolLiteral[] = [{ name: 'p', addresses: ['192.0.2.0/24', '2001:db8::/64'] }];
  const adopting = (literal: ServiceLiteral, addresses = recorded) => {
    const allocator = withPools(...pools);
    allocator.adopt(request(literal), addresses);
    return allocator;
  };

  test('all of them stay, for every decision until the owner asks for something else', () => {
    const allocator = adopting({ name: 'web', ...required });
    for (let decision = 0; decision < 3; decision++)
      expect(ask(allocator, { name: 'web', ...required })).toBe(recorded.map(formatAddress).join(', '));
    expect(ask(allocator, { name: 'other', requested: ['192.0.2.3'] })).toBe('(AddressTaken)');
    expect(ask(allocator, { name: 'web', ...required, requested: ['192.0.2.3', '2001:db8::4'] })).toBe('192.0.2.3, 2001:db8::4');
    expect(ask(allocator, { name: 'other', requested: ['192.0.2.2'] })).toBe('192.0.2.2');
  });

  test('all of them stay when the Service changes its ports or its sharing key', () => {
    const allocator = adopting({ name: 'web', ...required });
    for (const change of [{ ports: ['81'] }, { ports: ['81'], sharingKey: 'k' }])
      expect(ask(allocator, { name: 'web', ...required, ...change })).toBe(recorded.map(formatAddress).join(', '));
  });

  test('a Service that shares without a request gets all addresses of its partner, also after a restart', () => {
    const partner = { name: 'web', ...required, sharingKey: 'k', requested: recorded.map(formatAddress), ports: ['80'] };
    const joining = { name: 'joining', ...required, sharingKey: 'k', ports: ['81'] };
    const allocator = withPools(...pools);
    expect(ask(allocator, partner)).toBe(recorded.map(formatAddress).join(', '));
    for (let decision = 0; decision < 2; decision++) expect(ask(allocator, joining)).toBe(recorded.map(formatAddress).join(', '));
    const restarted = adopting(partner);
    restarted.adopt(request(joining), recorded);
    expect(ask(restarted, joining)).toBe(recorded.map(formatAddress).join(', '));
    expect(ask(allocator, { name: 'alone', ...required })).toMatch(/^192\.0\.2\.0, 2001:db8::$/);
  });

  test('a missing family is added beside them', () => {
    const allocator = adopting({ name: 'web', ...prefer }, recorded.slice(0, 2));
    expect(ask(allocator, { name: 'web', ...prefer })).toMatch(/^192\.0\.2\.2, 192\.0\.2\.3, 2001:db8::/);
  });

  test('a Service that no longer requests them keeps one of each family', () => {
    const allocator = withPools(...pools);
    const two = ['192.0.2.2', '192.0.2.3'];
    expect(ask(allocator, { name: 'web', requested: two })).toBe(two.join(', '));
    expect(ask(allocator, 'web')).toBe('192.0.2.2');
  });
});

describe('a changed request', () => {
  const other: PoolLiteral = { name: 'other', addresses: ['198.51.100.1-198.51.100.1'], autoAssign: false };

  test('a Service moves when the new address is available', () => {
    const allocator = withPools(small, other);
    expect(ask(allocator, 'web')).toBe('192.0.2.1');
    expect(ask(allocator, { name: 'web', requested: ['192.0.2.2'] })).toBe('192.0.2.2');
    expect(allocator.holdersOf(address('192.0.2.1'))).toEqual([]);
    const moved = allocator.allocate(request({ name: 'web', requestedPool: 'other' }));
    expect([show(moved), moved.pool, moved.freed.map(formatAddress)]).toEqual(['198.51.100.1', 'other', ['192.0.2.2']]);
  });

  test('a Service keeps the old address until the new one is available', () => {
    const allocator = withPools(small, other);
    allocator.allocate(request({ name: 'first', requestedPool: 'other' }));
    ask(allocator, 'web');
    const wish = { name: 'web', requestedPool: 'other' };
    expect(ask(allocator, wish)).toBe('192.0.2.1 (PoolFull)');
    expect(ask(allocator, wish)).toBe('192.0.2.1 (PoolFull)');
    expect(ask(allocator, { name: 'web', requested: ['198.51.100.1'] })).toBe('192.0.2.1 (AddressTaken)');
    allocator.release('default/first', 0);
    expect(ask(allocator, wish)).toBe('198.51.100.1');
  });

  test('withdrawing an unmet request leaves the Service where it was', () => {
    const allocator = withPools(small);
    ask(allocator, 'web');
    expect(ask(allocator, { name: 'web', requested: ['203.0.113.1'] })).toBe('192.0.2.1 (AddressNotInPools)');
    expect(ask(allocator, 'web')).toBe('192.0.2.1');
  });

  test('a Service that names its old and a new address holds both until it drops the old one', () => {
    const allocator = withPools({ ...small, draining: true }, { name: 'new', addresses: ['198.51.100.1-198.51.100.9'] });
    allocator.adopt(request('web'), [address('192.0.2.1')]);
    expect(ask(allocator, { name: 'web', requested: ['192.0.2.1', '198.51.100.5'] })).toBe('192.0.2.1, 198.51.100.5');
    const done = allocator.allocate(request({ name: 'web', requested: ['198.51.100.5'] }));
    expect([show(done), done.freed.map(formatAddress)]).toEqual(['198.51.100.5', ['192.0.2.1']]);
  });

  test('a Service that has moved as asked does not move again when its pool changes', () => {
    const allocator = withPools(small, other);
    ask(allocator, 'web');
    const wish = { name: 'web', requestedPool: 'other' };
    expect(ask(allocator, wish)).toBe('198.51.100.1');
    allocator.setPools([pool({ name: 'other', addresses: ['203.0.113.1/32'] }), pool({ name: 'new', addresses: ['198.51.100.1/32'] })]);
    expect(ask(allocator, wish)).toBe('198.51.100.1 (AddressInOtherPool)');
  });

  test('decide changes nothing', () => {
    const allocator = withPools(small);
    expect(show(allocator.decide(request('web')))).toBe('192.0.2.1');
    expect(allocator.assignmentOf('default/web')).toBeUndefined();
    expect(allocator.usage()).toEqual([{ pool: 'small', family: 4, total: 2n, free: 2n, assigned: 0 }]);
  });
});

describe('changed pools', () => {
  test.each<[string, PoolLiteral[], string]>([
    ['deleted', [], '192.0.2.1 (HeldOutsidePools)'],
    ['shrunk', [{ name: 'small', addresses: ['192.0.2.2-192.0.2.2'] }], '192.0.2.1 (HeldOutsidePools)'],
    [
      'restricted to another namespace',
      [{ ...small, serviceAllocation: { namespaces: ['other'] } }],
      '192.0.2.1 (PoolNamespaceNotSelected)',
    ],
    ['switched to autoAssign: false', [{ ...small, autoAssign: false }], '192.0.2.1'],
    ['renamed', [{ name: 'tiny', addresses: ['192.0.2.0/30'] }], '192.0.2.1'],
  ])('a held address stays when its pool is %s, before and after a restart', (_, pools, expected) => {
    const allocator = withPools(small);
    ask(allocator, 'web');
    allocator.setPools(pools.map(pool));
    expect(ask(allocator, 'web')).toBe(expected);
    const restarted = createAllocator(pools.map(pool));
    expect(show(restarted.adopt(request('web'), [address('192.0.2.1')]))).toBe(expected);
    expect(ask(restarted, 'web')).toBe(expected);
  });

  test.each([
    ['in a part', ['192.0.2.1-192.0.2.1']],
    ['in whole', ['192.0.0.0/16']],
  ])('a pool overlapped by another %s keeps its assignments and makes no new ones', (_, addresses) => {
    const newcomer = pool({ name: 'aaa', addresses });
    const { pools, refused } = effectivePools(new Map([pool(small), newcomer].map((pool) => [pool.metadata.name, pool])));
    expect(pools).toEqual([newcomer]);
    const allocator = withPools(small);
    for (const name of ['one', 'two']) expect(ask(allocator, { name, requestedPool: 'small' })).not.toContain('(');
    allocator.setPools(pools, [...refused.values()]);
    expect(ask(allocator, { name: 'one', requestedPool: 'small' })).toBe('192.0.2.1');
    expect(ask(allocator, { name: 'two', requestedPool: 'small' })).toBe('192.0.2.2');
    expect(ask(allocator, { name: 'three', requestedPool: 'small' })).toBe('(PoolOverlaps)');
    expect(allocator.survey(request('four')).find(({ pool }) => pool === 'small')?.reason?.code).toBe('PoolOverlaps');
    allocator.release('default/two', 0);
    allocator.setPools([pool(small)]);
    expect(ask(allocator, 'five')).toBe('192.0.2.2');
  });

  test('an address of a refused pool is not given on request either', () => {
    const { pools, refused } = effectivePools(
      new Map([pool(small), pool({ name: 'aaa', addresses: ['192.0.2.1-192.0.2.1'] })].map((pool) => [pool.metadata.name, pool])),
    );
    const allocator = createAllocator(pools, [...refused.values()]);
    expect(ask(allocator, { name: 'web', requested: ['192.0.2.2'] })).toBe('(PoolOverlaps)');
    expect(ask(allocator, { name: 'web', requested: ['192.0.2.1'] })).toBe('192.0.2.1');
  });

  test('a held address is not given to another Service when its pool comes back', () => {
    const allocator = withPools(small);
    ask(allocator, 'web');
    allocator.setPools([]);
    allocator.setPools([pool(small)]);
    expect(ask(allocator, 'db')).toBe('192.0.2.2');
  });

  test('an address excluded later by avoidBuggyIPs is kept, and not given again after its release', () => {
    const buggy = pool({ name: 'p', addresses: ['192.0.2.255-192.0.3.1'], avoidBuggyIPs: true });
    const allocator = createAllocator([buggy]);
    expect(show(allocator.adopt(request('web'), [address('192.0.2.255')]))).toBe('192.0.2.255');
    expect(ask(allocator, 'web')).toBe('192.0.2.255');
    expect(allocator.usage()).toEqual([{ pool: 'p', family: 4, total: 1n, free: 1n, assigned: 1 }]);
    allocator.release('default/web', 0);
    expect(allocator.usage()).toEqual([{ pool: 'p', family: 4, total: 1n, free: 1n, assigned: 0 }]);
    expect([ask(allocator, 'web'), ask(allocator, 'db')]).toEqual(['192.0.3.1', '(PoolFull)']);
  });
});

describe('addresses of Nodes and routers in a pool', () => {
  const literal: PoolLiteral = {
    name: 'p',
    addresses: ['192.0.2.0-192.0.2.4', '2001:db8::1-2001:db8::2'],
    avoidBuggyIPs: true,
    reserved: { '192.0.2.2': 'default/reserved' },
  };
  const network = knownOwners(
    cluster({
      pools: [literal],
      nodes: [{ name: 'n1', internalIPs: ['192.0.2.0', '192.0.2.1', '2001:db8::1', '10.0.0.1'] }],
      peers: [{ name: 'tor', peerAddress: '192.0.2.2' }],
    }),
  );
  const guarded = (): Allocator => createAllocator([pool(literal)], [], network);
  const counts = (allocator: Allocator): string =>
    allocator
      .usage()
      .map(({ total, free, assigned }) => `${total} ${free} ${assigned}`)
      .join();

  test('no Service gets one, and they do not count as addresses of the pool', () => {
    const allocator = guarded();
    expect(counts(allocator)).toBe('2 2 0,1 1 0');
    expect(ask(allocator, { name: 'reserved', ...required })).toBe('192.0.2.3, 2001:db8::2');
    expect(ask(allocator, 'second')).toBe('192.0.2.4');
    expect(ask(allocator, 'third')).toBe('(PoolFull)');
    expect(counts(allocator)).toBe('2 0 2,1 0 1');
  });

  test.each([
    ['192.0.2.1', {}, 'the InternalIP of node "n1"'],
    ['2001:db8::1', { clusterIPs: ['fd96::1'] }, 'the InternalIP of node "n1"'],
    ['192.0.2.2', {}, 'spec.peerAddress of BGPPeer "tor"'],
  ])('a Service that requests %s gets the reason', (requested, family, named) => {
    const { addresses, reason } = guarded().allocate(request({ name: 'reserved', ...family, requested: [requested] }));
    expect([addresses, reason?.code]).toEqual([[], 'AddressInUseBy']);
    if (reason !== undefined) expect(reasonText(reason)).toContain(`${requested} is ${named}`);
  });

  test('a holder keeps it, no other Service joins it, and it is not assigned again after its release', () => {
    const allocator = guarded();
    allocator.adopt(request({ name: 'web', sharingKey: 'k', ports: ['80'] }), [address('192.0.2.1')]);
    expect(ask(allocator, { name: 'web', sharingKey: 'k', ports: ['80'] })).toBe('192.0.2.1 (AddressInUseBy)');
    expect(ask(allocator, { name: 'web', sharingKey: 'k', ports: ['80'], requested: ['192.0.2.1'] })).toBe('192.0.2.1 (AddressInUseBy)');
    expect(counts(allocator)).toBe('2 2 1,1 1 0');
    expect(ask(allocator, { name: 'db', sharingKey: 'k', ports: ['443'] })).toBe('192.0.2.3');
    allocator.release('default/web', 0);
    expect(counts(allocator)).toBe('2 1 1,1 1 0');
    expect([ask(allocator, 'web'), ask(allocator, 'late')]).toEqual(['192.0.2.4', '(PoolFull)']);
  });

  test('it is given as soon as no Node or router has it', () => {
    const allocator = guarded();
    allocator.setPools([pool(literal)]);
    expect(counts(allocator)).toBe('4 3 0,2 2 0');
    expect(ask(allocator, 'web')).toBe('192.0.2.1');
  });
});

describe('sharing', () => {
  const one: PoolLiteral = { name: 'one', addresses: ['192.0.2.1-192.0.2.1'] };
  const local = { externalTrafficPolicy: 'Local' } as const;
  const key = { sharingKey: 'k' };
  /** Uses another port than the Service without ports, so that the two may share. */
  const admitting = (namespace: string) => ({ sharingNamespaces: [namespace], ports: [namespace === 'default' ? '443' : '80'] });
  test.each<[string, Omit<ServiceLiteral, 'name'>, Omit<ServiceLiteral, 'name'> & { name?: string }, boolean]>([
    ['same key, other port', { ...key, ports: ['80'] }, { ...key, ports: ['443'] }, true],
    ['same port, other protocol', { ...key, ports: ['53/TCP'] }, { ...key, ports: ['53/UDP'] }, true],
    ['same port', { ...key, ports: ['80'] }, { ...key, ports: ['a:443', 'b:80'] }, false],
    ['no key', { ports: ['80'] }, { ports: ['443'] }, false],
    ['one key', { ...key, ports: ['80'] }, { ports: ['443'] }, false],
    ['empty keys', { sharingKey: '', ports: ['80'] }, { sharingKey: '', ports: ['443'] }, false],
    ['other key', { ...key, ports: ['80'] }, { sharingKey: 'l', ports: ['443'] }, false],
    ['other namespace', { ...key, ports: ['80'] }, { name: 'other/b', ...key, ports: ['443'] }, false],
    ['other namespace, admitted', { ...key, ...admitting('other') }, { name: 'other/b', ...key, ...admitting('default') }, true],
    [
      'other namespace, all admitted',
      { ...key, ...admitting('*') },
      { name: 'other/b', ...key, sharingNamespaces: ['*'], ports: ['443'] },
      true,
    ],
    ['other namespace, admitted by the holder only', { ...key, ...admitting('*') }, { name: 'other/b', ...key, ports: ['443'] }, false],
    [
      'other namespace, admitted by the newcomer only',
      { ...key, ports: ['80'] },
      { name: 'other/b', ...key, ...admitting('default') },
      false,
    ],
    ['other namespace, admitted, same port', { ...key, ...admitting('*') }, { name: 'other/b', ...key, sharingNamespaces: ['*'] }, false],
    [
      'other namespace, admitted, other key',
      { ...key, ...admitting('*') },
      { name: 'other/b', sharingKey: 'l', ...admitting('default') },
      false,
    ],
    ['Cluster, other selector', { ...key, ports: ['80'] }, { ...key, ports: ['443'], selectorText: 'app=db' }, true],
    ['Local, same selector', { ...key, ...local, ports: ['80'] }, { ...key, ...local, ports: ['443'] }, true],
    ['Local, other selector', { ...key, ...local, ports: ['80'] }, { ...key, ...local, ports: ['443'], selectorText: 'app=db' }, false],
    [
      'Local, no selectors',
      { ...key, ...local, ports: ['80'], selectorText: '' },
      { ...key, ...local, ports: ['443'], selectorText: '' },
      false,
    ],
    ['Local without selector and Cluster', { ...key, ...local, ports: ['80'], selectorText: '' }, { ...key, ports: ['443'] }, false],
  ])('two Services, %s', (_, first, second, shared) => {
    const allocator = withPools(one);
    expect(ask(allocator, { name: 'a', ...first })).toBe('192.0.2.1');
    expect(ask(allocator, { name: 'b', ...second })).toBe(shared ? '192.0.2.1' : '(PoolFull)');
    // A request by name follows the same rules.
    expect(ask(allocator, { name: 'b', ...second, requested: ['192.0.2.1'] })).toBe(shared ? '192.0.2.1' : '(AddressTaken)');
  });

  test('a Service in another namespace moves when the holder no longer admits it, and the holder stays', () => {
    const allocator = withPools(small);
    const b = { name: 'other/b', ...key, ...admitting('default') };
    ask(allocator, { name: 'a', ...key, ...admitting('other') });
    expect(ask(allocator, b)).toBe('192.0.2.1');
    expect(ask(allocator, { ...b, sharingNamespaces: [] })).toBe('192.0.2.2');
    expect(allocator.holdersOf(address('192.0.2.1'))).toEqual(['default/a']);
  });

  test('a shareable address is preferred to a free one', () => {
    const allocator = withPools(small);
    ask(allocator, { name: 'x' });
    ask(allocator, { name: 'a', ...key, ports: ['80'] });
    allocator.release('default/x', 0);
    expect(ask(allocator, { name: 'b', ...key, ports: ['443'] })).toBe('192.0.2.2');
  });

  test('a shared address is free after its last holder released it', () => {
    const allocator = withPools(one);
    ask(allocator, { name: 'a', ...key, ports: ['80'] });
    ask(allocator, { name: 'b', ...key, ports: ['443'] });
    allocator.release('default/a', 0);
    expect(ask(allocator, 'c')).toBe('(PoolFull)');
    allocator.release('default/b', 0);
    expect(ask(allocator, 'c')).toBe('192.0.2.1');
  });

  test('a Service that leaves the common key moves or loses the address, and its partner always stays', () => {
    const allocator = withPools(small);
    const [a, b] = [
      { name: 'a', ...key, ports: ['80'] },
      { name: 'b', ...key, ports: ['443'] },
    ];
    ask(allocator, a);
    ask(allocator, b);
    ask(allocator, 'c');
    const alone = { name: 'b', ports: ['443'] };
    expect(ask(allocator, alone)).toBe('(PoolFull)');
    expect(ask(allocator, a)).toBe('192.0.2.1');
    allocator.release('default/c', 0);
    expect(ask(allocator, a)).toBe('192.0.2.1');
    expect(ask(allocator, alone)).toBe('192.0.2.2');
  });

  test.each([
    ['192.0.2.1', {}],
    ['2001:db8::1', { clusterIPs: ['fd96::1'] }],
  ])('two of three sharers of %s change: each loses the address, and the third stays', (only, family) => {
    const allocator = withPools({ name: 'one', addresses: [`${only}-${only}`] });
    const [a, b, c] = [
      { ...family, name: 'a', ...key, ports: ['80'] },
      { ...family, name: 'b', ...key, ports: ['443'] },
      { ...family, name: 'c', ...key, ports: ['80/UDP'] },
    ];
    for (const each of [a, b, c]) expect(ask(allocator, each)).toBe(only);
    const [other, alone] = [
      { ...a, sharingKey: 'l' },
      { ...family, name: 'b', ports: ['443'] },
    ];
    expect(ask(allocator, other)).toBe('(PoolFull)');
    // The second Service still conflicts with the third, so it must not stay because the first has left already.
    expect(ask(allocator, alone)).toBe('(PoolFull)');
    expect(ask(allocator, c)).toBe(only);
    allocator.release('default/c', 0);
    allocator.release('default/a', 0);
    expect(ask(allocator, alone)).toBe(only);
  });

  describe.each([
    ['IPv4', '192.0.2', {}],
    ['IPv6', '2001:db8:', { clusterIPs: ['fd96::1'] }],
  ])('an %s sharer whose port becomes that of its partner', (_, net, family) => {
    const [first, second] = net.endsWith(':') ? [`${net}:1`, `${net}:2`] : [`${net}.1`, `${net}.2`];
    const [a, b] = [
      { ...family, ...key, name: 'a', ports: ['80'] },
      { ...family, ...key, name: 'b', ports: ['dns:53/UDP', 'https:443'] },
    ];
    const clashing = { ...b, ports: ['dns:53/UDP', 'https:80'] };
    const shared = (last: string): Allocator => {
      const allocator = withPools({ name: 'p', addresses: [`${first}-${last}`] });
      expect([ask(allocator, a), ask(allocator, b)]).toEqual([first, first]);
      return allocator;
    };

    test('moves to a free address', () => {
      const allocator = shared(second);
      expect(ask(allocator, clashing)).toBe(second);
      expect(ask(allocator, a)).toBe(first);
    });

    test('loses the address when none is free, and gets it when its partner leaves', () => {
      const allocator = shared(first);
      expect(ask(allocator, clashing)).toBe('(PoolFull)');
      expect(ask(allocator, clashing)).toBe('(PoolFull)');
      expect([ask(allocator, a), allocator.holdersOf(address(first))]).toEqual([first, ['default/a']]);
      allocator.release('default/a', 0);
      expect(ask(allocator, clashing)).toBe(first);
    });

    test('loses the requested address, with a reason that names Service, port and protocol, and regains it', () => {
      const allocator = shared(second);
      ask(allocator, { ...b, requested: [first] });
      const { addresses, reason } = allocator.allocate(request({ ...clashing, requested: [first] }));
      expect([addresses, reason?.code]).toEqual([[], 'AddressTaken']);
      expect(reasonText(reason as Reason)).toMatch(/default\/a.*80\/TCP/);
      expect(ask(allocator, { ...b, requested: [first] })).toBe(first);
    });

    test('loses the address when the pool that it asks for at the same time is not available', () => {
      const allocator = shared(second);
      expect(ask(allocator, { ...clashing, requestedPool: 'other' })).toBe('(PoolNotFound)');
      expect(ask(allocator, { ...b, sharingKey: 'l', requestedPool: 'other' })).toBe('(PoolNotFound)');
    });

    test('loses the address after a restart too, when its partner is adopted first', () => {
      for (const [last, expected] of [
        [first, '(PoolFull)'],
        [second, second],
      ]) {
        const allocator = withPools({ name: 'p', addresses: [`${first}-${last}`] });
        for (const each of [a, clashing]) allocator.adopt(request(each), [address(first)]);
        expect([ask(allocator, clashing), ask(allocator, a)]).toEqual([expected, first]);
      }
    });
  });

  test('a sharer that leaves the key and asks for an unavailable pool loses the shared address', () => {
    const allocator = withPools(small, { name: 'other', addresses: ['198.51.100.1/32'], draining: true });
    ask(allocator, { name: 'a', ...key, ports: ['80'] });
    ask(allocator, { name: 'b', ...key, ports: ['443'] });
    expect(ask(allocator, { name: 'b', ports: ['443'], requestedPool: 'other' })).toBe('(PoolDraining)');
    expect(allocator.holdersOf(address('192.0.2.1'))).toEqual(['default/a']);
  });

  test('a sharer that changes its traffic policy keeps the address with a reason until another one is free', () => {
    const allocator = withPools(one);
    ask(allocator, { name: 'a', ...key, ports: ['80'] });
    ask(allocator, { name: 'b', ...key, ports: ['443'] });
    expect(ask(allocator, { name: 'b', ...key, ...local, ports: ['443'] })).toBe('192.0.2.1 (AddressTaken)');
    allocator.setPools([pool(small)]);
    expect(ask(allocator, { name: 'b', ...key, ...local, ports: ['443'] })).toBe('192.0.2.2');
  });

  test('the partner of a sharer that changes its policy has no reason, also when it moved there before', () => {
    const allocator = withPools(small);
    const a = { name: 'a', ...key, ports: ['80'], requested: ['192.0.2.2'] };
    ask(allocator, { name: 'a', ...key, ports: ['80'] });
    expect(ask(allocator, a)).toBe('192.0.2.2');
    allocator.setPools([pool({ name: 'small', addresses: ['192.0.2.2/32'] })]);
    ask(allocator, { name: 'b', ...key, ports: ['443'] });
    expect(ask(allocator, { name: 'b', ...key, ...local, ports: ['443'] })).toBe('192.0.2.2 (AddressTaken)');
    expect(ask(allocator, a)).toBe('192.0.2.2');
  });

  test('a sharer that leaves the key moves, although its partner shares by looser rules already', () => {
    const allocator = withPools(small, { name: 'z', addresses: ['198.51.100.1/32'] });
    ask(allocator, { name: 'a', ...key, ports: ['80'] });
    const b = { name: 'b', ...key, ports: ['443'] };
    ask(allocator, b);
    const waiting = { ...b, ...local, ...required, requestedPool: 'z' };
    expect(ask(allocator, waiting)).toBe('192.0.2.1 (PoolHasNoFamily)');
    expect(ask(allocator, { name: 'a', ports: ['80'] })).toBe('192.0.2.2');
    expect(ask(allocator, waiting)).toBe('192.0.2.1 (PoolHasNoFamily)');
  });

  test('a dual-stack sharer loses only the address that it shares', () => {
    const allocator = withPools({ name: 'p', addresses: ['192.0.2.1/32', '2001:db8::1-2001:db8::2'] });
    ask(allocator, { name: 'six', clusterIPs: ['fd96::2'] });
    ask(allocator, { name: 'a', ...key, ports: ['80'] });
    expect(ask(allocator, { name: 'b', ...key, ...prefer, ports: ['443'] })).toBe('192.0.2.1, 2001:db8::2');
    expect(ask(allocator, { name: 'b', ...key, ...prefer, ports: ['80'] })).toBe('2001:db8::2');
    expect(ask(allocator, { name: 'b', ...key, ...prefer, ports: ['80'] })).toBe('2001:db8::2');
    expect(ask(allocator, { name: 'b', ...key, ...required, ports: ['80'] })).toBe('2001:db8::2 (PoolFull)');
  });

  test('a Service recorded second for an address moves, or loses it when none is free', () => {
    const allocator = withPools({ name: 'two', addresses: ['192.0.2.1-192.0.2.2'] });
    const twice = [address('192.0.2.1')];
    expect(show(allocator.adopt(request('a'), twice))).toBe('192.0.2.1');
    expect(show(allocator.adopt(request('b'), twice))).toBe('192.0.2.1 (AddressTaken)');
    expect(show(allocator.adopt(request('c'), twice))).toBe('192.0.2.1 (AddressTaken)');
    expect([ask(allocator, 'c'), ask(allocator, 'a'), ask(allocator, 'b')]).toEqual(['192.0.2.2', '192.0.2.1', '(PoolFull)']);
    allocator.release('default/c', 0);
    expect(ask(allocator, 'b')).toBe('192.0.2.2');
  });

  test('a Service does not move from an address that its other holder is about to release', () => {
    const allocator = withPools(small);
    allocator.adopt(request('a'), [address('192.0.2.1')]);
    allocator.adopt(request('b'), [address('192.0.2.1')]);
    expect(show(allocator.stage(request({ name: 'a', requested: ['192.0.2.2'] })))).toBe('192.0.2.2');
    expect(show(allocator.stage(request('b')))).toBe('192.0.2.1 (AddressTaken)');
    allocator.confirm('default/a');
    expect(show(allocator.stage(request('b')))).toBe('192.0.2.1');
  });

  test('a dual-stack Service moves only the family whose address another Service holds', () => {
    const six = { name: 'a', clusterIPs: ['fd96::2'] };
    const web = { name: 'b', ...required };
    const both = [address('192.0.2.2'), address('2001:db8::1')];
    const allocator = withPools({ name: 'main', addresses: ['192.0.2.1-192.0.2.2', '2001:db8::1-2001:db8::2'] });
    allocator.adopt(request(six), [address('2001:db8::1')]);
    allocator.adopt(request(web), both);
    expect(ask(allocator, web)).toBe('192.0.2.2, 2001:db8::2');

    const full = withPools(
      { name: 'main', addresses: ['192.0.2.1-192.0.2.2', '2001:db8::1/128'] },
      { name: 'other', addresses: ['198.51.100.1/32', '2001:db8:1::1/128'] },
    );
    full.adopt(request(six), [address('2001:db8::1')]);
    full.adopt(request(web), both);
    expect(ask(full, web)).toBe('198.51.100.1, 2001:db8:1::1');
  });

  test('a Service that shares with the rightful holder stays, even when a third holds the address too', () => {
    const allocator = withPools(small);
    const key = { sharingKey: 'k' };
    allocator.adopt(request({ ...key, name: 'a', ports: ['80'] }), [address('192.0.2.1')]);
    allocator.adopt(request('intruder'), [address('192.0.2.1')]);
    allocator.adopt(request({ ...key, name: 'b', ports: ['443'] }), [address('192.0.2.1')]);
    expect(ask(allocator, { ...key, name: 'b', ports: ['443'] })).toMatch(/^192\.0\.2\.1 /);
    expect(ask(allocator, 'intruder')).toBe('192.0.2.2');
    expect(ask(allocator, { ...key, name: 'b', ports: ['443'] })).toBe('192.0.2.1');
  });

  test('two Services recorded with one sharing key across namespaces keep their address', () => {
    const allocator = withPools(small);
    const [a, b] = [
      { name: 'a', sharingKey: 'k', ports: ['80'] },
      { name: 'elsewhere/b', sharingKey: 'k', ports: ['443'] },
    ];
    allocator.adopt(request(a), [address('192.0.2.1')]);
    allocator.adopt(request(b), [address('192.0.2.1')]);
    expect([ask(allocator, a), ask(allocator, b)]).toEqual(['192.0.2.1', '192.0.2.1 (AddressTaken)']);
    expect(ask(allocator, { ...b, requested: ['192.0.2.2'] })).toBe('192.0.2.2');
  });
});

describe('renumbering to another pool', () => {
  const fresh: PoolLiteral = { name: 'fresh', addresses: ['198.51.100.1-198.51.100.9', '2001:db8::1-2001:db8::9'] };
  const moving = { name: 'web', requestedPool: 'fresh', keepsAddresses: true };

  test('herald.dev/keep-addresses keeps the old address beside the new one until it is removed', () => {
    const allocator = withPools({ ...small, draining: true }, fresh);
    allocator.adopt(request('web'), [address('192.0.2.1')]);
    expect(ask(allocator, moving)).toBe('198.51.100.1, 192.0.2.1');
    expect(ask(allocator, moving)).toBe('198.51.100.1, 192.0.2.1');
    const { addresses, freed, reason } = allocator.allocate(request({ name: 'web', requestedPool: 'fresh' }));
    expect([addresses, freed].map((list) => list.map(formatAddress))).toEqual([['198.51.100.1'], ['192.0.2.1']]);
    expect(reason).toBeUndefined();
  });

  test('nothing changes until the new address is available', () => {
    const allocator = withPools(small, { ...fresh, draining: true });
    ask(allocator, 'web');
    expect(ask(allocator, moving)).toBe('192.0.2.1 (PoolDraining)');
    allocator.setPools([pool(small), pool(fresh)]);
    expect(ask(allocator, moving)).toBe('198.51.100.1, 192.0.2.1');
  });

  test('a restart in between changes nothing, even if the annotation was removed meanwhile', () => {
    for (const [now, expected] of [
      [moving, '198.51.100.1, 192.0.2.1'],
      [{ name: 'web', requestedPool: 'fresh' }, '198.51.100.1'],
    ] as const) {
      const restarted = withPools(small, fresh);
      restarted.adopt(request(now), [address('198.51.100.1'), address('192.0.2.1')]);
      expect(ask(restarted, now)).toBe(expected);
    }
  });

  test('both families and requested addresses can be renumbered', () => {
    const allocator = withPools({ name: 'old', addresses: ['192.0.2.1-192.0.2.1', '2001:db8:1::/64'] }, fresh);
    ask(allocator, { name: 'web', ...required, requestedPool: 'old' });
    const asked = { ...required, name: 'web', requested: ['2001:db8::7', '198.51.100.7'] };
    expect(ask(allocator, { ...asked, keepsAddresses: true })).toBe('2001:db8::7, 198.51.100.7, 192.0.2.1, 2001:db8:1::');
    expect(ask(allocator, asked)).toBe('2001:db8::7, 198.51.100.7');
  });

  test('the number of addresses of one Service is limited', () => {
    const allocator = withPools({ name: 'p', addresses: ['192.0.2.0/24'] });
    const renumber = (octet: number): string => ask(allocator, { name: 'web', requested: [`192.0.2.${octet}`], keepsAddresses: true });
    for (let octet = 1; octet <= 16; octet++) expect(renumber(octet)).not.toContain('(');
    expect(renumber(17)).toContain('(TooManyAddresses)');
    expect(ask(allocator, { name: 'web', requested: ['192.0.2.17'] })).toBe('192.0.2.17');
  });
});

describe('a draining pool', () => {
  const draining: PoolLiteral = { ...small, draining: true };

  test('it gives nothing new in any way and keeps its assignments, also after a restart', () => {
    const allocator = withPools(small);
    ask(allocator, 'old');
    ask(allocator, { name: 'sharer', sharingKey: 'k' });
    allocator.setPools([pool(draining)]);
    expect(ask(allocator, 'old')).toBe('192.0.2.1');
    expect(ask(allocator, 'new')).toBe('(PoolDraining)');
    expect(ask(allocator, { name: 'new', requestedPool: 'small' })).toBe('(PoolDraining)');
    expect(ask(allocator, { name: 'new', sharingKey: 'k', ports: ['443'] })).toBe('(PoolDraining)');
    const restarted = withPools(draining);
    expect(show(restarted.adopt(request('old'), [address('192.0.2.1')]))).toBe('192.0.2.1');
    expect(ask(restarted, { name: 'new', requested: ['192.0.2.2'] })).toBe('(PoolDraining)');
    restarted.release('default/old', 0);
    expect(ask(restarted, 'old')).toBe('(PoolDraining)');
  });

  test('it does not add a second family', () => {
    const both = { name: 'p', addresses: ['192.0.2.0/24', '2001:db8::/64'], draining: true };
    const allocator = withPools(both);
    allocator.adopt(request('web'), [address('192.0.2.1')]);
    expect(ask(allocator, { name: 'web', ...prefer })).toBe('192.0.2.1');
    expect(ask(allocator, { name: 'web', ...required })).toBe('192.0.2.1 (PoolDraining)');
  });

  test('new Services get addresses from other pools', () => {
    expect(ask(withPools(draining, { name: 'z', addresses: ['198.51.100.1-198.51.100.1'] }), 'web')).toBe('198.51.100.1');
  });
});

describe('reserved addresses', () => {
  const reserving: PoolLiteral = {
    name: 'p',
    addresses: ['192.0.2.1-192.0.2.3', '2001:db8::1-2001:db8::3'],
    reserved: { '192.0.2.1': 'shop/web', '2001:db8::1': 'shop/web' },
  };
  const web = { name: 'shop/web' };

  test('only the named Service gets the address, at any time', () => {
    const allocator = withPools(reserving);
    expect(allocator.usage()[0]).toEqual({ pool: 'p', family: 4, total: 3n, free: 2n, assigned: 0 });
    expect(['a', 'b', 'c'].map((name) => ask(allocator, name))).toEqual(['192.0.2.2', '192.0.2.3', '(PoolFull)']);
    expect(ask(allocator, { name: 'c', requested: ['192.0.2.1'] })).toBe('(AddressReserved)');
    expect(ask(allocator, { ...web, ...required })).toBe('192.0.2.1, 2001:db8::1');
    allocator.release('shop/web', 0);
    expect(ask(allocator, 'c')).toBe('(PoolFull)');
    expect(ask(allocator, web)).toBe('192.0.2.1');
  });

  test('a reservation beats every other pool, even in a pool with autoAssign: false', () => {
    const allocator = withPools({ name: 'a', addresses: ['198.51.100.0/24', '2001:db8:1::/64'] }, { ...reserving, autoAssign: false });
    expect(ask(allocator, { ...web, ...prefer })).toBe('192.0.2.1, 2001:db8::1');
    expect(ask(allocator, 'other')).toBe('198.51.100.0');
  });

  test('an earlier holder keeps the address; after its release the address waits for the named Service', () => {
    const allocator = withPools({ ...reserving, reserved: {} });
    ask(allocator, 'early');
    allocator.setPools([pool(reserving)]);
    expect(ask(allocator, 'early')).toBe('192.0.2.1');
    expect(ask(allocator, web)).toBe('192.0.2.2');
    allocator.release('default/early', 0);
    expect([ask(allocator, 'a'), ask(allocator, 'b')]).toEqual(['192.0.2.3', '(PoolFull)']);
    expect(ask(allocator, { ...web, requested: ['192.0.2.1'] })).toBe('192.0.2.1');
  });

  test('the named Service may share the address, and no Service joins before it holds it', () => {
    const allocator = withPools(reserving);
    const partner = { name: 'shop/partner', sharingKey: 'k', ports: ['443'], requested: ['192.0.2.1'] };
    expect(ask(allocator, partner)).toBe('(AddressReserved)');
    ask(allocator, { ...web, sharingKey: 'k' });
    expect(ask(allocator, partner)).toBe('192.0.2.1');
  });

  test('removing a reservation frees its address, and adding one withholds it', () => {
    const allocator = withPools(reserving);
    allocator.setPools([pool({ ...reserving, reserved: { '192.0.2.2': 'shop/web' } })]);
    expect([ask(allocator, 'a'), ask(allocator, 'b'), ask(allocator, 'c')]).toEqual(['192.0.2.1', '192.0.2.3', '(PoolFull)']);
  });
});

describe('keepReleasedSeconds', () => {
  const keeping: PoolLiteral = { ...small, keepReleasedSeconds: 60 };

  test('the address of a deleted Service is kept for its name, then free for all', () => {
    const allocator = withPools(keeping);
    ask(allocator, 'web');
    allocator.release('default/web', 1000);
    expect([ask(allocator, 'a'), ask(allocator, 'b')]).toEqual(['192.0.2.2', '(PoolFull)']);
    expect(ask(allocator, { name: 'b', requested: ['192.0.2.1'] })).toBe('(AddressReserved)');
    expect(allocator.expireReleased(60_999)).toEqual([]);
    expect(show(allocator.decide(request('web')))).toBe('192.0.2.1');
    expect(allocator.expireReleased(61_000).map(formatAddress)).toEqual(['192.0.2.1']);
    expect(ask(allocator, 'b')).toBe('192.0.2.1');
  });

  test('a Service that comes back in time gets its address, and the reservation ends', () => {
    const allocator = withPools(keeping);
    ask(allocator, 'other');
    ask(allocator, 'web');
    allocator.release('default/other', 0);
    allocator.release('default/web', 0);
    expect(ask(allocator, 'web')).toBe('192.0.2.2');
    allocator.setPools([pool(keeping)]);
    expect(allocator.expireReleased(60_000).map(formatAddress)).toEqual(['192.0.2.1']);
    expect(allocator.usage()).toEqual([{ pool: 'small', family: 4, total: 2n, free: 1n, assigned: 1 }]);
  });

  test('a still shared address and an address of a draining pool are not kept', () => {
    const allocator = withPools(keeping);
    ask(allocator, { name: 'a', sharingKey: 'k' });
    ask(allocator, { name: 'b', sharingKey: 'k', ports: ['443'] });
    allocator.release('default/a', 0);
    expect(ask(allocator, { name: 'c', sharingKey: 'k' })).toBe('192.0.2.1');
    allocator.setPools([pool({ ...keeping, draining: true })]);
    for (const name of ['b', 'c']) allocator.release(`default/${name}`, 0);
    allocator.setPools([pool(keeping)]);
    expect(ask(allocator, 'd')).toBe('192.0.2.1');
  });

  test('the number of kept addresses is limited: the oldest is freed first', () => {
    const allocator = withPools({ name: 'p', addresses: ['10.0.0.0/16'], keepReleasedSeconds: 60 });
    const names = Array.from({ length: limits.keptAddresses + 1 }, (_, index) => `s${index}`);
    for (const name of names) allocator.allocate(request(name));
    for (const name of names) allocator.release(`default/${name}`, 0);
    expect([ask(allocator, 'a'), ask(allocator, 's1')]).toEqual(['10.0.0.0', '10.0.0.1']);
  });
});

describe('quota', () => {
  const limited: PoolLiteral = {
    name: 'p',
    addresses: ['192.0.2.0/24', '2001:db8::/64'],
    quota: [
      { namespaceSelector: matching({}), addresses: 3 },
      { namespaceSelector: matching({ tier: 'small' }), addresses: 1 },
    ],
  };
  const namespaces = { big: {}, small: { tier: 'small' }, twin: { tier: 'small' } };
  const asking = (allocator: Allocator, literal: ServiceLiteral): string => show(allocator.allocate(request(literal, namespaces)));

  test('a namespace may hold the smallest of the quotas that select it', () => {
    const allocator = withPools(limited);
    expect(['small/a', 'small/b', 'twin/a'].map((name) => asking(allocator, { name }))).toEqual([
      '192.0.2.0',
      '(QuotaReached)',
      '192.0.2.1',
    ]);
    expect(allocator.decide(request({ name: 'small/b' }, namespaces)).reason?.details).toEqual({
      pool: 'p',
      namespace: 'small',
      used: 1,
      allowed: 1,
      more: 1,
      entry: 1,
    });
    expect(asking(allocator, { name: 'small/b', requested: ['192.0.2.9'] })).toBe('(QuotaReached)');
    allocator.release('small/a', 0);
    expect(asking(allocator, { name: 'small/b' })).toBe('192.0.2.0');
  });

  test('both families count, a shared address counts once, and a Service may exchange its address', () => {
    const allocator = withPools(limited);
    expect(asking(allocator, { name: 'small/a', ...required })).toBe('(QuotaReached)');
    expect(asking(allocator, { name: 'small/a', ...prefer, sharingKey: 'k' })).toBe('192.0.2.0');
    expect(asking(allocator, { name: 'small/b', sharingKey: 'k', ports: ['443'] })).toBe('192.0.2.0');
    allocator.release('small/b', 0);
    expect(asking(allocator, { name: 'small/a', requested: ['192.0.2.7'] })).toBe('192.0.2.7');
    expect(asking(allocator, { name: 'small/a', requested: ['192.0.2.7', '192.0.2.8'] })).toBe('192.0.2.7 (QuotaReached)');
    expect(asking(allocator, { name: 'big/a', ...required })).toBe('192.0.2.0, 2001:db8::');
    expect(asking(allocator, { name: 'big/b' })).toBe('192.0.2.1');
    expect(asking(allocator, { name: 'big/c' })).toBe('(QuotaReached)');
  });

  test('lowering a quota keeps existing addresses and counts them', () => {
    const allocator = withPools({ ...limited, quota: [] });
    for (const name of ['big/a', 'big/b', 'big/c', 'big/d']) asking(allocator, { name });
    allocator.setPools([pool(limited)]);
    expect(asking(allocator, { name: 'big/d' })).toBe('192.0.2.3');
    expect(asking(allocator, { name: 'big/e' })).toBe('(QuotaReached)');
    allocator.release('big/a', 0);
    expect(asking(allocator, { name: 'big/e' })).toBe('(QuotaReached)');
    allocator.release('big/b', 0);
    expect(asking(allocator, { name: 'big/e' })).not.toContain('(');
  });
});

test('a restart restores a kept address only if no Service holds it and its pool keeps addresses', () => {
  const allocator = withPools({ ...small, keepReleasedSeconds: 60 }, { name: 'other', addresses: ['198.51.100.1-198.51.100.1'] });
  allocator.adopt(request('holder'), [address('192.0.2.1')]);
  const kept = (text: string) => ({ service: 'default/gone', address: address(text), until: 60_000 }) as const;
  allocator.restoreReleased(['192.0.2.1', '192.0.2.2', '198.51.100.1', '203.0.113.1'].map(kept));
  expect(allocator.releasedAddresses()).toEqual([{ ...kept('192.0.2.2'), pool: 'small' }]);
  allocator.release('default/holder', 0);
  expect(ask(allocator, { name: 'a', requested: ['192.0.2.2'] })).toBe('(AddressReserved)');
  expect(ask(allocator, 'gone')).toBe('192.0.2.2');
});

describe('a Service that is being deleted', () => {
  const deleting = (literal: ServiceLiteral): AllocationRequest => ({ ...request(literal), deleting: true });

  test('it gets no address', () => {
    expect(show(withPools(small).allocate(deleting({ name: 'a' })))).toBe('(BeingDeleted)');
  });

  test('it keeps its addresses, and gets a reason only when it asks for more', () => {
    const allocator = withPools(small);
    ask(allocator, 'a');
    expect(show(allocator.allocate(deleting({ name: 'a' })))).toBe('192.0.2.1');
    expect(show(allocator.allocate(deleting({ name: 'a', requested: ['192.0.2.2'] })))).toBe('192.0.2.1 (BeingDeleted)');
    expect(ask(allocator, { name: 'b', requested: ['192.0.2.1'] })).toBe('(AddressTaken)');
  });
});

describe('a Service that is gone while its record remains', () => {
  const key = { sharingKey: 'k' };
  const withGoneService = (): Allocator => {
    const allocator = withPools(small);
    ask(allocator, { name: 'a', ...key });
    ask(allocator, { name: 'b', ...key, ports: ['443'] });
    allocator.markDeleted('default/a');
    return allocator;
  };

  test('its address goes to no other Service until the record is gone', () => {
    const allocator = withPools({ name: 'one', addresses: ['192.0.2.1-192.0.2.1'] });
    ask(allocator, 'a');
    allocator.markDeleted('default/a');
    expect(allocator.assignmentOf('default/a')).toBeUndefined();
    expect([...allocator.assignments()]).toEqual([]);
    expect(ask(allocator, 'b')).toBe('(PoolFull)');
    expect(allocator.release('default/a', 0).map(formatAddress)).toEqual(['192.0.2.1']);
    expect(ask(allocator, 'b')).toBe('192.0.2.1');
  });

  test('a Service recreated under the same name gets the recorded address if its request allows it', () => {
    expect(ask(withGoneService(), { name: 'a', ...key })).toBe('192.0.2.1');
    expect(ask(withGoneService(), 'a')).toBe('192.0.2.2');
    expect(ask(withGoneService(), { name: 'a', requestedPool: 'none' })).toBe('(PoolNotFound)');
  });

  test('a Service recreated under the same name does not get an address that its holder stops sharing', () => {
    const allocator = withGoneService();
    allocator.expect(request({ name: 'b', ports: ['443'] }));
    expect(ask(allocator, { name: 'a', ...key })).toBe('192.0.2.2');
  });

  test("the recorded address is freed once the recreated Service's new decision is written", () => {
    const allocator = withGoneService();
    allocator.release('default/b', 0);
    expect(show(allocator.stage(request({ name: 'a', requested: ['192.0.2.9'] })))).toBe('(AddressNotInPools)');
    expect(ask(allocator, { name: 'c', requested: ['192.0.2.1'] })).toBe('(AddressTaken)');
    expect(allocator.confirm('default/a').map(formatAddress)).toEqual(['192.0.2.1']);
    expect(ask(allocator, { name: 'c', requested: ['192.0.2.1'] })).toBe('192.0.2.1');
  });
});

describe('retries after an address was freed', () => {
  const waiting = (name: string, since: number, rest: Omit<ServiceLiteral, 'name'> = {}) => ({
    request: request({ name, ...rest }),
    since,
  });

  test('the Service that waited longest and can use the address is retried', () => {
    const allocator = withPools({ name: 'one', addresses: ['192.0.2.1-192.0.2.1'] });
    ask(allocator, 'holder');
    const queue = [
      waiting('late', 3),
      waiting('six', 1, { clusterIPs: ['fd96::1'] }),
      waiting('early', 2),
      waiting('else', 0, { requested: ['192.0.2.9'] }),
    ];
    expect(servicesToRetry(queue, [], allocator)).toEqual([]);
    expect(servicesToRetry(queue, allocator.release('default/holder', 0), allocator)).toEqual(['default/early']);
  });

  test('Services with a sharing key are retried beside the first one', () => {
    const allocator = withPools({ name: 'one', addresses: ['192.0.2.1-192.0.2.1'] });
    ask(allocator, 'holder');
    const queue = [waiting('b', 2, { sharingKey: 'k', ports: ['443'] }), waiting('a', 1, { sharingKey: 'k' }), waiting('c', 3)];
    expect(servicesToRetry(queue, allocator.release('default/holder', 0), allocator)).toEqual(['default/a', 'default/b', 'default/c']);
  });

  test('a Service that keeps its old address while it waits for another is retried', () => {
    const allocator = withPools(small);
    ask(allocator, 'a');
    ask(allocator, 'b');
    const wish = { name: 'b', requested: ['192.0.2.1'] };
    ask(allocator, wish);
    expect(servicesToRetry([waiting('b', 1, wish)], allocator.release('default/a', 0), allocator)).toEqual(['default/b']);
  });
});
