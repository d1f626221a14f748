import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Family } from '../../../../src/net/address.ts';
import { createAllocator } from '../../../../src/decisions/allocation/allocator.ts';
import { allocationRequest } from '../../../../src/decisions/allocation/request.ts';
import { cluster, matching, pool, service, type PoolLiteral } from '../fixtures.ts';
import { runs } from '../../../support/property.ts';

/**
 * MetalLB 0.16.2 (internal/allocator), written again from its rules: pinned pools first, all of them before any other pool; within each of
 * the two groups a pool with both families, then one with the primary family, then one with the other. Where MetalLB's order is random,
 * the model takes the pools by name, as Herald does.
 */

const families: readonly Family[] = [4, 6];

const inOrder = (some: readonly Family[]): string => families.filter((family) => some.includes(family)).join();

interface ModelPool {
  readonly name: string;
  /** Addresses of each family. */
  readonly size: Readonly<Record<Family, number>>;
  readonly autoAssign: boolean;
  readonly pinned?: { readonly priority: number; readonly namespaces: readonly string[]; readonly apps: readonly string[] };
}

interface ModelService {
  readonly namespace: string;
  readonly app: string;
  readonly families: readonly Family[];
  readonly policy: 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';
}

type Choice = `${string}:${string}` | 'none';

function modelOf(pools: readonly ModelPool[]): (service: ModelService) => Choice {
  const used = new Map<string, number>();
  const has = ({ name, size }: ModelPool, family: Family): boolean => (used.get(`${name}/${family}`) ?? 0) < size[family];
  const take = ({ name }: ModelPool, taken: readonly Family[]): Choice => {
    for (const family of taken) used.set(`${name}/${family}`, (used.get(`${name}/${family}`) ?? 0) + 1);
    return `${name}:${inOrder(taken)}`;
  };
  const fits = ({ pinned }: ModelPool, { namespace, app }: ModelService): boolean =>
    pinned !== undefined &&
    (pinned.namespaces.length === 0 || pinned.namespaces.includes(namespace)) &&
    (pinned.apps.length === 0 || pinned.apps.includes(app));
  const rank = ({ pinned }: ModelPool): number => (pinned === undefined || pinned.priority === 0 ? Infinity : pinned.priority);
  const byRank = (a: ModelPool, b: ModelPool): number => (rank(a) === rank(b) ? (a.name < b.name ? -1 : 1) : rank(a) < rank(b) ? -1 : 1);

  return (wanted) => {
    const automatic = pools.filter(({ autoAssign }) => autoAssign);
    const pinned = automatic.filter((one) => fits(one, wanted)).sort(byRank);
    const open = automatic.filter((one) => one.pinned === undefined).sort(byRank);
    for (const group of [pinned, open]) {
      const full = group.find((one) => wanted.families.every((family) => has(one, family)));
      if (full !== undefined) return take(full, wanted.families);
      if (wanted.policy !== 'PreferDualStack') continue;
      for (const family of wanted.families) {
        const single = group.find((one) => has(one, family));
        if (single !== undefined) return take(single, [family]);
      }
    }
    return 'none';
  };
}

/** Pool `index` has 192.0.<index>.1 and up, and 2001:db8:<index>::1 and up. */
function poolOf({ name, size, autoAssign, pinned }: ModelPool, index: number): PoolLiteral {
  const four = size[4] === 0 ? [] : [`192.0.${index}.1-192.0.${index}.${size[4]}`];
  const six = size[6] === 0 ? [] : [`2001:db8:${index}::1-2001:db8:${index}::${size[6]}`];
  const serviceAllocation =
    pinned === undefined
      ? {}
      : {
          serviceAllocation: {
            priority: pinned.priority,
            namespaces: pinned.namespaces,
            serviceSelectors: pinned.apps.map((app) => matching({ app })),
          },
        };
  return { name, addresses: [...four, ...six], autoAssign, ...serviceAllocation };
}

const size = fc
  .record({ 4: fc.integer({ min: 0, max: 3 }), 6: fc.integer({ min: 0, max: 3 }) })
  .filter((of) => families.some((family) => of[family] > 0));
const pinned = fc.record({
  priority: fc.constantFrom(0, 0, 1, 2, 3),
  namespaces: fc.subarray(['c', 'd']),
  apps: fc.subarray(['web', 'db']),
});
const somePools = fc
  .array(fc.tuple(size, fc.boolean(), fc.boolean(), fc.option(pinned, { nil: undefined, freq: 3 })), { minLength: 1, maxLength: 6 })
  .map((all) =>
    all.map(([of, a, b, pin], index): ModelPool => {
      return { name: `p${index}`, size: of, autoAssign: a || b, ...(pin === undefined ? {} : { pinned: pin }) };
    }),
  );
const someService = fc.record({
  namespace: fc.constantFrom('c', 'd', 'e'),
  app: fc.constantFrom('web', 'db', 'other'),
  stack: fc.constantFrom(
    { policy: 'SingleStack' as const, families: [4] as const },
    { policy: 'SingleStack' as const, families: [6] as const },
    { policy: 'PreferDualStack' as const, families: [4, 6] as const },
    { policy: 'PreferDualStack' as const, families: [6, 4] as const },
    { policy: 'RequireDualStack' as const, families: [4, 6] as const },
    { policy: 'RequireDualStack' as const, families: [6, 4] as const },
  ),
});

test('new Services get the pool and the families that the rules of MetalLB give them', () => {
  fc.assert(
    fc.property(somePools, fc.array(someService, { minLength: 1, maxLength: 12 }), (pools, services) => {
      const model = modelOf(pools);
      const allocator = createAllocator(pools.map((one, index) => pool(poolOf(one, index))));
      for (const [index, { namespace, app, stack }] of services.entries()) {
        const wanted = { namespace, app, ...stack };
        const clusterIPs = stack.families.map((family) => (family === 4 ? '10.96.0.1' : 'fd96::1'));
        const literal = { name: `${namespace}/s${index}`, labels: { app }, clusterIPs, ipFamilyPolicy: stack.policy };
        const { addresses, pool: from } = allocator.allocate(allocationRequest(service(literal), cluster({})));
        const got = addresses.length === 0 ? 'none' : `${from}:${inOrder(addresses.map(({ family }) => family))}`;
        expect(got).toBe(model(wanted));
      }
    }),
    { numRuns: runs(2000) },
  );
});
