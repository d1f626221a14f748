import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideAnnouncement } from '../../../../src/decisions/announcement/decision.ts';
import { poolsToRecord } from '../../../../src/decisions/announcement/pool-of-address.ts';
import { serviceDependsOn } from '../../../../src/decisions/decision-inputs.ts';
import { advertisedAt } from '../../../../src/decisions/l2/advertised.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import { assignedAddresses, type Service } from '../../../../src/model/objects/service.ts';
import type { RecordedPool } from '../../../../src/model/objects/pool-record.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { formatAddress } from '../../../../src/net/address.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { runs } from '../../../support/property.ts';
import { cluster, matching, pool, type ClusterLiteral, type PoolLiteral } from '../fixtures.ts';

const old: PoolLiteral = { name: 'old', addresses: ['192.0.2.0/24', '2001:db8::/64'], labels: { tier: 'front', chart: '1' } };
const base: ClusterLiteral = {
  services: [{ name: 'web', assigned: ['192.0.2.1', '2001:db8::1'], clusterIPs: ['10.96.0.1', 'fd96::1'] }],
  slices: [
    { service: 'web', endpoints: ['10.1.0.1@here'] },
    { service: 'web', name: 'web-6', endpoints: ['fd01::1@here'] },
  ],
  pools: [old],
  advertisements: [{ name: 'ad', ipAddressPools: ['old'] }],
  l2Advertisements: [{ name: 'link', ipAddressPools: ['old'] }],
  peers: [{ name: 'tor', dualStackAddressFamily: true }],
  nodes: [{ name: 'here' }],
};

const serviceOf = (snapshot: Snapshot): Service => {
  const [service] = snapshot.services.values();
  if (service === undefined) throw new RangeError('no Service');
  return service;
};

/** Returns the cluster after an edit: the Service has the record that the controller wrote before it, and after each further edit. */
function edited(before: ClusterLiteral, ...edits: readonly ClusterLiteral[]): Snapshot {
  let recordedPools: readonly RecordedPool[] = [];
  let snapshot = cluster(before);
  for (const [index] of edits.entries()) {
    const literal: ClusterLiteral = Object.assign({}, before, ...edits.slice(0, index + 1));
    recordedPools = poolsToRecord(snapshot, { ...serviceOf(snapshot), recordedPools });
    snapshot = cluster({ ...literal, services: (literal.services ?? []).map((one) => ({ ...one, recordedPools })) });
  }
  return snapshot;
}

/** "192.0.2.1: 192.0.2.1/32 by BGP, by link", or why not. */
function announced(snapshot: Snapshot): string[] {
  const service = serviceOf(snapshot);
  const { addresses } = decideAnnouncement(snapshot, service, 'here');
  return assignedAddresses(service).map((one) => {
    const text = formatAddress(one);
    const result = addresses.find(({ address, type }) => type === 'LoadBalancer' && formatAddress(address) === text)?.result;
    const routes = result?.announce === true ? result.peers.flatMap(({ result }) => ('routes' in result ? result.routes : [])) : [];
    const bgp = result?.announce === false ? result.reason.code : routes.map(({ prefix }) => formatPrefix(prefix)).join();
    const l2 = advertisedAt(snapshot, one);
    return `${text}: ${bgp}, ${'reason' in l2 ? l2.reason.code : l2.advertisements.map(({ metadata }) => metadata.name).join()}`;
  });
}

const everything = ['192.0.2.1: 192.0.2.1/32, link', '2001:db8::1: 2001:db8::1/128, link'];

describe('an edit of pools takes no route away', () => {
  test.each<[string, ClusterLiteral]>([
    ['is deleted', { pools: [] }],
    ['is shrunk', { pools: [{ ...old, addresses: ['192.0.2.128/25', '2001:db8::8000/113'] }] }],
    ['loses a family', { pools: [{ ...old, addresses: ['192.0.2.0/24'] }] }],
    ['is replaced by one with other addresses', { pools: [{ name: 'new', addresses: ['198.51.100.0/24', '2001:db8:1::/64'] }] }],
    ['is replaced by one with the same addresses that nothing announces', { pools: [{ ...old, name: 'new', labels: {} }] }],
    ['drains', { pools: [{ ...old, draining: true }] }],
    ['selects other namespaces', { pools: [{ ...old, serviceAllocation: { namespaces: ['other'] } }] }],
    ['is overlapped', { pools: [{ name: 'a', addresses: ['192.0.2.0/28'] }, old] }],
  ])('when the pool %s', (_, edit) => {
    expect(announced(edited(base, {}))).toEqual(everything);
    expect(announced(edited(base, edit))).toEqual(everything);
    expect(announced(edited(base, edit, {}, {}))).toEqual(everything);
    expect(announced(edited(base, edit, base))).toEqual(everything);
  });

  test.each<[string, Partial<ClusterLiteral>]>([
    ['covers every pool', { advertisements: [{ name: 'ad' }], l2Advertisements: [{ name: 'link' }] }],
    [
      'selects pools by label',
      {
        advertisements: [{ name: 'ad', ipAddressPoolSelectors: [matching({ tier: 'front' })] }],
        l2Advertisements: [{ name: 'link', ipAddressPoolSelectors: [matching({ tier: 'front' })] }],
      },
    ],
  ])('when the pool is deleted and the advertisement %s', (_, change) => {
    expect(announced(edited({ ...base, ...change }, { pools: [] }))).toEqual(everything);
  });

  test('a pool on record is selected by the labels that it had', () => {
    const back = { advertisements: [{ name: 'ad', ipAddressPoolSelectors: [matching({ tier: 'back' })] }], l2Advertisements: [] };
    expect(announced(edited({ ...base, ...back }, { pools: [] }))[0]).toBe('192.0.2.1: NoAdvertisement, NoAdvertisement');
    const snapshot = cluster({ ...base, advertisements: [{ name: 'ad', ipAddressPoolSelectors: [matching({ tier: 'front' })] }] });
    expect(poolsToRecord(snapshot, serviceOf(snapshot)).map(({ labels }) => labels)).toEqual([{ tier: 'front' }, { tier: 'front' }]);
  });

  test.each([[[]], [[old]]])(
    'an advertisement that selects by label and comes back announces what it announced, with pools %j meanwhile',
    (pools) => {
      const byLabel = { advertisements: [{ name: 'ad', ipAddressPoolSelectors: [matching({ tier: 'front' })] }] };
      const none = { advertisements: [], l2Advertisements: [] };
      const snapshot = edited({ ...base, ...byLabel, l2Advertisements: [] }, { pools, ...none }, { pools: [] }, byLabel);
      expect(announced(snapshot)[0]).toBe('192.0.2.1: 192.0.2.1/32, NoAdvertisement');
    },
  );

  test('two addresses of two pools are announced each by its own', () => {
    const pools = [
      { name: 'four', addresses: ['192.0.2.0/24'] },
      { name: 'six', addresses: ['2001:db8::/64'] },
    ];
    const before = {
      ...base,
      pools,
      advertisements: [{ name: 'ad', ipAddressPools: ['four'] }],
      l2Advertisements: [{ name: 'link', ipAddressPools: ['six'] }],
    };
    expect(announced(edited(before, { pools: [] }))).toEqual([
      '192.0.2.1: 192.0.2.1/32, NoAdvertisement',
      '2001:db8::1: NoAdvertisement, link',
    ]);
  });

  test('an aggregate of a pool that is gone becomes the route of the address alone', () => {
    const before = { ...base, advertisements: [{ name: 'ad', aggregationLength: 24, aggregationLengthV6: 64 }] };
    expect(announced(edited(before, {}))).toEqual(['192.0.2.1: 192.0.2.0/24, link', '2001:db8::1: 2001:db8::/64, link']);
    expect(announced(edited(before, { pools: [] }))).toEqual(everything);
  });

  test('an aggregate that a pool contains no more becomes the route of the address alone', () => {
    const before = { ...base, advertisements: [{ name: 'ad', aggregationLength: 25, aggregationLengthV6: 64 }] };
    const small = { pools: [{ ...old, addresses: ['192.0.2.0/26', '2001:db8::/96'] }] };
    expect(announced(edited(before, {}))).toEqual(['192.0.2.1: 192.0.2.0/25, link', '2001:db8::1: 2001:db8::/64, link']);
    expect(announced(edited(before, small))).toEqual(everything);
    expect(announced(edited(before, small, {}, {}))).toEqual(everything);
    expect(announced(edited(before, small, {}, before))).toEqual(announced(edited(before, {})));
  });

  test('an address alone has the fields of its nearest advertisement, not of the aggregates', () => {
    const before = {
      ...base,
      advertisements: [
        { name: 'inside', localPref: 100 },
        { name: 'outside', aggregationLength: 24, aggregationLengthV6: 64, localPref: 200 },
        { name: 'wider', aggregationLength: 23, aggregationLengthV6: 63, localPref: 300 },
      ],
      pools: [{ ...old, addresses: ['192.0.2.0/23', '2001:db8::/63'] }],
    };
    expect(announced(edited(before, {}))[0]).toBe('192.0.2.1: 192.0.2.0/23,192.0.2.0/24,192.0.2.1/32, link');
    expect(announced(edited(before, { pools: [] }))).toEqual(everything);
    expect(announced(edited({ ...before, advertisements: before.advertisements.slice(1) }, { pools: [] }))).toEqual(everything);
  });

  test('an aggregate that the pool never contained is left out', () => {
    const before = { ...base, advertisements: [{ name: 'ad', aggregationLength: 23 }] };
    expect(announced(edited(before, {}, {}))[0]).toBe('192.0.2.1: AggregationTooShort, link');
    const wider = { ...base, advertisements: [{ name: 'ad', aggregationLength: 25 }] };
    expect(announced(edited(wider, {}, before))[0]).toBe('192.0.2.1: AggregationTooShort, link');
  });

  test('a new pool with the same addresses decides alone once it is announced', () => {
    const renamed = { pools: [{ ...old, name: 'new' }] };
    const both = {
      ...renamed,
      advertisements: [
        { name: 'ad', ipAddressPools: ['old'] },
        { name: 'ours', ipAddressPools: ['new'], aggregationLength: 24 },
      ],
    };
    expect(announced(edited(base, renamed))).toEqual(everything);
    expect(announced(edited(base, renamed, both))).toEqual(['192.0.2.1: 192.0.2.0/24, link', '2001:db8::1: 2001:db8::1/128, link']);
    const all = {
      ...both,
      advertisements: [{ name: 'ours', ipAddressPools: ['new'] }],
      l2Advertisements: [{ name: 'link', ipAddressPools: ['new'] }],
    };
    const snapshot = edited(base, renamed, all, {});
    expect(announced(snapshot)).toEqual(everything);
    expect(serviceOf(snapshot).recordedPools?.map(({ pool }) => pool)).toEqual(['new', 'new']);
  });

  test('nothing announces an address whose pool and advertisements are gone, and the reason names the pool', () => {
    const snapshot = edited(base, { pools: [], advertisements: [], l2Advertisements: [] });
    expect(announced(snapshot)).toEqual(['192.0.2.1: NoAdvertisement, NoAdvertisement', '2001:db8::1: NoAdvertisement, NoAdvertisement']);
    const [first] = decideAnnouncement(snapshot, serviceOf(snapshot), 'here').addresses;
    expect(first?.result.announce === false && reasonText(first.result.reason)).toBe(
      'no BGPAdvertisement or L2Advertisement covers pool "old", which contained the address',
    );
  });

  test('an address without a record is not announced when its pool is gone', () => {
    expect(announced(cluster({ ...base, pools: [] }))[0]).toBe('192.0.2.1: AddressNotFromPool, AddressNotFromPool');
  });

  test('a pool of the same name comes back with other addresses: its advertisements and labels count', () => {
    const selecting = { ...base, advertisements: [{ name: 'ad', ipAddressPoolSelectors: [matching({ tier: 'front' })] }] };
    const back = { pools: [{ ...old, addresses: ['198.51.100.0/24'], labels: { tier: 'back' } }] };
    expect(announced(edited(selecting, { pools: [] }, back))[0]).toBe('192.0.2.1: NoAdvertisement, link');
  });

  test('a decision depends on the pool on record and on its advertisements', () => {
    const snapshot = edited(base, { pools: [] });
    const depends = (object: Parameters<typeof serviceDependsOn>[2][number]): boolean =>
      serviceDependsOn(snapshot, serviceOf(snapshot), [object], 'here');
    expect(depends(pool({ ...old, addresses: ['198.51.100.0/24'] }))).toBe(true);
    expect(depends(pool({ name: 'other', addresses: ['198.51.100.0/24'] }))).toBe(false);
    expect([...snapshot.advertisements.values(), ...snapshot.l2Advertisements.values()].map(depends)).toEqual([true, true]);
  });
});

describe('random edits of pools', () => {
  const blocks = [
    '192.0.2.0/28',
    '192.0.2.0/24',
    '192.0.2.1-192.0.2.1',
    '198.51.100.0/24',
    '2001:db8::/64',
    '2001:db8::/112',
    '2001:db8:1::/64',
  ];
  const names = ['a', 'b', 'c'] as const;
  const labels = { a: { tier: 'front' }, b: { tier: 'back' }, c: {} };
  const pools = fc
    .subarray([...names])
    .chain((chosen) =>
      fc.tuple(
        ...chosen.map((name) =>
          fc.subarray(blocks, { minLength: 1 }).map((addresses): PoolLiteral => ({ name, addresses, labels: labels[name] })),
        ),
      ),
    );
  const advertisements = fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('x', 'y', 'z'),
      ipAddressPools: fc.subarray([...names]),
      ipAddressPoolSelectors: fc.subarray([matching({ tier: 'front' }), matching({ tier: 'back' })]),
      serviceSelectors: fc.subarray([matching({ app: 'other' })]),
    }),
    { selector: ({ name }) => name },
  );

  test.each(['advertisements', 'l2Advertisements'] as const)('leave an address announced that was announced, with %s', (kind) => {
    const edits = fc.array(fc.record({ pools, isRecorded: fc.boolean() }), { minLength: 1, maxLength: 5 });
    const count = (snapshot: Snapshot): string[] =>
      announced(snapshot)
        .filter((line) => (kind === 'advertisements' ? /\/(?:32|128),/ : /, [xyz]/).test(line))
        .map((line) => line.split(': ')[0] ?? '');
    fc.assert(
      fc.property(advertisements, edits, (ads, steps) => {
        const literal = { ...base, advertisements: [], l2Advertisements: [], [kind]: ads };
        let recordedPools: readonly RecordedPool[] = [];
        let before: string[] = [];
        for (const [index, step] of steps.entries()) {
          const services = [{ name: 'web', assigned: ['192.0.2.1', '2001:db8::1'], clusterIPs: ['10.96.0.1', 'fd96::1'], recordedPools }];
          const snapshot = cluster({ ...literal, pools: step.pools, services });
          const now = count(snapshot);
          expect(now).toEqual(expect.arrayContaining(before));
          before = now;
          // The controller records the pools with the address, and may fall behind later.
          if (index === 0 || step.isRecorded) recordedPools = poolsToRecord(snapshot, serviceOf(snapshot));
          else
            before = before.filter((text) =>
              recordedPools.some((one) => formatAddress(one.address) === text && count(recordedAlone(literal, one)).includes(text)),
            );
        }
      }),
      { numRuns: runs(300) },
    );
  });

  /** The cluster without pools: only the record counts. */
  const recordedAlone = (literal: ClusterLiteral, record: RecordedPool): Snapshot =>
    cluster({
      ...literal,
      pools: [],
      services: [{ name: 'web', assigned: [formatAddress(record.address)], clusterIPs: ['10.96.0.1', 'fd96::1'], recordedPools: [record] }],
    });
});
