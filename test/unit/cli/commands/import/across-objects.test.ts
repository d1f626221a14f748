import { describe, expect, test } from 'vitest';
import { checkAcross } from '../../../../../src/cli/commands/import/across-objects.ts';
import { importObjects, type Imported } from '../../../../../src/model/metallb/import.ts';
import { metallb } from '../../../model/metallb/metallb-manifests.ts';

const files = { all: false, forbidden: new Set<string>() };
const check = (objects: readonly unknown[], secrets = files): Imported[] => {
  const inputs = objects.map((raw) => ({ raw }));
  return checkAcross(importObjects(inputs), inputs, secrets);
};
/** Returns "verdict Kind/name" and the remarks of each object, as lines. */
const report = (objects: readonly unknown[], secrets = files): string[] =>
  check(objects, secrets).flatMap(({ object, verdict, remarks }) => [
    `${verdict} ${object.replace('.metallb.io/metallb-system', '')}`,
    ...remarks.map(({ level, field, message }) => `${level} ${field}: ${message}`),
  ]);

const pool = (addresses: readonly string[], name = 'main', labels = {}): object =>
  metallb('IPAddressPool', { addresses }, name, { labels });
const advertisement = (spec: object, name = 'main'): object => metallb('BGPAdvertisement', spec, name);
const peer = (spec: object = {}): object =>
  metallb('BGPPeer', { myASN: 64_512, peerASN: 64_513, peerAddress: '192.0.2.1', ...spec }, 'tor1');
const secret = (data: object): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', namespace: 'metallb-system' },
  ...data,
});
const all = [pool(['198.51.100.0/24', '2001:db8::/64']), peer()];

const layer2 = (spec: object, name = 'main'): object => metallb('L2Advertisement', spec, name);
const excluded = (patterns: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'metallb-excludel2', namespace: 'metallb-system' },
  data: { 'excludel2.yaml': patterns },
});

describe('import of layer 2', () => {
  test('two identical L2Advertisements with interfaces are exact', () => {
    const spec = { ipAddressPools: ['main'], interfaces: ['eth0'] };
    expect(report([...all, layer2(spec), layer2(spec, 'again')])).toEqual([
      'exact IPAddressPool/main',
      'exact BGPPeer/tor1',
      'exact L2Advertisement/main',
      'exact L2Advertisement/again',
    ]);
  });

  test('an L2Advertisement without interfaces is exact, with a note about the interface that Herald chooses', () => {
    expect(report([...all, layer2({})]).slice(2)).toEqual([
      'exact L2Advertisement/main',
      'note spec.interfaces: is empty: Herald announces on the interface whose network contains the address, MetalLB on all',
    ]);
  });

  test('an L2Advertisement that names an unknown pool is not exact', () => {
    expect(report([...all, layer2({ ipAddressPools: ['main', 'old'], interfaces: ['eth0'] })]).slice(2)).toEqual([
      'differs L2Advertisement/main',
      expect.stringContaining('differs spec.ipAddressPools: L2Advertisement "main" names IPAddressPool "old", which does not exist'),
    ]);
  });

  test('the list of excluded interfaces needs no object of Herald, and a named interface is reported', () => {
    const list = excluded('announcedInterfacesToExclude: ["^docker.*", "^veth.*", "("]');
    expect(report([...all, list, layer2({ interfaces: ['eth0', 'veth7'] })]).slice(2)).toEqual([
      'exact ConfigMap/metallb-system/metallb-excludel2',
      'note data: is not needed: a node announces on the interface whose network contains the address, or on those that the L2Advertisement names',
      'differs L2Advertisement/main',
      'differs spec.interfaces: names veth7, which ConfigMap metallb-excludel2 excludes: Herald announces on it, and MetalLB does not',
    ]);
    expect(check([list])[0]?.manifest).toBeUndefined();
  });

  test('a list of excluded interfaces that cannot be read excludes nothing', () => {
    expect(report([...all, excluded('['), layer2({ interfaces: ['veth7'] })])).toContain('exact L2Advertisement/main');
  });
});

describe('import across objects', () => {
  test('objects that fit each other are exact', () => {
    const objects = [
      ...all,
      advertisement({ ipAddressPools: ['main'], peers: ['tor1'], communities: ['gold', 'no-export'], aggregationLength: 24 }),
      metallb('Community', { communities: [{ name: 'gold', value: '64512:1' }] }),
    ];
    expect(report(objects)).toEqual([
      'exact IPAddressPool/main',
      'exact BGPPeer/tor1',
      'exact BGPAdvertisement/main',
      'exact Community/main',
    ]);
  });

  test.each<[string, object, string]>([
    ['an unknown alias', { communities: ['gold'] }, 'names community "gold", which no Community object defines'],
    ['an unknown pool', { ipAddressPools: ['main', 'old'] }, 'names IPAddressPool "old", which does not exist'],
    ['an unknown peer', { peers: ['tor9'] }, 'names BGPPeer "tor9", which does not exist'],
    [
      'an IPv4 aggregate wider than the range',
      { aggregationLength: 23 },
      'aggregationLength 23 of BGPAdvertisement main would cover addresses outside 198.51.100.0/24',
    ],
    [
      'an IPv6 aggregate wider than the range',
      { aggregationLengthV6: 48 },
      'aggregationLengthV6 48 of BGPAdvertisement main would cover addresses outside 2001:db8::/64',
    ],
  ])('an advertisement with %s is not exact', (_, spec, text) => {
    const [, , found] = check([...all, advertisement(spec)]);
    expect(found?.verdict).toBe('differs');
    expect(found?.remarks).toEqual([expect.objectContaining({ level: 'differs', message: expect.stringContaining(text) as unknown })]);
    expect(found?.remarks[0]?.fix).not.toBe('');
  });

  test('import reports an aggregate that is shorter than every block of a range, as MetalLB refuses it', () => {
    const of = (length: number): string[] => report([pool(['198.51.100.1-198.51.100.6']), advertisement({ aggregationLength: length })]);
    expect(of(31).at(-1)).toContain('Herald does not announce that block, and MetalLB announces it nevertheless');
    expect(of(30).at(-1)).toContain('MetalLB accepts no configuration');
    expect(of(32).at(-1)).toBe('exact BGPAdvertisement/main');
  });

  test.each<[string, object, object, string | undefined]>([
    ['two values', { localPref: 100 }, { localPref: 200 }, 'Herald announces them by neither'],
    ['one value and the default', { localPref: 100 }, {}, 'Herald sends 100'],
    ['two prepends', { asPathPrepend: 2 }, { asPathPrepend: 3 }, 'Herald prepends 3 times'],
    ['one value', { localPref: 100 }, { localPref: 100 }, undefined],
    ['other peers', { localPref: 100, peers: ['tor1'] }, { localPref: 200, peers: ['tor2'] }, undefined],
    ['other aggregates', { localPref: 100, aggregationLength: 24, aggregationLengthV6: 64 }, { localPref: 200 }, undefined],
    ['serviceSelectors', { localPref: 100, serviceSelectors: [{ matchLabels: { a: 'b' } }] }, { localPref: 200 }, undefined],
  ])('advertisements of one pool with %s are compared', (_, one, other, text) => {
    const tor2 = metallb('BGPPeer', { myASN: 64_512, peerASN: 64_513, peerAddress: '192.0.2.2' }, 'tor2');
    const lines = report([...all, tor2, advertisement(one, 'a'), advertisement(other, 'b')]).filter((line) =>
      line.startsWith('differs spec'),
    );
    if (text === undefined) expect(lines).toEqual([]);
    else expect(lines).toEqual([expect.stringContaining(text), expect.stringContaining(text)]);
  });

  test('advertisements whose nodes are disjoint do not conflict, when the Nodes are in the input', () => {
    const of = (rack: string) => ({ nodeSelectors: [{ matchLabels: { rack } }] });
    const two = [advertisement({ localPref: 100, ...of('1') }, 'a'), advertisement({ localPref: 200, ...of('2') }, 'b')];
    const node = (rack: string): object => ({ apiVersion: 'v1', kind: 'Node', metadata: { name: `n${rack}`, labels: { rack } } });
    expect(report([...all, ...two, node('1'), node('2')]).join('\n')).not.toContain('localPref');
    expect(report([...all, ...two]).join('\n')).toContain('localPref');
  });

  test('a peer with an unknown bfdProfile is not exact', () => {
    expect(report([peer({ bfdProfile: 'fast' })])).toEqual([
      'differs BGPPeer/tor1',
      expect.stringContaining('differs spec.bfdProfile: BFDProfile "fast" of "tor1" does not exist') as unknown,
    ]);
    expect(report([peer({ bfdProfile: 'fast' }), metallb('BFDProfile', {}, 'fast')])[0]).toBe('exact BGPPeer/tor1');
  });

  test.each<[string, readonly object[], typeof files, string]>([
    ['differs', [], { all: true, forbidden: new Set() }, 'which does not exist'],
    ['differs', [secret({ stringData: { username: 'a' } })], files, 'which has no key password'],
    ['exact', [], { all: true, forbidden: new Set(['s']) }, 'which you may not read'],
    ['exact', [], files, 'which was not read'],
  ])('a peer is %s when its Secret is %j, read as %j', (verdict, objects, secrets, text) => {
    const lines = report([peer({ passwordSecret: { name: 's' } }), ...objects], secrets);
    expect(lines[0]).toBe(`${verdict} BGPPeer/tor1`);
    expect(lines.at(-1)).toContain(`spec.passwordSecret: names Secret metallb-system/s, ${text}`);
  });

  test('a peer whose Secret has a password is exact, and the password is not in the report', () => {
    const lines = report([peer({ passwordSecret: { name: 's' } }), secret({ stringData: { password: 'hidden' } })]);
    expect(lines[0]).toBe('exact BGPPeer/tor1');
    expect(lines.join()).not.toMatch(/names Secret|hidden/);
  });

  test('pools that nothing announces are marked, and those of an L2Advertisement are not', () => {
    const objects = [
      pool(['192.0.2.0/28'], 'announced', { tier: 'edge' }),
      pool(['192.0.2.16/28'], 'forgotten'),
      pool(['192.0.2.32/28'], 'office'),
      advertisement({ ipAddressPoolSelectors: [{ matchLabels: { tier: 'edge' } }] }),
      metallb('L2Advertisement', { ipAddressPools: ['office'] }, 'layer2'),
    ];
    const lines = report(objects);
    expect(lines.slice(0, 4)).toEqual([
      'exact IPAddressPool/announced',
      'exact IPAddressPool/forgotten',
      expect.stringContaining('note spec: is announced by nothing') as unknown,
      'exact IPAddressPool/office',
    ]);
  });

  test('overlapping pools and an alias that is defined twice are not exact', () => {
    const objects = [
      pool(['192.0.2.0/28'], 'a'),
      pool(['192.0.2.8/29'], 'b'),
      advertisement({}),
      metallb('Community', { communities: [{ name: 'gold', value: '1:1' }] }, 'c'),
      metallb('Community', { communities: [{ name: 'gold', value: '1:2' }] }, 'd'),
    ];
    const verdicts = check(objects).map(({ object, verdict }) => `${object.split('/').at(-1)} ${verdict}`);
    expect(verdicts).toEqual(['a differs', 'b differs', 'main exact', 'c exact', 'd differs']);
  });
});
