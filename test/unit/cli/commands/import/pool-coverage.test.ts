import { expect, test } from 'vitest';
import { checkAcross } from '../../../../../src/cli/commands/import/across-objects.ts';
import { PoolCoverage } from '../../../../../src/cli/commands/import/pool-coverage.ts';
import { coversPool } from '../../../../../src/decisions/announcement/advertisements.ts';
import { importObjects } from '../../../../../src/model/metallb/import.ts';
import { readObjects } from '../../../../../src/sources/read-objects.ts';
import { metallb } from '../../../model/metallb/metallb-manifests.ts';

const pools = [{}, { tier: 'edge' }, { tier: 'core' }, { tier: 'edge', site: 'a' }].map((labels, index) =>
  metallb('IPAddressPool', { addresses: [`192.0.2.${index * 16}/28`] }, `p${index}`, { labels }),
);
const specs: readonly object[] = [
  {},
  { ipAddressPools: ['p0', 'none'] },
  { ipAddressPoolSelectors: [{ matchLabels: { tier: 'edge' } }] },
  { ipAddressPoolSelectors: [{ matchLabels: { tier: 'edge', site: 'a' } }] },
  { ipAddressPoolSelectors: [{ matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['edge'] }] }] },
  { ipAddressPools: ['p2'], ipAddressPoolSelectors: [{ matchLabels: { site: 'a' } }, {}] },
];

test.each(['BGPAdvertisement', 'L2Advertisement'])('the coverage of a %s is that of coversPool', (kind) => {
  for (const spec of specs) {
    const inputs = [...pools, metallb(kind, spec, 'one')].map((raw) => ({ raw }));
    const { snapshot } = readObjects(importObjects(inputs).flatMap(({ manifest }) => (manifest === undefined ? [] : [{ raw: manifest }])));
    const coverage = new PoolCoverage(snapshot);
    const [one] = [...snapshot.advertisements.values(), ...snapshot.l2Advertisements.values()];
    if (one === undefined) throw new Error('there is no advertisement');
    const expected = [...snapshot.pools.values()].filter((pool) => coversPool(one, pool)).map(({ metadata }) => metadata.name);
    expect([...coverage.poolsOf(one)].map(({ metadata }) => metadata.name).toSorted()).toEqual(expected.toSorted());
    for (const name of snapshot.pools.keys()) expect([name, coverage.isAnnounced(name)]).toEqual([name, expected.includes(name)]);
  }
});

test('thousands of pools with an advertisement each are compared in time that grows with their number', () => {
  const many = Array.from({ length: 1500 }, (_, index) => [
    metallb('IPAddressPool', { addresses: [`10.${Math.trunc(index / 250)}.${index % 250}.0/24`] }, `p${index}`, {
      labels: { n: `v${index}` },
    }),
    metallb('BGPAdvertisement', { ipAddressPools: [`p${index}`] }, `a${index}`),
  ]).flat();
  const inputs = many.map((raw) => ({ raw }));
  const found = checkAcross(importObjects(inputs), inputs, { all: false, forbidden: new Set() });
  expect(found.filter(({ verdict, remarks }) => verdict === 'exact' && remarks.length === 0)).toHaveLength(3000);
});
