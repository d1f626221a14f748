import { expect, test } from 'vitest';
import { isPromiscuous, linkTroubles } from '../../../../src/decisions/l2/link-troubles.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import type { HostLink } from '../../../../src/net/host-link.ts';

function link(name: string, more: Partial<HostLink> = {}): HostLink {
  return { name, up: true, carrier: true, noArp: false, loopback: false, leadsElsewhere: false, addresses: [], ...more };
}

const found = (name: string, links: readonly HostLink[], promiscuous = false): string[] =>
  linkTroubles('n1', name, links, promiscuous).map((trouble) => `${trouble.code}: ${reasonText(trouble).split(' ', 1).join('')}`);

test('L2-29 Wi-Fi is reported unless an advertisement is promiscuous', () => {
  const links = [link('eth0'), link('wlan0', { wireless: true })];
  expect(found('wlan0', links)).toEqual(['L2Wireless: wlan0']);
  expect(found('wlan0', links, true)).toEqual([]);
  expect(found('eth0', links)).toEqual([]);
  expect(isPromiscuous([{ promiscuous: false }, { promiscuous: true }])).toBe(true);
  expect(isPromiscuous([{ promiscuous: false }])).toBe(false);
});

test.each([
  ['balance-rr', 0, []],
  ['active-backup', 1, []],
  ['balance-xor', 2, []],
  ['broadcast', 3, []],
  ['802.3ad', 4, []],
  // It leaves ARP as it is.
  ['balance-tlb', 5, []],
  ['balance-alb', 6, ['L2BondRewrites: bond0']],
])('L2-29 a bond in mode %s', (_, bondMode, wanted) => {
  const links = [link('bond0', { kind: 'bond', bondMode }), link('eth0', { master: 'bond0' }), link('eth1', { master: 'bond0' })];
  expect(found('bond0', links)).toEqual(wanted);
  expect(found('bond0', links, true)).toEqual(wanted);
});

test('L2-29 interfaces below a VLAN device or a bridge count, the other end of a veth does not', () => {
  const bond0 = link('bond0', { kind: 'bond', bondMode: 6 });
  expect(found('bond0.10', [bond0, link('bond0.10', { kind: 'vlan', parent: 'bond0' })])).toEqual(['L2BondRewrites: bond0']);
  const port = link('bond0.10', { kind: 'vlan', parent: 'bond0', master: 'br0' });
  expect(found('br0', [bond0, port, link('br0', { kind: 'bridge' })])).toEqual(['L2BondRewrites: bond0']);
  const pair = [link('veth0', { kind: 'veth', parent: 'veth1' }), link('veth1', { kind: 'veth', parent: 'veth0', wireless: true })];
  expect(found('veth0', pair)).toEqual([]);
  expect(found('eth9', [bond0])).toEqual([]);
});
