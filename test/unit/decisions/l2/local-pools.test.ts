import { expect, test } from 'vitest';
import { poolsToRecord } from '../../../../src/decisions/announcement/pool-of-address.ts';
import { judgeLocalPools } from '../../../../src/decisions/l2/local-pools.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import type { HostInterface } from '../../../../src/system/host.ts';
import { cluster, type ClusterLiteral } from '../fixtures.ts';

const eth0: readonly HostInterface[] = [
  { name: 'eth0', address: '10.1.0.11', length: 24 },
  { name: 'eth0', address: 'fd01::11', length: 64 },
  { name: 'eth0', address: 'fe80::1', length: 64 },
];
const assigned = ['10.1.0.200', 'fd01::200'];
const basics: ClusterLiteral = {
  pools: [{ name: 'near', addresses: ['10.1.0.200-10.1.0.220', 'fd01::200/120'] }],
  advertisements: [{ name: 'all' }],
  services: [{ name: 'web', ipFamilies: [4, 6], assigned }],
};

test.each<[what: string, more: ClusterLiteral, interfaces: readonly HostInterface[], found: unknown[]]>([
  [
    'both families',
    {},
    eth0,
    [
      ['10.1.0.0/24', 'ARP', '10.1.0.200 of Service default/web'],
      ['fd01::/64', 'NDP', 'fd01::200 of Service default/web'],
    ],
  ],
  [
    'a pool elsewhere',
    { services: [{ name: 'web', assigned: ['192.0.2.1'] }], pools: [{ name: 'far', addresses: ['192.0.2.0/24'] }] },
    eth0,
    [],
  ],
  ['an L2Advertisement for the pool', { l2Advertisements: [{ name: 'link', ipAddressPools: ['near'] }] }, eth0, []],
  [
    'an L2Advertisement for another pool',
    { l2Advertisements: [{ name: 'link', ipAddressPools: ['other'] }] },
    eth0,
    [expect.anything(), expect.anything()],
  ],
  ['answerOnLocalLinks', { config: { answerOnLocalLinks: true } }, eth0, []],
  ['no BGPAdvertisement', { advertisements: [] }, eth0, []],
  ['a BGPAdvertisement of external IPs', { advertisements: [{ name: 'all', addressTypes: ['ExternalIP'] }] }, eth0, []],
  ['no Service with an address', { services: [{ name: 'web' }] }, eth0, []],
  [
    "the node's own address",
    { services: [{ name: 'web', assigned: ['10.1.0.200'] }] },
    [{ name: 'eth0', address: '10.1.0.200', length: 24 }],
    [],
  ],
  ['a network of pods', { config: { podInterfaces: ['eth*'] } }, eth0, []],
  ['an address without a network', {}, [{ name: 'lo', address: '10.1.0.200', length: 32 }], []],
])('%s', (_, more, interfaces, found) => {
  const judged = judgeLocalPools(cluster({ ...basics, ...more }), interfaces);
  expect(judged.map(({ code }) => code)).toEqual(found.map(() => 'PoolUnansweredOnLink'));
  const texts = judged.map(({ details }) => {
    const { network, protocol, example } = details as Record<string, string>;
    return [network, protocol, example];
  });
  expect(texts).toEqual(found);
});

test('many Services of a pool are one reason, with its fix', () => {
  const services = Array.from({ length: 20 }, (_, n) => ({ name: `s${n}`, assigned: [`10.1.0.${200 + n}`] }));
  const [because, ...others] = judgeLocalPools(cluster({ ...basics, services }), eth0);
  expect(others).toEqual([]);
  expect(because && [reasonText(because), remedyText(because)]).toEqual([
    '10.1.0.200 of Service default/s0 (IPAddressPool "near") is announced by BGP only and lies in 10.1.0.0/24, the network of eth0: machines of that network ask for it by ARP, and Herald does not answer them',
    'create an L2Advertisement with spec.ipAddressPools: [near], beside the BGPAdvertisement; or set answerOnLocalLinks: true in HeraldConfig/default, for all such pools; or give the pool addresses outside of 10.1.0.0/24',
  ]);
});

test('an address that its pool contains no longer is reported with the pool on record', () => {
  const before = cluster(basics);
  const service = before.services.get('default/web');
  if (service === undefined) throw new RangeError('there is a Service');
  const recordedPools = poolsToRecord(before, service);
  const kept = (more: ClusterLiteral): unknown[] =>
    judgeLocalPools(cluster({ ...basics, services: [{ name: 'web', ipFamilies: [4, 6], assigned, recordedPools }], ...more }), eth0).map(
      ({ details }) => (details as { readonly pool: string; readonly protocol: string }).protocol,
    );
  expect(kept({ pools: [{ name: 'near', addresses: ['192.0.2.0/24'] }] })).toEqual(['ARP', 'NDP']);
  expect(kept({ pools: [] })).toEqual(['ARP', 'NDP']);
  expect(kept({ pools: [], l2Advertisements: [{ name: 'link', ipAddressPools: ['near'] }] })).toEqual([]);
});
