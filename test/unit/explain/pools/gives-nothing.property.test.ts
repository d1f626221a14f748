import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allocationRequest } from '../../../../src/decisions/allocation/request.ts';
import { allocatorOf } from '../../../../src/explain/pools/allocation.ts';
import { explainPool, renderPool } from '../../../../src/explain/pools/pool.ts';
import { poolReport } from '../../../../src/explain/pools/pool-report.ts';
import { renderPools } from '../../../../src/explain/pools/render-pools.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { cluster, service, type ClusterLiteral } from '../../decisions/fixtures.ts';
import { runs } from '../../../support/property.ts';

type Candidate = Parameters<typeof service>[0];

/** One Service of each kind that could get an address: by namespace, family, sharing key and name. */
const candidates: readonly Candidate[] = ['shop', 'other'].flatMap((namespace) =>
  (['owner', 'new'] as const).flatMap((name) =>
    ([[4], [6]] as const).flatMap((ipFamilies) =>
      [undefined, 'k'].map((sharingKey): Candidate => ({
        name: `${namespace}/${name}`,
        ipFamilies,
        ports: ['9999/TCP'],
        requestedPool: 'main',
        ...(sharingKey === undefined ? {} : { sharingKey }),
      })),
    ),
  ),
);

function someServiceGets(snapshot: Snapshot): boolean {
  const allocator = allocatorOf(snapshot);
  return candidates.some((candidate) => {
    const one = service(candidate);
    const { uid: _, ...request } = allocationRequest(one, snapshot);
    return allocator.survey(request).some(({ pool, reason }) => pool === 'main' && reason === undefined);
  });
}

const arbitrary: fc.Arbitrary<ClusterLiteral> = fc
  .record({
    size: fc.constantFrom([1, 0], [2, 0], [0, 1], [1, 1], [2, 1]),
    draining: fc.boolean(),
    autoAssign: fc.boolean(),
    reserve: fc.boolean(),
    overlapped: fc.boolean(),
    onNode: fc.boolean(),
    held: fc.array(fc.record({ family: fc.constantFrom(4, 6), index: fc.integer({ min: 0, max: 1 }), shared: fc.boolean() }), {
      maxLength: 4,
    }),
  })
  .map(({ size: [four = 0, six = 0], draining, autoAssign, reserve, overlapped, onNode, held }): ClusterLiteral => {
    const text = (family: number, index: number): string => (family === 4 ? `192.0.2.${index + 1}` : `2001:db8::${index + 1}`);
    const own = [
      ...Array.from({ length: four }, (_, index) => text(4, index)),
      ...Array.from({ length: six }, (_, index) => text(6, index)),
    ];
    const taken = new Set<string>();
    const services = held.flatMap(({ family, index, shared }, at) => {
      const address = text(family, index);
      if (!own.includes(address) || taken.has(address)) return [];
      taken.add(address);
      const ipFamilies: readonly (4 | 6)[] = [family === 4 ? 4 : 6];
      return [{ name: `shop/s${at}` as const, ipFamilies, assigned: [address], ...(shared ? { sharingKey: 'k' } : {}) }];
    });
    return {
      services,
      nodes: [{ name: 'n1', internalIPs: [onNode ? (own[0] ?? '10.0.0.1') : '10.0.0.1'] }],
      pools: [
        {
          name: 'main',
          addresses: own.map((one) => `${one}-${one}`),
          draining,
          autoAssign,
          ...(reserve ? { reserved: { [own.at(-1) ?? '']: 'shop/owner' } } : {}),
        },
        ...(overlapped ? [{ name: 'a-first', addresses: [`${own[0]}-${own[0]}`] }] : []),
      ],
    };
  });

describe('explain pool', () => {
  test('says that a pool gives nothing more if and only if no Service of any namespace would get an address', () => {
    fc.assert(
      fc.property(arbitrary, (literal) => {
        const snapshot = cluster(literal);
        const explanation = explainPool(snapshot, 'main');
        expect(explanation?.reason === undefined).toBe(someServiceGets(snapshot));
        expect(poolReport(snapshot, { pool: 'main' }).pools[0]?.givesNothing).toEqual(explanation?.reason);
      }),
      { numRuns: runs(1000) },
    );
  });

  test('warns of an address of a node, and does not say that the pool gives nothing more', () => {
    const snapshot = cluster({
      pools: [{ name: 'main', addresses: ['192.0.2.0/24', '2001:db8::/64'] }],
      nodes: [{ name: 'n1', internalIPs: ['192.0.2.1'] }],
    });
    const explanation = explainPool(snapshot, 'main');
    const text = renderPool(explanation as NonNullable<typeof explanation>).join('\n');
    expect(text).toMatch(/^Warning {4}.*192\.0\.2\.1/m);
    expect(text).not.toContain('nothing more');
    expect(renderPools(poolReport(snapshot, { pool: 'main' }), true).join('\n')).not.toContain('192.0.2.1 ');
  });
});
