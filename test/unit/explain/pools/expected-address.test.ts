import { describe, expect, test } from 'vitest';
import { explainAllocation, withExpectedAddresses } from '../../../../src/explain/pools/allocation.ts';
import { cluster } from '../../decisions/fixtures.ts';

describe('the expected address of a Service of manifests', () => {
  const snapshot = cluster({
    services: [
      { name: 'shop/a', ipFamilies: [4, 6], ipFamilyPolicy: 'RequireDualStack' },
      { name: 'shop/held', assigned: ['192.0.2.0'] },
      { name: 'shop/late', ipFamilies: [4] },
    ],
    pools: [{ name: 'public', addresses: ['192.0.2.0-192.0.2.1', '2001:db8::7/128'] }],
  });
  const of = (name: 'shop/a' | 'shop/held' | 'shop/late') => {
    const service = snapshot.services.get(name);
    if (service === undefined) throw new RangeError(name);
    return withExpectedAddresses(explainAllocation(snapshot, service), snapshot, name);
  };

  test('is the address that the allocator gives, of each family, with its pool', () => {
    expect(of('shop/a').expected).toEqual([
      { address: '192.0.2.1', pool: 'public' },
      { address: '2001:db8::7', pool: 'public' },
    ]);
  });

  test('is absent for a Service that has an address', () => {
    expect(of('shop/held').expected).toBeUndefined();
  });

  test('is absent, with the reason, when other Services would take the last address first', () => {
    expect(of('shop/late')).toMatchObject({ addresses: [], reason: { code: 'PoolFull' } });
  });
});
