import { describe, expect, test } from 'vitest';
import { allocatorInSlices, allocatorOf, expectedAddresses, explainAllocation } from '../../../../src/explain/pools/allocation.ts';
import { cluster, service, type ClusterLiteral } from '../../decisions/fixtures.ts';

const web = { name: 'shop/web', clusterIPs: ['10.96.0.1'] };

function explain(literal: ClusterLiteral, name = 'shop/web'): ReturnType<typeof explainAllocation> {
  const snapshot = cluster(literal);
  const found = snapshot.services.get(name as 'shop/web');
  if (found === undefined) throw new RangeError(name);
  return explainAllocation(snapshot, found);
}

test('an allocator built in slices lets other work run between Services and has the same addresses', async () => {
  const names = ['a', 'b', 'c'] as const;
  const snapshot = cluster({
    services: names.map((name, index) => ({ name: `shop/${name}`, assigned: [`192.0.2.${index + 1}`] })),
    pools: [{ name: 'main', addresses: ['192.0.2.0/28'] }],
  });
  let pauses = 0;
  const slice = { isUsedUp: true, yield: async () => void pauses++ };
  const made = await allocatorInSlices({ snapshot }, slice);
  expect(pauses).toBe(names.length);
  expect([...made.assignments()]).toEqual([...allocatorOf(snapshot).assignments()]);
  expect(made.usage()).toMatchObject([{ pool: 'main', assigned: 3, free: 13n }]);
});

describe('explainAllocation', () => {
  test('each address has its pool, IPv4 and IPv6', () => {
    const { addresses, reason, pools } = explain({
      services: [{ name: 'shop/web', clusterIPs: ['10.96.0.1', 'fd00::1'], assigned: ['192.0.2.1', '2001:db8::1'] }],
      pools: [{ name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/124'] }],
    });
    expect(addresses).toEqual([
      { address: '192.0.2.1', pool: 'main' },
      { address: '2001:db8::1', pool: 'main' },
    ]);
    expect(reason).toBeUndefined();
    expect(pools).toEqual([]);
  });

  test('every pool has a reason, in the order in which pools are tried', () => {
    const { addresses, reason, pools } = explain({
      namespaces: { shop: {} },
      services: [
        { ...web, labels: { tier: 'front' } },
        { name: 'shop/other', assigned: ['192.0.2.1'] },
      ],
      pools: [
        { name: 'full', addresses: ['192.0.2.1-192.0.2.1'] },
        { name: 'foreign', addresses: ['192.0.2.16/28'], serviceAllocation: { namespaces: ['guest'] } },
        { name: 'manual', addresses: ['192.0.2.32/28'], autoAssign: false },
        {
          name: 'picky',
          addresses: ['192.0.2.48/28'],
          serviceAllocation: { serviceSelectors: [{ matchLabels: { tier: 'back' }, matchExpressions: [] }] },
        },
        { name: 'six', addresses: ['2001:db8::/124'] },
      ],
    });
    expect(addresses).toEqual([]);
    expect(reason?.code).toBe('PoolFull');
    expect(Object.fromEntries(pools.map(({ pool, reason: refusal }) => [pool, refusal?.code]))).toEqual({
      full: 'PoolFull',
      foreign: 'PoolNamespaceNotSelected',
      manual: 'PoolNotAutoAssigned',
      picky: 'PoolServiceNotSelected',
      six: 'PoolHasNoFamily',
    });
  });

  test('an address whose pool was deleted is shown without a pool', () => {
    const { addresses } = explain({ services: [{ ...web, assigned: ['192.0.2.1'] }] });
    expect(addresses).toEqual([{ address: '192.0.2.1' }]);
  });

  test.each([
    ['NotLoadBalancer', { type: 'ClusterIP' as const }],
    ['OtherLoadBalancerClass', { loadBalancerClass: 'example.com/other' }],
  ])('a Service that takes no address from a pool has a reason: %s', (code, fields) => {
    const { reason, pools } = explain({ services: [{ ...web, ...fields }], pools: [{ name: 'main', addresses: ['192.0.2.0/28'] }] });
    expect(reason?.code).toBe(code);
    expect(pools).toEqual([]);
  });

  test('a pool with only kept addresses free is full, except for the Service that released one', () => {
    const pools = [{ name: 'main', addresses: ['192.0.2.1-192.0.2.1'], keepReleasedSeconds: 600 }];
    const snapshot = cluster({ services: [web, { name: 'shop/gone', clusterIPs: ['10.96.0.2'] }], pools });
    const address = { family: 4, value: 0xc0_00_02_01n } as const;
    const released = [{ service: 'shop/gone', address, until: 1 }] as const;
    const codes = [...snapshot.services.values()].map((one) => explainAllocation(snapshot, one, released).reason?.code);
    expect(codes).toEqual(['PoolFull', undefined]);
    const expected = expectedAddresses(snapshot, snapshot, released);
    expect(expected.get('shop/web')).toMatchObject({ addresses: [], reason: { code: 'PoolFull' } });
    expect(expected.get('shop/gone')).toEqual({ addresses: ['192.0.2.1'] });
  });

  test('a requested address that another Service holds is refused as taken', () => {
    const { reason } = explain({
      services: [
        { ...web, requested: ['192.0.2.1'] },
        { name: 'shop/other', assigned: ['192.0.2.1'] },
      ],
      pools: [{ name: 'main', addresses: ['192.0.2.0/28'] }],
    });
    expect(reason).toMatchObject({ code: 'AddressTaken', details: { by: 'shop/other' } });
  });
});

describe('expectedAddresses', () => {
  const pools = [{ name: 'main', addresses: ['192.0.2.1-192.0.2.1'] }];

  test('a deleted Service frees its addresses', () => {
    const current = cluster({ services: [web, { name: 'shop/other', assigned: ['192.0.2.1'] }], pools });
    const proposed = cluster({ services: [web], pools });
    expect(expectedAddresses(current, proposed).get('shop/web')).toEqual({ addresses: ['192.0.2.1'] });
  });

  test("a Service that is no longer Herald's frees its addresses and is listed without any", () => {
    const other = { name: 'shop/other', assigned: ['192.0.2.1'] };
    const current = cluster({ services: [web, other], pools });
    const proposed = cluster({ services: [web, { ...other, type: 'ClusterIP' as const }], pools });
    const expected = expectedAddresses(current, proposed);
    expect(expected.get('shop/web')).toEqual({ addresses: ['192.0.2.1'] });
    expect(expected.get('shop/other')).toEqual({ addresses: [] });
  });

  test('addresses that another controller wrote are ignored', () => {
    const foreign = { name: 'shop/foreign', loadBalancerClass: 'example.com/other', assigned: ['203.0.113.1'] };
    const snapshot = cluster({ services: [foreign], pools });
    expect(service(foreign).ingress).toHaveLength(1);
    expect([...expectedAddresses(snapshot, snapshot)]).toEqual([]);
  });
});

test("an address is kept when only HeraldConfig says that the Service is not Herald's", () => {
  const services = [{ ...web, assigned: ['192.0.2.1'] }];
  const pools = [{ name: 'main', addresses: ['192.0.2.0/28'] }];
  const expected = expectedAddresses(cluster({ services, pools }), cluster({ services, pools, config: { defaultClass: false } }));
  expect(expected.get('shop/web')).toMatchObject({ addresses: ['192.0.2.1'], reason: { code: 'ClassNotSet' } });
  const given = expectedAddresses(
    cluster({ services, pools }),
    cluster({ services: [{ ...web, loadBalancerClass: 'example.com/x' }], pools }),
  );
  expect(given.get('shop/web')).toEqual({ addresses: [] });
});
