import { describe, expect, test } from 'vitest';
import { affinityId, classNumber, slotsFor, timeoutId, timeoutMask } from '../../../../src/dataplane/ruleset/classid.ts';
import { keyText } from '../../../../src/dataplane/ruleset/element-text.ts';
import { valueText } from '../../../support/commands/element-from-text.ts';
import { affinityTimeout, frontendElements, frontendProblem, nodeElements } from '../../../../src/dataplane/ruleset/elements.ts';
import type { Element } from '../../../../src/dataplane/ruleset/element.ts';
import { affinityLadder } from '../../../../src/dataplane/ruleset/layout.ts';
import { address } from '../../../../src/net/address.ts';
import type { Backend, Frontend, NodeForwarding } from '../../../../src/net/frontend.ts';
import { prefix } from '../../../../src/net/prefix.ts';

const backends = (...texts: string[]): Backend[] =>
  texts.map((text) => ({ address: address(text.replace('!', '')), port: 8080, local: text.endsWith('!') }));

const frontend = (overrides: Partial<Frontend>): Frontend => ({
  match: { kind: 'address', address: address('192.0.2.1'), protocol: 'TCP', port: 80 },
  scope: 'external',
  policy: 'Cluster',
  backends: backends('10.0.0.1!', '10.0.0.2'),
  localBackends: [],
  ...overrides,
});

function texts(of: Frontend): string[] {
  return frontendElements(of).map(elementText);
}

function elementText(element: Element): string {
  const value = valueText(element);
  return `${element.set} ${keyText(element)}${value === undefined ? '' : ` = ${value}`}`;
}

describe('elements of a frontend', () => {
  const slots = ['backends 192.0.2.1 . tcp . 80 . 0:0 = 10.0.0.1 . 8080', 'backends 192.0.2.1 . tcp . 80 . 0:1 = 10.0.0.2 . 8080'];
  const hairpin = 'hairpins 10.0.0.1 . 10.0.0.1 . tcp . 8080';

  test.each<[string, Partial<Frontend>, string[]]>([
    ['external, Cluster', {}, ['frontends 192.0.2.1 . tcp . 80 = 3:2', ...slots, hairpin]],
    [
      'internal: its address refuses other ports',
      { scope: 'internal' },
      ['cluster_ips 192.0.2.1', 'frontends 192.0.2.1 . tcp . 80 = 1:2', ...slots, hairpin],
    ],
    [
      'an address that refuses what no frontend takes',
      { backends: [], refusesRest: true },
      ['parts 0x00000006', 'own_addresses 192.0.2.1', 'without_backends 192.0.2.1 . tcp . 80 = 5:0'],
    ],
    [
      'an address that answers echo',
      { backends: [], echoFrom: address('10.0.0.9') },
      ['echo 192.0.2.1 = 10.0.0.9', 'without_backends 192.0.2.1 . tcp . 80 = 5:0'],
    ],
    ['no backend: refused, whatever the policy', { backends: [], policy: 'Local' }, ['without_backends 192.0.2.1 . tcp . 80 = 5:0']],
    [
      'Local without local backend: no local view, dropped from outside',
      { policy: 'Local' },
      ['frontends 192.0.2.1 . tcp . 80 = 4:2', ...slots, 'without_backends 192.0.2.1 . tcp . 80 = 4:0', hairpin],
    ],
    [
      'internal, Local without local backend: dropped',
      { policy: 'Local', scope: 'internal' },
      ['cluster_ips 192.0.2.1', 'frontends 192.0.2.1 . tcp . 80 = 2:2', ...slots, 'without_backends 192.0.2.1 . tcp . 80 = 2:0', hairpin],
    ],
    [
      'Local with one',
      { policy: 'Local', localBackends: backends('10.0.0.1!') },
      [
        'frontends 192.0.2.1 . tcp . 80 = 4:2',
        ...slots,
        'frontends_local 192.0.2.1 . tcp . 80 = 0:1',
        'backends_local 192.0.2.1 . tcp . 80 . 0:0 = 10.0.0.1 . 8080',
        hairpin,
      ],
    ],
    [
      'turns: a chain of its own counts them',
      { turns: Uint16Array.of(0, 1, 0) },
      [
        'frontends 192.0.2.1 . tcp . 80 = 73:0',
        'turns 192.0.2.1 . tcp . 80 = jump turns_c00002010600000000500000_0003',
        ...slots,
        'backends 192.0.2.1 . tcp . 80 . 0:2 = 10.0.0.1 . 8080',
        hairpin,
      ],
    ],
    [
      'turns of a NodePort under policy Local with session affinity',
      {
        match: { kind: 'nodePort', family: 4, protocol: 'UDP', port: 30_000 },
        policy: 'Local',
        backends: backends('10.0.0.2'),
        localBackends: backends('10.0.0.1!'),
        turns: Uint16Array.of(0),
        localTurns: Uint16Array.of(0),
        affinity: { seconds: 60, servicePort: 'a/b http UDP' },
      },
      expect.arrayContaining([
        'nodeports udp . 30000 = 84:0',
        'nodeport_turns udp . 30000 = jump turns_000000001100000075300000_0001',
        'nodeport_turns_local udp . 30000 = jump local_000000001100000075300000_0001',
        'nodeport_backends_local udp . 30000 . 0:0 = 10.0.0.1 . 8080',
      ]) as string[],
    ],
    [
      'turns by connections: the frontends of a Service port share a chain for all backends, and one for those of the node',
      {
        policy: 'Local',
        localBackends: backends('10.0.0.1!'),
        turns: new Uint16Array(256),
        localTurns: new Uint16Array(1_024),
        counting: { by: 'connections', servicePort: 'a/b http TCP', weights: [1, 1], localWeights: [1], first: 0 },
      },
      expect.arrayContaining([
        'shared_turns 0xd9016f06',
        'turns 192.0.2.1 . tcp . 80 = jump shared_____________________d9016f06',
        'shared_turns 0x7dab8697',
        'turns_local 192.0.2.1 . tcp . 80 = jump shared_____________________7dab8697',
        'backends 192.0.2.1 . tcp . 80 . 0:ff = 10.0.0.1 . 8080',
        'backends_local 192.0.2.1 . tcp . 80 . 0:3ff = 10.0.0.1 . 8080',
      ]) as string[],
    ],
    [
      'source ranges: nested prefixes are one',
      { backends: [], sourceRanges: [prefix('10.1.0.0/16'), prefix('10.0.0.0/8'), prefix('11.0.0.1/32'), prefix('fd00::/8')] },
      [
        'parts 0x00000002',
        'restricted 192.0.2.1 . tcp . 80',
        'allowed_sources 192.0.2.1 . tcp . 80 . 10.0.0.0/8',
        'allowed_sources 192.0.2.1 . tcp . 80 . 11.0.0.1',
        'without_backends 192.0.2.1 . tcp . 80 = 5:0',
      ],
    ],
    [
      'source ranges that contain every address',
      { backends: [], sourceRanges: [prefix('0.0.0.0/0')] },
      ['without_backends 192.0.2.1 . tcp . 80 = 5:0'],
    ],
    [
      'empty source ranges',
      { backends: [], sourceRanges: [] },
      ['parts 0x00000002', 'restricted 192.0.2.1 . tcp . 80', 'without_backends 192.0.2.1 . tcp . 80 = 5:0'],
    ],
    [
      'source ranges on a NodePort',
      { match: { kind: 'nodePort', family: 4, protocol: 'TCP', port: 30_000 }, backends: [], sourceRanges: [prefix('10.0.0.0/8')] },
      [
        'parts 0x00000003',
        'nodeport_restricted tcp . 30000',
        'nodeport_allowed_sources tcp . 30000 . 10.0.0.0/8',
        'nodeports_without_backends tcp . 30000 = 5:0',
      ],
    ],
    [
      'NodePort, IPv6, UDP',
      { match: { kind: 'nodePort', family: 6, protocol: 'UDP', port: 30_053 }, backends: backends('fd00::1') },
      ['nodeports udp . 30053 = 3:1', 'nodeport_backends udp . 30053 . 0:0 = fd00::1 . 8080'],
    ],
  ])('%s', (_, overrides, expected) => {
    expect(texts(frontend(overrides))).toEqual(expected);
  });

  const affinity = { seconds: 10_800, servicePort: 'shop/web http TCP' };

  test('session affinity keeps the slots and adds ids that do not depend on other backends', () => {
    const of = (...list: string[]): string[] => texts(frontend({ backends: backends(...list), affinity }));
    const three = of('10.0.0.1', '10.0.0.2', '10.0.0.3');
    expect(three).toContain('frontends 192.0.2.1 . tcp . 80 = 13:3');
    expect(three.filter((text) => /^backends .* \. 0:/.test(text))).toEqual(
      texts(frontend({ backends: backends('10.0.0.1', '10.0.0.2', '10.0.0.3') })).filter((text) => text.startsWith('backends')),
    );
    const byId = (list: string[]): string[] => list.filter((text) => /^backends .* \. [^0]\w*:/.test(text));
    expect(byId(three)).toHaveLength(3);
    expect(byId(three)).toEqual(expect.arrayContaining(byId(of('10.0.0.1', '10.0.0.3'))));
  });

  test('all frontends of a Service port share one affinity id', () => {
    const id = (overrides: Partial<Frontend>): string | undefined =>
      texts(frontend({ affinity, ...overrides })).flatMap((text) => /^(?:nodeport_)?affinity_ids .* = (.*)$/.exec(text)?.[1] ?? [])[0];
    const match: Frontend['match'] = { kind: 'nodePort', family: 4, protocol: 'TCP', port: 30_000 };
    expect(id({})).toMatch(/^\w+:\w+$/);
    expect(id({ match })).toBe(id({}));
    expect(id({ policy: 'Local' })).toBe(id({}));
    expect(id({ affinity: { ...affinity, servicePort: 'shop/web https TCP' } })).not.toBe(id({}));
    expect(id({ affinity: { ...affinity, seconds: 60 } })).not.toBe(id({}));
    expect(id({ backends: [] })).toBeUndefined();
  });

  test('a backend has the same id in the maps for policy Local', () => {
    const list = backends('10.0.0.1', '10.0.0.2');
    const all = texts(frontend({ affinity, policy: 'Local', backends: list, localBackends: list.slice(0, 1) }));
    const local = all.find((text) => /^backends_local .* \. [^0]\w*:/.test(text));
    expect(all).toContain(local?.replace('_local', ''));
  });

  test.each([
    ['connection', 251, '23:fb'],
    ['client', 16_381, '33:3ffd'],
  ] as const)('slots by hash of the %s have one element for each of %i', (hashed, size, kind) => {
    const backendOf = Uint16Array.from({ length: size }, (_, slot) => slot % 2);
    const [first, ...rest] = texts(frontend({ slots: { hashed, backendOf } }));
    expect(first).toBe(`frontends 192.0.2.1 . tcp . 80 = ${kind}`);
    expect(rest.at(-1)).toBe(hairpin);
    expect(rest).toHaveLength(size + 1);
    expect(rest[size - 1]).toBe(`backends 192.0.2.1 . tcp . 80 . 0:${(size - 1).toString(16)} = 10.0.0.1 . 8080`);
  });

  const slotsOf = (length: number, backend: number): Partial<Frontend> => ({
    slots: { hashed: 'connection', backendOf: new Uint16Array(length).fill(backend) },
  });

  test.each<[string, Partial<Frontend>]>([
    ['a table of another size', slotsOf(256, 0)],
    ['a slot without a backend', slotsOf(251, 2)],
    ['slots under policy Local without those of the node', { ...slotsOf(251, 0), policy: 'Local', localBackends: backends('10.0.0.1!') }],
    ['slots beside turns', { ...slotsOf(251, 0), turns: Uint16Array.of(0) }],
    ['turns of no backend', { turns: Uint16Array.of(0, 2) }],
    ['no turns', { turns: new Uint16Array() }],
    ['too many turns', { turns: new Uint16Array(1_025) }],
    [
      'turns by connections of another number',
      { turns: new Uint16Array(2), counting: { by: 'idle', servicePort: 'a/b  TCP', weights: [1, 1], localWeights: [], first: 0 } },
    ],
    [
      'turns under policy Local without those of the node',
      { turns: Uint16Array.of(0), policy: 'Local', localBackends: backends('10.0.0.1!') },
    ],
    ['direct server return of a ClusterIP', { ...slotsOf(251, 0), scope: 'internal', directReturn: {} }],
    [
      'direct server return with a hash of the destination',
      { slots: { hashed: 'destination', backendOf: new Uint16Array(251) }, directReturn: {} },
    ],
    ['slots beside session affinity', { ...slotsOf(251, 0), affinity }],
    ['echo by the other family', { echoFrom: address('fd00::1') }],
    ['a backend of the other family', { backends: backends('fd00::1') }],
    ['port 0', { match: { kind: 'address', address: address('192.0.2.1'), protocol: 'TCP', port: 0 } }],
    ['an internal NodePort', { match: { kind: 'nodePort', family: 4, protocol: 'TCP', port: 30_000 }, scope: 'internal' }],
  ])('%s is returned as a problem, not thrown', (_, overrides) => {
    expect(frontendProblem(frontend(overrides))).toEqual(expect.any(String));
  });

  test.each([
    [1, 1],
    [64, 64],
    [65, 128],
    [128, 128],
    [129, 256],
    [1_000, 1_024],
    [1_024, 1_024],
    [5_000, 1_024],
  ])('%i backends have %i slots', (count, slots) => {
    expect(slotsFor(count)).toBe(slots);
  });

  test('more than 64 backends share the slots as evenly as possible', () => {
    const many = Array.from({ length: 100 }, (_, index) => `10.0.1.${index}`);
    const counts = new Map<string, number>();
    for (const text of texts(frontend({ backends: backends(...many) }))) {
      const value = /^backends .* = (.*)$/.exec(text)?.[1];
      if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    expect(counts.size).toBe(100);
    expect(new Set(counts.values())).toEqual(new Set([1, 2]));
  });

  test('affinity ids are never nft words, and the mask selects the timeout', () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => affinityId(index % 64, `shop/s${index} http TCP`));
    expect(new Set(ids).size).toBeGreaterThan(19_990);
    for (const [index, id] of ids.entries()) {
      expect(['0:0', 'ffff:ffff']).not.toContain(id);
      expect((classNumber(id) & Number(timeoutMask)) >>> 0).toBe(classNumber(timeoutId(index % 64)));
    }
  });

  test.each([
    [1, 1],
    [7, 8],
    [125, 125],
    [10_800, 10_800],
    [10_801, 12_600],
    [86_400, 86_400],
  ])('affinity for %i s is kept for %i s', (asked, kept) => {
    expect(affinityLadder[affinityTimeout(asked)]).toBe(kept);
  });

  test('affinity lasts at least as long as asked, and at most half as long again', () => {
    expect(affinityLadder).toHaveLength(64);
    for (let seconds = 1; seconds <= 86_400; seconds++) {
      const kept = affinityLadder[affinityTimeout(seconds)] ?? 0;
      expect(kept >= seconds && kept <= 1.5 * seconds, `${seconds} s`).toBe(true);
    }
  });
});

test.each([
  ['0.0.0.0/0', ['0.0.0.0/2', '64.0.0.0/3', '96.0.0.0/4', '112.0.0.0/5', '120.0.0.0/6', '124.0.0.0/7', '126.0.0.0/8', '128.0.0.0/1']],
  ['127.0.0.1/32', []],
  ['10.0.0.0/8', ['10.0.0.0/8']],
  ['::/0', ['100::/8', '200::/7', '400::/6', '800::/5', '1000::/4', '2000::/3', '4000::/2', '8000::/1']],
  ['::1/128', []],
])('NodePorts on %s leave out loopback addresses', (text, expected) => {
  const elements = nodeElements({ nodePortAddresses: [prefix(text)], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14 });
  const ports = elements.map(elementText).filter((each) => each.startsWith('nodeport_ips'));
  expect(ports).toEqual(expected.map((key) => `nodeport_ips ${key}`));
});

test('node elements are separate by family and have no overlapping prefixes', () => {
  const elements = nodeElements({
    nodePortAddresses: [prefix('10.0.0.1/32'), prefix('fd00::1/128'), prefix('10.0.0.1/32')],
    podPrefixes: [prefix('10.244.1.0/24'), prefix('10.244.0.0/16'), prefix('fd01::/64')],
    servicePrefixes: [prefix('172.30.0.0/16')],
    masqueradeBit: 14,
  });
  expect(elements.map((element) => `${element.family} ${elementText(element)}`).sort()).toEqual([
    '4 nodeport_ips 10.0.0.1',
    '4 pod_prefixes 10.244.0.0/16',
    '4 service_prefixes 172.30.0.0/16',
    '4 unmasqueraded 10.244.0.0/16',
    '6 nodeport_ips fd00::1',
    '6 pod_prefixes fd01::/64',
    '6 unmasqueraded fd01::/64',
  ]);
});

test.each<[string, Partial<NodeForwarding>, readonly string[]]>([
  ['all sources, when pods are unknown', {}, ['0.0.0.0/0', '::/0']],
  ['all sources of a family, when its pods are unknown', { podPrefixes: [prefix('fd01::/64')] }, ['0.0.0.0/0', 'fd01::/64']],
  ['no source by address, when pods are known by their interface', { podInterfaces: ['cni0'] }, []],
  ['nothing under masqueradeAll', { podPrefixes: [prefix('10.244.0.0/16')], masqueradeAll: true }, []],
])('ClusterIP traffic is not masqueraded from: %s', (_, more, expected) => {
  const elements = nodeElements({ nodePortAddresses: [], podPrefixes: [], servicePrefixes: [], masqueradeBit: 14, ...more });
  const sources = elements.map(elementText).filter((each) => each.startsWith('unmasqueraded'));
  expect(sources).toEqual(expected.map((key) => `unmasqueraded ${key}`));
});
