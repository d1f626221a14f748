import { describe, expect, test } from 'vitest';
import { entryDevices } from '../../../../src/decisions/host/entry-devices.ts';
import type { HostLink } from '../../../../src/net/host-link.ts';

function link(name: string, more: Partial<HostLink> = {}): HostLink {
  return { name, up: true, carrier: true, noArp: false, loopback: false, leadsElsewhere: false, addresses: [], ...more };
}

describe('the interfaces that packets pass on their way in', () => {
  test.each<[string, readonly HostLink[], string, readonly string[][]]>([
    ['a device of hardware', [link('eth0')], 'eth0', [['eth0']]],
    ['an unknown interface', [], 'eth0', [['eth0']]],
    ['a VLAN', [link('eth0'), link('eth0.10', { kind: 'vlan', parent: 'eth0' })], 'eth0.10', [['eth0', 'eth0.10']]],
    ['one end of a veth', [link('a', { kind: 'veth', parent: 'b' }), link('b', { kind: 'veth', parent: 'a' })], 'a', [['a']]],
    [
      'a VLAN of a bond, one port of which has no carrier',
      [
        link('eth0', { master: 'bond0' }),
        link('eth1', { master: 'bond0' }),
        link('eth2', { master: 'bond0', carrier: false }),
        link('bond0', { kind: 'bond' }),
        link('bond0.7', { kind: 'vlan', parent: 'bond0' }),
      ],
      'bond0.7',
      [
        ['eth0', 'bond0', 'bond0.7'],
        ['eth1', 'bond0', 'bond0.7'],
      ],
    ],
    [
      'a bridge with ports to pods',
      [
        link('eth0', { master: 'br0' }),
        link('veth1', { master: 'br0', kind: 'veth', leadsElsewhere: true }),
        link('br0', { kind: 'bridge' }),
      ],
      'br0',
      [['eth0', 'br0']],
    ],
    [
      'interfaces that lead to each other in a circle',
      [link('a', { kind: 'vlan', parent: 'b' }), link('b', { kind: 'vlan', parent: 'a' })],
      'a',
      [['a', 'b', 'a', 'b', 'a', 'b', 'a', 'b', 'a']],
    ],
  ])('are known of %s', (_, links, entry, expected) => {
    expect(entryDevices(links, entry)).toEqual(expected);
  });
});
