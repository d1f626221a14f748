import { describe, expect, test } from 'vitest';
import { ownAddress, withNextHopOnLink, withSourceOfInterface } from '../../../../src/decisions/announcement/peer-link.ts';
import { peersOfNode, type SessionIntent } from '../../../../src/decisions/announcement/peers.ts';
import { reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import type { HostInterface } from '../../../../src/system/host.ts';
import { cluster } from '../fixtures.ts';

const at = (name: string, text: string): HostInterface => {
  const [address = '', length] = text.split('/');
  return { name, address, length: Number(length) };
};

function sessionOf(peer: object, internalIPs: readonly string[]): SessionIntent {
  const snapshot = cluster({ nodes: [{ name: 'n1', internalIPs }], peers: [{ name: 'tor1', dualStackAddressFamily: true, ...peer }] });
  const [found] = peersOfNode(snapshot, 'n1');
  if (found === undefined || 'reason' in found.result) throw new Error('no session');
  return found.result.session;
}

describe('the source of a session by an interface', () => {
  const lo = [at('lo', '127.0.0.1/8'), at('lo', '10.9.9.9/32'), at('lo', '10.9.9.1/32'), at('lo', '::1/128'), at('lo', 'fd09::1/128')];
  const sourceOf = (peer: object, interfaces: readonly HostInterface[], internalIPs: readonly string[] = []): string => {
    const session = sessionOf({ sourceInterface: 'lo', ...peer }, internalIPs);
    const found = withSourceOfInterface(session, interfaces, 'n1', internalIPs.map(address));
    if ('reason' in found) return `${reasonText(found.reason)}. ${remedyText(found.reason)}`;
    return found.session.sourceAddress === undefined ? '' : formatAddress(found.session.sourceAddress);
  };

  test.each<[string, object, readonly HostInterface[], readonly string[], string]>([
    ['is the first address of the kernel', { peerAddress: '10.0.0.254' }, lo, [], '10.9.9.9'],
    ['is the InternalIP if it is there', { peerAddress: '10.0.0.254' }, lo, ['10.9.9.1'], '10.9.9.1'],
    ['is of the family of the peer', { peerAddress: 'fd01::fe' }, lo, ['10.9.9.1'], 'fd09::1'],
    [
      'is not of another interface',
      { peerAddress: '10.0.0.254', sourceInterface: 'eth0' },
      [...lo, at('eth0', '10.0.0.1/24')],
      [],
      '10.0.0.1',
    ],
    ['is left to the kernel without the field', { peerAddress: '10.0.0.254', sourceInterface: undefined }, lo, [], ''],
  ])('%s', (_, peer, interfaces, internalIPs, expected) => {
    expect(sourceOf(peer, interfaces, internalIPs)).toBe(expected);
  });

  test.each<[string, readonly HostInterface[], string]>([
    ['interface', [], 'node "n1" has no interface lo that is up and has an address, spec.sourceInterface of BGPPeer "tor1"'],
    [
      'address but those of the link or the host',
      [...lo.slice(0, 1), at('lo', '169.254.1.1/32'), at('lo', 'fd09::1/128')],
      'lo of node "n1", spec.sourceInterface of BGPPeer "tor1", has no IPv4 address that a router can reach',
    ],
  ])('is missing without an %s, and the reason has the fix', (_, interfaces, expected) => {
    expect(sourceOf({ peerAddress: '10.0.0.254' }, interfaces)).toBe(
      `${expected}. give lo of node "n1" an IPv4 address (ip address add ADDRESS dev lo), or change spec.sourceInterface of BGPPeer "tor1"`,
    );
  });
});

describe('the next hop of the other family', () => {
  const overIPv4 = { peerAddress: '10.0.0.254' };
  const eth0 = at('eth0', '10.0.0.1/24');

  test.each<[string, object, string[], HostInterface[], string | undefined]>([
    [
      'the InternalIP that is on the link',
      overIPv4,
      ['10.0.0.1', 'fd00::1'],
      [eth0, at('eth0', 'fd00::1/64'), at('eth0', 'fd01::1/64')],
      'fd00::1',
    ],
    [
      'another address of the link when the InternalIP is on lo',
      overIPv4,
      ['10.0.0.1', 'fd99::1'],
      [eth0, at('eth0', 'fe80::1/64'), at('eth0', 'fd01::1/64')],
      'fd01::1',
    ],
    [
      'an address of the link when the InternalIP is on another one',
      overIPv4,
      ['10.0.0.1', 'fd99::1'],
      [at('eth1', 'fd99::1/64'), at('eth0', 'fd01::1/64'), eth0],
      'fd01::1',
    ],
    [
      'an address with a network before a service address',
      overIPv4,
      ['10.0.0.1', 'fd99::1'],
      [eth0, at('eth0', 'fd00::53/128'), at('eth0', 'fd01::1/64')],
      'fd01::1',
    ],
    ['an address of the link when the Node has none of the family', overIPv4, ['10.0.0.1'], [eth0, at('eth0', 'fd01::1/64')], 'fd01::1'],
    [
      'an IPv4 address of the link over IPv6',
      { peerAddress: 'fd01::fe' },
      ['192.0.2.1', 'fd01::1'],
      [at('eth0', 'fd01::1/64'), eth0, at('eth0', '169.254.1.1/16')],
      '10.0.0.1',
    ],
    [
      'an address of the longest network around the peer',
      overIPv4,
      ['10.0.0.1', 'fd99::1'],
      [at('eth1', '10.0.0.9/8'), at('eth1', 'fd02::1/64'), eth0, at('eth0', 'fd01::1/64')],
      'fd01::1',
    ],
    [
      'the InternalIP when the peer is on no link',
      { peerAddress: '192.0.2.9' },
      ['10.0.0.1', 'fd99::1'],
      [eth0, at('eth0', 'fd01::1/64')],
      'fd99::1',
    ],
  ])('is %s', (_, peer, internalIPs, interfaces, expected) => {
    const { session, warning } = withNextHopOnLink(sessionOf(peer, internalIPs), interfaces, 'n1');
    expect(session.otherNextHop && formatAddress(session.otherNextHop)).toBe(expected);
    expect(warning).toBeUndefined();
  });

  test('stays the InternalIP, with a warning, when the link has no global address', () => {
    const { session, warning } = withNextHopOnLink(sessionOf(overIPv4, ['10.0.0.1', 'fd99::1']), [eth0, at('eth0', 'fe80::1/64')], 'n1');
    expect(session.otherNextHop && formatAddress(session.otherNextHop)).toBe('fd99::1');
    expect(warning?.code).toBe('NextHopNotOnLink');
    expect(warning && reasonText(warning)).toContain(
      'is fd99::1, and eth0 of node "n1", the link to the router, has no global IPv6 address',
    );
  });

  test('is left alone where the session carries one family', () => {
    const session = sessionOf({ ...overIPv4, dualStackAddressFamily: false }, ['10.0.0.1', 'fd99::1']);
    expect(withNextHopOnLink(session, [eth0, at('eth0', 'fd01::1/64')], 'n1')).toEqual({ session });
  });
});

describe('a peer with an address of the node itself', () => {
  const interfaces = [at('eth0', '10.0.0.1/24')];

  test('is named with its interface', () => {
    const because = ownAddress(sessionOf({ peerAddress: '10.0.0.1' }, ['10.0.0.1']), interfaces, 'n1');
    expect(because).toEqual({ code: 'PeerIsOwnAddress', details: { peer: 'tor1', address: '10.0.0.1', node: 'n1', interface: 'eth0' } });
  });

  test.each([
    ['another address', { peerAddress: '10.0.0.2' }],
    ['a router program of the node at another port', { peerAddress: '10.0.0.1', peerPort: 1790 }],
    ['a router program of the node on loopback', { peerAddress: '127.0.0.1' }],
  ])('is not %s', (_, peer) => {
    expect(ownAddress(sessionOf(peer, ['10.0.0.1']), interfaces, 'n1')).toBeUndefined();
  });
});
