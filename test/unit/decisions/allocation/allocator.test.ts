import { describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { createAllocator, type Allocation, type Allocator } from '../../../../src/decisions/allocation/allocator.ts';
import { limits } from '../../../../src/decisions/allocation/limits.ts';
import { effectivePools } from '../../../../src/decisions/allocation/pools/pools.ts';
import { allocationRequest, type AllocationRequest } from '../../../../src/decisions/allocation/request.ts';
import { servicesToRetry } from '../../../../src/decisions/allocation/services-to-retry.ts';
import { cluster, matching, pool, service, type PoolLiteral, type ServiceLiteral } from '../fixtures.ts';

const dual = { clusterIPs: ['10.96.0.1', 'fd96::1'] };
const prefer = { ...dual, ipFamilyPolicy: 'PreferDualStack' } as const;
const required = { ...dual, ipFamilyPolicy: 'RequireDualStack' } as const;

function request(literal: ServiceLiteral | string, namespaces: Readonly<Record<string, Record<string, string>>> = {}): AllocationRequest {
  return allocationRequest(service(typeof literal === 'string' ? { name: literal } : literal), cluster({ namespaces }));
}

const withPools = (...pools: readonly PoolLiteral[]): Allocator => createAllocator(pools.map(pool));

/** "192.0.2.1, 2001:db8::1", then "(Reason)" where there is one. */
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

  test('pinned by priority, 0 last, then by name, then the others', () => {
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
      '(NoPoolFits)',
    ]);
  });

  test.each<[string, PoolLiteral['serviceAllocation'], string]>([
    ['a namespace by name', { namespaces: ['default'] }, '192.0.2.1'],
    ['another namespace', { namespaces: ['other'] }, '(PoolNamespaceNotSelected)'],
    ['a namespace by label', { namespaceSelectors: [matching({ team: 'a' })] }, '192.0.2.1'],
    ['a name or a label', { namespaces: ['other'], namespaceSelectors: [matching({ team: 'a' })] }, '192.0.2.1'],
    ['a Service by label', { serviceSelectors: [matching({ app: 'web' })] }, '192.0.2.1'],
    ['both must match', { namespaces: ['default'], serviceSelectors: [matching({ app: 'db' })] }, '(PoolServiceNotSelected)'],
    ['nothing: everything matches', {}, '192.0.2.1'],
  ])('a pool selects %s', (_, serviceAllocation, expected) => {
    const allocator = withPools({ ...small, ...defined({ serviceAllocation }) });
    expect(show(allocator.allocate(request({ name: 'web', labels: { app: 'web' } }, { default: { team: 'a' } })))).toBe(expected);
  });

  test('autoAssign: false gives on request only', () => {
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

  test('pool by pool it says why not', () => {
    const allocator = withPools(
      { name: 'full', addresses: ['192.0.2.1-192.0.2.1'] },
      { name: 'manual', addresses: ['192.0.3.0/24'], autoAssign: false },
      { name: 'six', addresses: ['2001:db8::/64'] },
    );
    allocator.allocate(request('holder'));
    const { reason, pools } = allocator.allocate(request('web'));
    expect(reason?.code).toBe('NoPoolFits');
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
});

describe('requested addresses', () => {
  test.each<[string, Omit<ServiceLiteral, 'name'>, string]>([
    ['a free one', { requested: ['192.0.2.2'] }, '192.0.2.2'],
    ['one that is taken', { requested: ['192.0.2.1'] }, '(AddressTaken)'],
    ['one outside the pools', { requested: ['203.0.113.1'] }, '(AddressNotInPools)'],
    ['another family than the Service has', { requested: ['2001:db8::1'] }, '(RequestedFamilyMismatch)'],
    ['one of two required families', { ...required, requested: ['192.0.2.2'] }, '(RequestedFamilyMismatch)'],
    ['one of two preferred families', { ...prefer, requested: ['2001:db8::1'] }, '2001:db8::1'],
    ['both', { ...required, requested: ['2001:db8::1', '192.0.2.2'] }, '2001:db8::1, 192.0.2.2'],
    ['of two pools', { ...required, requested: ['192.0.2.2', '2001:db8:1::1'] }, '192.0.2.2, 2001:db8:1::1'],
    ['of one family', { requested: ['192.0.2.2', '192.0.2.3'] }, '192.0.2.2, 192.0.2.3'],
    ['all or none', { requested: ['192.0.2.2', '192.0.2.1'] }, '(AddressTaken)'],
    ['in another pool than requested', { requested: ['192.0.2.2'], requestedPool: 'six' }, '(AddressInOtherPool)'],
    ['one that avoidBuggyIPs leaves out', { requested: ['192.0.2.255'] }, '(AddressAvoided)'],
    ['something unreadable', { invalidRequest: { field: 'spec.loadBalancerIP', problem: 'no address' } }, '(InvalidRequest)'],
  ])('%s', (_, literal, expected) => {
    const allocator = withPools(
      { name: 'four', addresses: ['192.0.2.0/24', '2001:db8::/64'], avoidBuggyIPs: true },
      { name: 'six', addresses: ['2001:db8:1::/64'] },
    );
    expect(ask(allocator, 'holder')).toBe('192.0.2.1');
    expect(ask(allocator, { name: 'web', ...literal })).toBe(expected);
  });

  test('who holds it is said, and why it is not shared', () => {
    const allocator = withPools(small);
    allocator.allocate(request('holder'));
    expect(allocator.decide(request({ name: 'web', requested: ['192.0.2.1'] })).reason).toEqual({
      code: 'AddressTaken',
      details: { address: '192.0.2.1', by: 'default/holder', why: 'not both Services have a sharing key' },
    });
  });
});

describe('address families', () => {
  const both: PoolLiteral = { name: 'both', addresses: ['192.0.2.1-192.0.2.2', '2001:db8::1-2001:db8::1'] };
  const four: PoolLiteral = { name: 'a-four', addresses: ['198.51.100.0/24'] };

  test('SingleStack takes the first of ipFamilies', () => {
    expect(ask(withPools(both), { name: 'web', clusterIPs: ['fd96::1'] })).toBe('2001:db8::1');
  });

  test('both come from one pool, in the order of ipFamilies', () => {
    expect(ask(withPools(four, both), { name: 'web', ...required, clusterIPs: ['fd96::1', '10.96.0.1'] })).toBe('2001:db8::1, 192.0.2.1');
  });

  test('RequireDualStack takes both or none', () => {
    const allocator = withPools(both);
    expect(ask(allocator, { name: 'one', ...required })).toBe('192.0.2.1, 2001:db8::1');
    expect(ask(allocator, { name: 'two', ...required })).toBe('(PoolFull)');
    expect(ask(withPools(four), { name: 'two', ...required })).toBe('(PoolHasNoFamily)');
  });

  test('PreferDualStack prefers a pool with both, then the primary family, then the other', () => {
    const allocator = withPools(four, both);
    expect(ask(allocator, { name: 'one', ...prefer })).toBe('192.0.2.1, 2001:db8::1');
    expect(ask(allocator, { name: 'two', ...prefer })).toBe('198.51.100.0');
    const six = withPools({ name: 'six', addresses: ['2001:db8::/64'] });
    expect(ask(six, { name: 'three', ...prefer })).toBe('2001:db8::');
  });

  test('the missing family comes later, from the same pool', () => {
    const allocator = withPools(both);
    allocator.allocate(request({ name: 'six', clusterIPs: ['fd96::2'] }));
    expect(ask(allocator, { name: 'web', ...prefer })).toBe('192.0.2.1');
    allocator.release('default/six', 0);
    expect(ask(allocator, { name: 'web', ...prefer })).toBe('192.0.2.1, 2001:db8::1');
  });

  test('a Service that becomes dual-stack keeps what it has, also where the rest is not to be had', () => {
    const allocator = withPools(four, both);
    expect(ask(allocator, 'web')).toBe('198.51.100.0');
    expect(ask(allocator, { name: 'web', ...required })).toBe('198.51.100.0 (PoolHasNoFamily)');
  });

  test('one that becomes single-stack lets the other address go', () => {
    const allocator = withPools(both);
    allocator.allocate(request({ name: 'web', ...required }));
    const { addresses, freed } = allocator.allocate(request('web'));
    expect([addresses, freed].map((list) => list.map(formatAddress))).toEqual([['192.0.2.1'], ['2001:db8::1']]);
  });
});

describe('a change of what is asked for', () => {
  const other: PoolLiteral = { name: 'other', addresses: ['198.51.100.1-198.51.100.1'], autoAssign: false };

  test('moves the Service when it can be had', () => {
    const allocator = withPools(small, other);
    expect(ask(allocator, 'web')).toBe('192.0.2.1');
    expect(ask(allocator, { name: 'web', requested: ['192.0.2.2'] })).toBe('192.0.2.2');
    expect(allocator.holdersOf(address('192.0.2.1'))).toEqual([]);
    const moved = allocator.allocate(request({ name: 'web', requestedPool: 'other' }));
    expect([show(moved), moved.pool, moved.freed.map(formatAddress)]).toEqual(['198.51.100.1', 'other', ['192.0.2.2']]);
  });

  test('keeps the old address while it cannot, and moves when it can', () => {
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

  test('a request that is taken back leaves the Service where it was', () => {
    const allocator = withPools(small);
    ask(allocator, 'web');
    expect(ask(allocator, { name: 'web', requested: ['203.0.113.1'] })).toBe('192.0.2.1 (AddressNotInPools)');
    expect(ask(allocator, 'web')).toBe('192.0.2.1');
  });

  test('renumbering by name: the new address comes beside the old one, which goes when it is no longer asked for', () => {
    const allocator = withPools({ ...small, draining: true }, { name: 'new', addresses: ['198.51.100.1-198.51.100.9'] });
    allocator.adopt(request('web'), [address('192.0.2.1')]);
    expect(ask(allocator, { name: 'web', requested: ['192.0.2.1', '198.51.100.5'] })).toBe('192.0.2.1, 198.51.100.5');
    const done = allocator.allocate(request({ name: 'web', requested: ['198.51.100.5'] }));
    expect([show(done), done.freed.map(formatAddress)]).toEqual(['198.51.100.5', ['192.0.2.1']]);
  });

  test('decide changes nothing', () => {
    const allocator = withPools(small);
    expect(show(allocator.decide(request('web')))).toBe('192.0.2.1');
    expect(allocator.assignmentOf('default/web')).toBeUndefined();
    expect(allocator.usage()).toEqual([{ pool: 'small', family: 4, total: 2n, free: 2n, assigned: 0 }]);
  });
});

describe('pools that change under a Service', () => {
  test.each<[string, PoolLiteral[], string]>([
    ['deleted', [], '192.0.2.1 (HeldOutsidePools)'],
    ['shrunk', [{ name: 'small', addresses: ['192.0.2.2-192.0.2.2'] }], '192.0.2.1 (HeldOutsidePools)'],
    ['fenced off', [{ ...small, serviceAllocation: { namespaces: ['other'] } }], '192.0.2.1 (PoolNamespaceNotSelected)'],
    ['manual', [{ ...small, autoAssign: false }], '192.0.2.1'],
    ['renamed', [{ name: 'tiny', addresses: ['192.0.2.0/30'] }], '192.0.2.1'],
  ])('%s: it stays, before and after a restart', (_, pools, expected) => {
    const allocator = withPools(small);
    ask(allocator, 'web');
    allocator.setPools(pools.map(pool));
    expect(ask(allocator, 'web')).toBe(expected);
    const restarted = createAllocator(pools.map(pool));
    expect(show(restarted.adopt(request('web'), [address('192.0.2.1')]))).toBe(expected);
    expect(ask(restarted, 'web')).toBe(expected);
  });

  test.each([
    ['over a part of it', ['192.0.2.1-192.0.2.1']],
    ['over all of it', ['192.0.0.0/16']],
  ])('overlapped by another, %s: what was given from it stays in place, and it gives nothing more', (_, addresses) => {
    const newcomer = pool({ name: 'aaa', addresses });
    const { pools, refused } = effectivePools(new Map([pool(small), newcomer].map((pool) => [pool.metadata.name, pool])));
    expect(pools).toEqual([newcomer]);
    const allocator = withPools(small);
    for (const name of ['one', 'two']) expect(ask(allocator, { name, requestedPool: 'small' })).not.toContain('(');
    allocator.setPools(pools, [...refused.values()]);
    expect(ask(allocator, { name: 'one', requestedPool: 'small' })).toBe('192.0.2.1');
    expect(ask(allocator, { name: 'two', requestedPool: 'small' })).toBe('192.0.2.2');
    expect(ask(allocator, { name: 'three', requestedPool: 'small' })).toBe('(PoolRefused)');
    expect(allocator.survey(request('four')).find(({ pool }) => pool === 'small')?.reason?.code).toBe('PoolRefused');
    allocator.release('default/two', 0);
    allocator.setPools([pool(small)]);
    expect(ask(allocator, 'five')).toBe('192.0.2.2');
  });

  test('an address of a refused pool is not given on request either', () => {
    const { pools, refused } = effectivePools(
      new Map([pool(small), pool({ name: 'aaa', addresses: ['192.0.2.1-192.0.2.1'] })].map((pool) => [pool.metadata.name, pool])),
    );
    const allocator = createAllocator(pools, [...refused.values()]);
    expect(ask(allocator, { name: 'web', requested: ['192.0.2.2'] })).toBe('(PoolRefused)');
    expect(ask(allocator, { name: 'web', requested: ['192.0.2.1'] })).toBe('192.0.2.1');
  });

  test('what it holds is not given to another when the pool comes back', () => {
    const allocator = withPools(small);
    ask(allocator, 'web');
    allocator.setPools([]);
    allocator.setPools([pool(small)]);
    expect(ask(allocator, 'db')).toBe('192.0.2.2');
  });

  test('an address that the pool has come to avoid is kept, and not given again', () => {
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

describe('sharing', () => {
  const one: PoolLiteral = { name: 'one', addresses: ['192.0.2.1-192.0.2.1'] };
  const local = { externalTrafficPolicy: 'Local' } as const;
  const key = { sharingKey: 'k' };
  /** With another port than the Service that is given none. */
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
    ['other namespace, the holder admits', { ...key, ...admitting('*') }, { name: 'other/b', ...key, ports: ['443'] }, false],
    ['other namespace, the newcomer admits', { ...key, ports: ['80'] }, { name: 'other/b', ...key, ...admitting('default') }, false],
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
  ])('%s', (_, first, second, shared) => {
    const allocator = withPools(one);
    expect(ask(allocator, { name: 'a', ...first })).toBe('192.0.2.1');
    expect(ask(allocator, { name: 'b', ...second })).toBe(shared ? '192.0.2.1' : '(PoolFull)');
    // By name it is the same.
    expect(ask(allocator, { name: 'b', ...second, requested: ['192.0.2.1'] })).toBe(shared ? '192.0.2.1' : '(AddressTaken)');
  });

  test('across namespaces a Service that is no longer admitted moves, and the one that stays is not touched', () => {
    const allocator = withPools(small);
    const b = { name: 'other/b', ...key, ...admitting('default') };
    ask(allocator, { name: 'a', ...key, ...admitting('other') });
    expect(ask(allocator, b)).toBe('192.0.2.1');
    expect(ask(allocator, { ...b, sharingNamespaces: [] })).toBe('192.0.2.2');
    expect(allocator.holdersOf(address('192.0.2.1'))).toEqual(['default/a']);
  });

  test('a partner is preferred to a free address', () => {
    const allocator = withPools(small);
    ask(allocator, { name: 'x' });
    ask(allocator, { name: 'a', ...key, ports: ['80'] });
    allocator.release('default/x', 0);
    expect(ask(allocator, { name: 'b', ...key, ports: ['443'] })).toBe('192.0.2.2');
  });

  test('an address is free when the last has let go', () => {
    const allocator = withPools(one);
    ask(allocator, { name: 'a', ...key, ports: ['80'] });
    ask(allocator, { name: 'b', ...key, ports: ['443'] });
    allocator.release('default/a', 0);
    expect(ask(allocator, 'c')).toBe('(PoolFull)');
    allocator.release('default/b', 0);
    expect(ask(allocator, 'c')).toBe('192.0.2.1');
  });

  test('a Service that may no longer share moves; where it cannot, it stays and is told; its partner is not touched', () => {
    const allocator = withPools(small);
    const [a, b] = [
      { name: 'a', ...key, ports: ['80'] },
      { name: 'b', ...key, ports: ['443'] },
    ];
    ask(allocator, a);
    ask(allocator, b);
    ask(allocator, 'c');
    const alone = { name: 'b', ports: ['443'] };
    expect(ask(allocator, alone)).toBe('192.0.2.1 (AddressTaken)');
    expect(ask(allocator, a)).toBe('192.0.2.1');
    allocator.release('default/c', 0);
    expect(ask(allocator, a)).toBe('192.0.2.1');
    expect(ask(allocator, alone)).toBe('192.0.2.2');
  });

  test.each([
    ['192.0.2.1', {}],
    ['2001:db8::1', { clusterIPs: ['fd96::1'] }],
  ])('of three that share %s two change at once: both are told, or move, and the third is not touched', (only, family) => {
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
    expect(ask(allocator, other)).toBe(`${only} (AddressTaken)`);
    // That the first had left already is no excuse for leaving the third.
    expect(ask(allocator, alone)).toBe(`${only} (AddressTaken)`);
    expect(ask(allocator, c)).toBe(only);
    allocator.release('default/c', 0);
    allocator.release('default/a', 0);
    expect(ask(allocator, alone)).toBe(only);
  });

  test('where the record has one address twice, the second is given another one, and waits with the reason where there is none', () => {
    const allocator = withPools({ name: 'two', addresses: ['192.0.2.1-192.0.2.2'] });
    const twice = [address('192.0.2.1')];
    expect(show(allocator.adopt(request('a'), twice))).toBe('192.0.2.1');
    expect(show(allocator.adopt(request('b'), twice))).toBe('192.0.2.1 (AddressTaken)');
    expect(show(allocator.adopt(request('c'), twice))).toBe('192.0.2.1 (AddressTaken)');
    expect([ask(allocator, 'c'), ask(allocator, 'a'), ask(allocator, 'b')]).toEqual(['192.0.2.2', '192.0.2.1', '192.0.2.1 (AddressTaken)']);
    allocator.release('default/c', 0);
    expect(ask(allocator, 'b')).toBe('192.0.2.2');
  });

  test('nobody gives way to one who is about to leave', () => {
    const allocator = withPools(small);
    allocator.adopt(request('a'), [address('192.0.2.1')]);
    allocator.adopt(request('b'), [address('192.0.2.1')]);
    expect(show(allocator.stage(request({ name: 'a', requested: ['192.0.2.2'] })))).toBe('192.0.2.2');
    expect(show(allocator.stage(request('b')))).toBe('192.0.2.1 (AddressTaken)');
    allocator.confirm('default/a');
    expect(show(allocator.stage(request('b')))).toBe('192.0.2.1');
  });

  test('of two families only the one that another has moves, to the same pool where that has room', () => {
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

  test('one who shares with the first in the right stays, whatever a third has on record', () => {
    const allocator = withPools(small);
    const key = { sharingKey: 'k' };
    allocator.adopt(request({ ...key, name: 'a', ports: ['80'] }), [address('192.0.2.1')]);
    allocator.adopt(request('intruder'), [address('192.0.2.1')]);
    allocator.adopt(request({ ...key, name: 'b', ports: ['443'] }), [address('192.0.2.1')]);
    expect(ask(allocator, { ...key, name: 'b', ports: ['443'] })).toMatch(/^192\.0\.2\.1 /);
    expect(ask(allocator, 'intruder')).toBe('192.0.2.2');
    expect(ask(allocator, { ...key, name: 'b', ports: ['443'] })).toBe('192.0.2.1');
  });

  test("a record in which two share by others' rules moves nobody", () => {
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

  test('with herald.dev/keep-addresses the new address comes beside the old one, which goes with the annotation', () => {
    const allocator = withPools({ ...small, draining: true }, fresh);
    allocator.adopt(request('web'), [address('192.0.2.1')]);
    expect(ask(allocator, moving)).toBe('198.51.100.1, 192.0.2.1');
    expect(ask(allocator, moving)).toBe('198.51.100.1, 192.0.2.1');
    const { addresses, freed, reason } = allocator.allocate(request({ name: 'web', requestedPool: 'fresh' }));
    expect([addresses, freed].map((list) => list.map(formatAddress))).toEqual([['198.51.100.1'], ['192.0.2.1']]);
    expect(reason).toBeUndefined();
  });

  test('while the new address is not to be had nothing changes', () => {
    const allocator = withPools(small, { ...fresh, draining: true });
    ask(allocator, 'web');
    expect(ask(allocator, moving)).toBe('192.0.2.1 (PoolDraining)');
    allocator.setPools([pool(small), pool(fresh)]);
    expect(ask(allocator, moving)).toBe('198.51.100.1, 192.0.2.1');
  });

  test('a restart in between changes nothing, neither with the annotation nor when it goes meanwhile', () => {
    for (const [now, expected] of [
      [moving, '198.51.100.1, 192.0.2.1'],
      [{ name: 'web', requestedPool: 'fresh' }, '198.51.100.1'],
    ] as const) {
      const restarted = withPools(small, fresh);
      restarted.adopt(request(now), [address('198.51.100.1'), address('192.0.2.1')]);
      expect(ask(restarted, now)).toBe(expected);
    }
  });

  test('both families, and requested addresses', () => {
    const allocator = withPools({ name: 'old', addresses: ['192.0.2.1-192.0.2.1', '2001:db8:1::/64'] }, fresh);
    ask(allocator, { name: 'web', ...required, requestedPool: 'old' });
    const asked = { ...required, name: 'web', requested: ['2001:db8::7', '198.51.100.7'] };
    expect(ask(allocator, { ...asked, keepsAddresses: true })).toBe('2001:db8::7, 198.51.100.7, 192.0.2.1, 2001:db8:1::');
    expect(ask(allocator, asked)).toBe('2001:db8::7, 198.51.100.7');
  });

  test('has a bound', () => {
    const allocator = withPools({ name: 'p', addresses: ['192.0.2.0/24'] });
    const renumber = (octet: number): string => ask(allocator, { name: 'web', requested: [`192.0.2.${octet}`], keepsAddresses: true });
    for (let octet = 1; octet <= 16; octet++) expect(renumber(octet)).not.toContain('(');
    expect(renumber(17)).toContain('(TooManyAddresses)');
    expect(ask(allocator, { name: 'web', requested: ['192.0.2.17'] })).toBe('192.0.2.17');
  });
});

describe('a draining pool', () => {
  const draining: PoolLiteral = { ...small, draining: true };

  test('gives nothing new, by no way, and what is there stays, also over a restart', () => {
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

  test('does not complete a second family', () => {
    const both = { name: 'p', addresses: ['192.0.2.0/24', '2001:db8::/64'], draining: true };
    const allocator = withPools(both);
    allocator.adopt(request('web'), [address('192.0.2.1')]);
    expect(ask(allocator, { name: 'web', ...prefer })).toBe('192.0.2.1');
    expect(ask(allocator, { name: 'web', ...required })).toBe('192.0.2.1 (PoolDraining)');
  });

  test('leaves new Services to the others', () => {
    expect(ask(withPools(draining, { name: 'z', addresses: ['198.51.100.1-198.51.100.1'] }), 'web')).toBe('198.51.100.1');
  });
});

describe('reservations', () => {
  const reserving: PoolLiteral = {
    name: 'p',
    addresses: ['192.0.2.1-192.0.2.3', '2001:db8::1-2001:db8::3'],
    reserved: { '192.0.2.1': 'shop/web', '2001:db8::1': 'shop/web' },
  };
  const web = { name: 'shop/web' };

  test('only the named Service gets the address, whenever it comes', () => {
    const allocator = withPools(reserving);
    expect(allocator.usage()[0]).toEqual({ pool: 'p', family: 4, total: 3n, free: 2n, assigned: 0 });
    expect(['a', 'b', 'c'].map((name) => ask(allocator, name))).toEqual(['192.0.2.2', '192.0.2.3', '(PoolFull)']);
    expect(ask(allocator, { name: 'c', requested: ['192.0.2.1'] })).toBe('(AddressReserved)');
    expect(ask(allocator, { ...web, ...required })).toBe('192.0.2.1, 2001:db8::1');
    allocator.release('shop/web', 0);
    expect(ask(allocator, 'c')).toBe('(PoolFull)');
    expect(ask(allocator, web)).toBe('192.0.2.1');
  });

  test('go before every other pool, also where the pool is not assigned automatically', () => {
    const allocator = withPools({ name: 'a', addresses: ['198.51.100.0/24', '2001:db8:1::/64'] }, { ...reserving, autoAssign: false });
    expect(ask(allocator, { ...web, ...prefer })).toBe('192.0.2.1, 2001:db8::1');
    expect(ask(allocator, 'other')).toBe('198.51.100.0');
  });

  test('whoever has the address already keeps it; afterwards it waits', () => {
    const allocator = withPools({ ...reserving, reserved: {} });
    ask(allocator, 'early');
    allocator.setPools([pool(reserving)]);
    expect(ask(allocator, 'early')).toBe('192.0.2.1');
    expect(ask(allocator, web)).toBe('192.0.2.2');
    allocator.release('default/early', 0);
    expect([ask(allocator, 'a'), ask(allocator, 'b')]).toEqual(['192.0.2.3', '(PoolFull)']);
    expect(ask(allocator, { ...web, requested: ['192.0.2.1'] })).toBe('192.0.2.1');
  });

  test('the owner may share what he holds, nobody joins before him', () => {
    const allocator = withPools(reserving);
    const partner = { name: 'shop/partner', sharingKey: 'k', ports: ['443'], requested: ['192.0.2.1'] };
    expect(ask(allocator, partner)).toBe('(AddressReserved)');
    ask(allocator, { ...web, sharingKey: 'k' });
    expect(ask(allocator, partner)).toBe('192.0.2.1');
  });

  test('a reservation that goes frees the address, one that comes keeps it', () => {
    const allocator = withPools(reserving);
    allocator.setPools([pool({ ...reserving, reserved: { '192.0.2.2': 'shop/web' } })]);
    expect([ask(allocator, 'a'), ask(allocator, 'b'), ask(allocator, 'c')]).toEqual(['192.0.2.1', '192.0.2.3', '(PoolFull)']);
  });
});

describe('keepReleasedSeconds', () => {
  const keeping: PoolLiteral = { ...small, keepReleasedSeconds: 60 };

  test('what a deleted Service held is kept for its name, and free for all afterwards', () => {
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

  test('a Service that comes back in time has its address, and nothing is left of the keeping', () => {
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

  test('is not for an address that somebody shares, nor for a pool that drains', () => {
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

  test('has a bound: what was let go first is free first', () => {
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

  test('each namespace that a selector selects may hold so many, the least of several', () => {
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
    });
    expect(asking(allocator, { name: 'small/b', requested: ['192.0.2.9'] })).toBe('(QuotaReached)');
    allocator.release('small/a', 0);
    expect(asking(allocator, { name: 'small/b' })).toBe('192.0.2.0');
  });

  test('both families count, a shared address counts once, and a Service may exchange what it has', () => {
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

  test('that is lowered takes nothing away, and counts what was there before', () => {
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

test('what was kept before a restart is kept no longer where somebody has it by now, or no pool keeps it', () => {
  const allocator = withPools({ ...small, keepReleasedSeconds: 60 }, { name: 'other', addresses: ['198.51.100.1-198.51.100.1'] });
  allocator.adopt(request('holder'), [address('192.0.2.1')]);
  const kept = (text: string) => ({ service: 'default/gone', address: address(text), until: 60_000 }) as const;
  allocator.restoreReleased(['192.0.2.1', '192.0.2.2', '198.51.100.1', '203.0.113.1'].map(kept));
  expect(allocator.releasedAddresses()).toEqual([{ ...kept('192.0.2.2'), pool: 'small' }]);
  allocator.release('default/holder', 0);
  expect(ask(allocator, { name: 'a', requested: ['192.0.2.2'] })).toBe('(AddressReserved)');
  expect(ask(allocator, 'gone')).toBe('192.0.2.2');
});

describe('a Service whose deletion waits for somebody', () => {
  const deleting = (literal: ServiceLiteral): AllocationRequest => ({ ...request(literal), deleting: true });

  test('is given nothing', () => {
    expect(show(withPools(small).allocate(deleting({ name: 'a' })))).toBe('(BeingDeleted)');
  });

  test('keeps what it has, and is told nothing but where it asks for more', () => {
    const allocator = withPools(small);
    ask(allocator, 'a');
    expect(show(allocator.allocate(deleting({ name: 'a' })))).toBe('192.0.2.1');
    expect(show(allocator.allocate(deleting({ name: 'a', requested: ['192.0.2.2'] })))).toBe('192.0.2.1 (BeingDeleted)');
    expect(ask(allocator, { name: 'b', requested: ['192.0.2.1'] })).toBe('(AddressTaken)');
  });
});

describe('a Service that is gone while its record is not', () => {
  const key = { sharingKey: 'k' };
  const left = (): Allocator => {
    const allocator = withPools(small);
    ask(allocator, { name: 'a', ...key });
    ask(allocator, { name: 'b', ...key, ports: ['443'] });
    allocator.markDeleted('default/a');
    return allocator;
  };

  test('leaves what it held to nobody else until the record is gone', () => {
    const allocator = withPools({ name: 'one', addresses: ['192.0.2.1-192.0.2.1'] });
    ask(allocator, 'a');
    allocator.markDeleted('default/a');
    expect(allocator.assignmentOf('default/a')).toBeUndefined();
    expect([...allocator.assignments()]).toEqual([]);
    expect(ask(allocator, 'b')).toBe('(PoolFull)');
    expect(allocator.release('default/a', 0).map(formatAddress)).toEqual(['192.0.2.1']);
    expect(ask(allocator, 'b')).toBe('192.0.2.1');
  });

  test('has a successor that gets what is on record, if it may', () => {
    expect(ask(left(), { name: 'a', ...key })).toBe('192.0.2.1');
    expect(ask(left(), 'a')).toBe('192.0.2.2');
    expect(ask(left(), { name: 'a', requestedPool: 'none' })).toBe('(PoolNotFound)');
  });

  test('has no claim against one that is about to share no more', () => {
    const allocator = left();
    allocator.expect(request({ name: 'b', ports: ['443'] }));
    expect(ask(allocator, { name: 'a', ...key })).toBe('192.0.2.2');
  });

  test('and whose successor takes something else, or nothing, frees it when that is written down', () => {
    const allocator = left();
    allocator.release('default/b', 0);
    expect(show(allocator.stage(request({ name: 'a', requested: ['192.0.2.9'] })))).toBe('(AddressNotInPools)');
    expect(ask(allocator, { name: 'c', requested: ['192.0.2.1'] })).toBe('(AddressTaken)');
    expect(allocator.confirm('default/a').map(formatAddress)).toEqual(['192.0.2.1']);
    expect(ask(allocator, { name: 'c', requested: ['192.0.2.1'] })).toBe('192.0.2.1');
  });
});

describe('who is retried when an address is freed', () => {
  const waiting = (name: string, since: number, rest: Omit<ServiceLiteral, 'name'> = {}) => ({
    request: request({ name, ...rest }),
    since,
  });

  test('the longest waiting that can use it', () => {
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

  test('sharers are asked beyond that', () => {
    const allocator = withPools({ name: 'one', addresses: ['192.0.2.1-192.0.2.1'] });
    ask(allocator, 'holder');
    const queue = [waiting('b', 2, { sharingKey: 'k', ports: ['443'] }), waiting('a', 1, { sharingKey: 'k' }), waiting('c', 3)];
    expect(servicesToRetry(queue, allocator.release('default/holder', 0), allocator)).toEqual(['default/a', 'default/b', 'default/c']);
  });

  test('one that keeps its old address while it waits for another', () => {
    const allocator = withPools(small);
    ask(allocator, 'a');
    ask(allocator, 'b');
    const wish = { name: 'b', requested: ['192.0.2.1'] };
    ask(allocator, wish);
    expect(servicesToRetry([waiting('b', 1, wish)], allocator.release('default/a', 0), allocator)).toEqual(['default/b']);
  });
});
