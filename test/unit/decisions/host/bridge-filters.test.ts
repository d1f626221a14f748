import { expect, test } from 'vitest';
import { droppingBridges, judgeBridges } from '../../../../src/decisions/host/bridge-filters.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import type { Family } from '../../../../src/net/address.ts';
import type { HostLink } from '../../../../src/net/host-link.ts';

function link(name: string, more: Partial<HostLink> = {}): HostLink {
  return { name, up: true, carrier: true, noArp: false, loopback: false, leadsElsewhere: false, addresses: [], ...more };
}
const bridge = (name: string, ...bridgeFilters: readonly Family[]): HostLink => link(name, { kind: 'bridge', bridgeFilters });

/** The settings for all bridges, IPv4 first. undefined: the kernel does not have the module. */
function judged(links: readonly HostLink[], ways: readonly (readonly [Family, string])[], values?: readonly [string, string]) {
  const [iptables, ip6tables] = values ?? [];
  const settings = new Map([
    ['net/bridge/bridge-nf-call-iptables', iptables],
    ['net/bridge/bridge-nf-call-ip6tables', ip6tables],
  ]);
  return judgeBridges({ links, ways: ways.map(([family, name]) => ({ family, interface: name })), read: (path) => settings.get(path) });
}

test.each<[string, Parameters<typeof judged>, readonly string[]]>([
  [
    'both families',
    [
      [bridge('br0')],
      [
        [4, 'br0'],
        [6, 'br0'],
      ],
      ['1', '1'],
    ],
    ['br0: IPv4 and IPv6'],
  ],
  [
    'one family by the setting',
    [
      [bridge('br0')],
      [
        [4, 'br0'],
        [6, 'br0'],
      ],
      ['0', '1'],
    ],
    ['br0: IPv6'],
  ],
  [
    'one family by the ways',
    [
      [bridge('br0')],
      [
        [4, 'br0'],
        [6, 'eth0'],
      ],
      ['1', '1'],
    ],
    ['br0: IPv4'],
  ],
  [
    'the option of the bridge',
    [
      [bridge('br0', 4)],
      [
        [4, 'br0'],
        [6, 'br0'],
      ],
      ['0', '0'],
    ],
    ['br0: IPv4'],
  ],
  ['the option without the setting', [[bridge('br0', 6)], [[6, 'br0']]], ['br0: IPv6']],
  [
    'both settings off',
    [
      [bridge('br0')],
      [
        [4, 'br0'],
        [6, 'br0'],
      ],
      ['0', '0'],
    ],
    [],
  ],
  ['no module', [[bridge('br0')], [[4, 'br0']]], []],
  ['an overlay', [[bridge('br0'), link('vxlan1', { kind: 'vxlan' })], [[4, 'vxlan1']], ['1', '1']], []],
  ['an uplink that is no bridge', [[link('eth0'), bridge('cni0')], [[4, 'eth0']], ['1', '1']], []],
  ['no endpoint elsewhere', [[bridge('br0')], [], ['1', '1']], []],
])('%s', (_, args, wanted) => {
  const found = judged(...args).map((one) => {
    expect(one.code).toBe('BridgeDropsForwarded');
    const [, name, families] = /^(\S+) leads .* translates (.*) packets of Services/.exec(reasonText(one)) ?? [];
    return `${name}: ${families}`;
  });
  expect(found).toEqual(wanted);
});

test('the fix turns the setting off for all bridges and keeps it for those of pods', () => {
  const [found] = judged(
    [bridge('br0'), bridge('cni0', 4)],
    [
      [4, 'br0'],
      [6, 'br0'],
    ],
    ['1', '1'],
  );
  expect(found && reasonText(found)).toContain(
    'br0 leads to endpoints on other nodes, and net.bridge.bridge-nf-call-iptables is 1 and net.bridge.bridge-nf-call-ip6tables is 1',
  );
  expect(found && remedyText(found)).toContain(
    'ip link set dev cni0 type bridge nf_call_iptables 1 nf_call_ip6tables 1 && sysctl -w net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0',
  );
});

test('the fix turns the option of the bridge off where only that is on', () => {
  const [found] = judged([bridge('br0', 4), bridge('cni0')], [[4, 'br0']], ['0', '0']);
  expect(found && reasonText(found)).toContain('nf_call_iptables of br0 is 1');
  expect(found && remedyText(found)).toMatch(/: ip link set dev br0 type bridge nf_call_iptables 0$/);
});

test.each<[string, readonly HostLink[], readonly string[], readonly string[]]>([
  ['with one port by which all clients come', [link('eth0', { master: 'br0' })], ['br0'], ['br0 4', 'br0 6']],
  ['and not with a second port', [link('eth0', { master: 'br0' }), link('eth1', { master: 'br0' })], ['br0'], []],
  [
    'also with a second port without a carrier',
    [link('eth0', { master: 'br0' }), link('eth1', { master: 'br0', carrier: false })],
    ['br0'],
    ['br0 4', 'br0 6'],
  ],
  ['and not in hairpin mode', [link('eth0', { master: 'br0', hairpin: true })], ['br0'], []],
  ['and not when clients also come elsewhere', [link('eth0', { master: 'br0' })], ['br0', 'eth9'], []],
  ['and not when it is unknown where clients come', [link('eth0', { master: 'br0' })], [], []],
])('a bridge certainly drops %s', (_, ports, entries, expected) => {
  const found = droppingBridges({ links: [bridge('br0'), bridge('cni0'), ...ports], read: () => '1' }, new Set(entries));
  expect(found.map((one) => `${one.interface} ${one.families.join()}`)).toEqual(expected);
  for (const { why, remedy } of found)
    expect([why, remedy].join()).toMatch(
      /^br0 drops packets .*because net\.bridge\.bridge-nf-call-ip6?tables is 1,ip link set dev cni0 type bridge/,
    );
});
