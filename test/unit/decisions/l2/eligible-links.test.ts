import { expect, test } from 'vitest';
import { eligibleLinks, whyNotEligible } from '../../../../src/decisions/l2/eligible-links.ts';
import { address } from '../../../../src/net/address.ts';
import type { HostLink } from '../../../../src/net/host-link.ts';
import { prefix } from '../../../../src/net/prefix.ts';

function link(more: Partial<HostLink> & Pick<HostLink, 'name'>): HostLink {
  const usual = { linkAddress: '02:00:00:00:00:01', up: true, carrier: true, noArp: false, loopback: false, leadsElsewhere: false };
  return { ...usual, addresses: [], ...more };
}

const onLan = [{ address: address('192.0.2.1'), network: prefix('192.0.2.0/24') }];

test.each<[string, HostLink, readonly HostLink[], string]>([
  ['the loopback interface', link({ name: 'lo', loopback: true }), [], 'a loopback interface'],
  ['an interface without ARP', link({ name: 'tun0', noArp: true }), [], 'without ARP'],
  ['an interface that is down', link({ name: 'eth0', up: false }), [], 'down'],
  ['an interface without carrier', link({ name: 'eth0', carrier: false }), [], 'without carrier'],
  ['a port of a bridge', link({ name: 'eth0', master: 'br0' }), [], 'a port of br0: name br0 instead'],
  ['an ipvlan device', link({ name: 'ipv0', kind: 'ipvlan' }), [], 'an ipvlan device, which has no link-layer address of its own'],
  ["Herald's own tunnel", link({ name: 'herald-vx4', kind: 'vxlan' }), [], "Herald's own tunnel between nodes"],
  ['the cable to a pod', link({ name: 'veth1', leadsElsewhere: true }), [], 'the cable to a pod'],
  [
    'the bridge of the pods',
    link({ name: 'cni0', kind: 'bridge', addresses: onLan }),
    [link({ name: 'veth1', leadsElsewhere: true, master: 'cni0' }), link({ name: 'tap0', kind: 'tun', master: 'cni0' })],
    'a bridge that connects only pods or virtual machines of this host',
  ],
])('%s carries no announcements', (_, one, others, why) => {
  expect(whyNotEligible(one, [one, ...others], new Set())).toBe(why);
  expect(eligibleLinks([one, ...others], new Set(), [])).toEqual([]);
});

test('interfaces with a network, bridges with a port that leads out, and named ones carry announcements', () => {
  const links = [
    link({ name: 'eth0', addresses: onLan }),
    link({ name: 'br0', kind: 'bridge' }),
    link({ name: 'eth1', master: 'br0' }),
    link({ name: 'veth1', leadsElsewhere: true }),
  ];
  expect(eligibleLinks(links, new Set(), []).map(({ name }) => name)).toEqual(['eth0', 'br0']);
  expect(eligibleLinks(links, new Set(['veth1']), []).map(({ name }) => name)).toEqual(['eth0', 'br0', 'veth1']);
});

test('the bridge of the pods carries announcements when the Node has an address on it', () => {
  const bridge = link({ name: 'br0', kind: 'bridge', addresses: onLan });
  expect(eligibleLinks([bridge], new Set(), [address('192.0.2.1')]).map(({ name }) => name)).toEqual(['br0']);
});
