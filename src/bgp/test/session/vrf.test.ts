import { describe, expect, it } from 'vitest';
import { PeerOptionsError, Speaker, type PeerOptions } from '../../../../src/bgp/index.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import type { PeerKey } from '../../../../src/bgp/transport/transport.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const router = '10.0.0.1';
const peer: PeerOptions = { address: router, peerAsn: 65_001, passive: true };

/** A speaker that listens in no VRF and in the VRF red, and the keys of each listening socket. */
function bed() {
  const clock = new VirtualClock();
  const transport = new MemoryTransport(clock);
  const keys = new Map<string, readonly PeerKey[]>();
  const listen = transport.listen.bind(transport);
  transport.listen = (options, events) => ({
    ...listen(options, events),
    setKeys: (wanted) => {
      keys.set(options.vrf ?? 'none', wanted);
      return new Map();
    },
  });
  const speaker = new Speaker({ asn: 64_512, routerId: '10.0.0.11', listen: [{}, { vrf: 'red' }], clock, random: () => 0.5, transport });
  clock.advance(0);
  const keysOf = (vrf: string): string[] => (keys.get(vrf) ?? []).map(({ prefix, password }) => `${formatPrefix(prefix)} ${password}`);
  const connect = (from: string, vrf?: string, networkInterface?: string) => transport.connectFrom(address(from), networkInterface, vrf);
  return { clock, transport, speaker, keysOf, connect };
}

describe('a peer in a VRF', () => {
  it('BGP-124 dials in its VRF, and has it in its status', () => {
    const { clock, transport, speaker } = bed();
    const red = speaker.addPeer({ ...peer, passive: false, vrf: 'red' });
    const plain = speaker.addPeer({ ...peer, passive: false, name: 'plain' });
    clock.advance(0);
    expect(transport.dialed.map(({ vrf }) => vrf)).toEqual(['red', undefined]);
    expect(red.status().vrf).toBe('red');
    expect('vrf' in plain.status()).toBe(false);
  });

  it('BGP-125 takes the connections in its VRF, and another peer with the address those in no VRF', () => {
    const { clock, speaker, connect } = bed();
    const red = speaker.addPeer({ ...peer, name: 'red', vrf: 'red' });
    clock.advance(0);
    expect(connect(router)).toBeUndefined();
    expect(speaker.listening().strangers).toBe(1);
    const plain = speaker.addPeer({ ...peer, name: 'plain' });
    clock.advance(0);
    expect(connect(router, 'red')).toBeDefined();
    clock.advance(0);
    expect([red, plain].map((each) => each.status().state)).toEqual(['OpenSent', 'Active']);
    expect(connect(router)).toBeDefined();
    clock.advance(0);
    expect(plain.status().state).toBe('OpenSent');
    speaker.removePeer('red');
    expect(connect(router, 'red')).toBeUndefined();
  });

  it('BGP-125 has its key on the socket of its VRF only', () => {
    const { speaker, keysOf } = bed();
    speaker.addPeer({ ...peer, name: 'red', vrf: 'red', password: 'of red' });
    speaker.addPeer({ ...peer, name: 'plain', password: 'of none' });
    expect(keysOf('red')).toEqual(['10.0.0.1/32 of red']);
    expect(keysOf('none')).toEqual(['10.0.0.1/32 of none']);
  });

  it('BGP-125 can be on an interface of a VRF, which is not named then', () => {
    const { clock, speaker, connect, keysOf } = bed();
    const tor = speaker.addPeer({ interface: 'eth1', peerAsn: 'external', passive: true, password: 'hush' });
    const global = speaker.addPeer({ ...peer, interface: 'eth1', password: 'other' });
    clock.advance(0);
    expect(keysOf('red')).toEqual(['fe80::/10 hush']);
    expect(connect('fe80::1', 'red', 'eth2')).toBeUndefined();
    expect(connect(router, 'red')).toBeUndefined();
    expect(connect('fe80::1', 'red', 'eth1')).toBeDefined();
    clock.advance(0);
    expect([tor, global].map((each) => each.status().state)).toEqual(['OpenSent', 'Active']);
  });

  it('BGP-125 can be a member of a group in the VRF', () => {
    const { clock, speaker, connect, keysOf } = bed();
    const group = speaker.addPeerGroup({ name: 'nodes', ranges: ['10.1.0.0/24'], peerAsn: 'external', vrf: 'red', password: 'hush' });
    expect(keysOf('red')).toEqual(['10.1.0.0/24 hush']);
    expect(keysOf('none')).toEqual([]);
    expect(connect('10.1.0.7')).toBeUndefined();
    expect(connect('10.1.0.7', 'red')).toBeDefined();
    clock.advance(0);
    expect(group.peers.map((member) => member.status())).toMatchObject([{ name: 'nodes/10.1.0.7', vrf: 'red' }]);
  });

  it('closes its session when the VRF changes, and tells the router so', async () => {
    const { clock, transport, speaker, connect } = bed();
    const tor = speaker.addPeer({ ...peer, vrf: 'red' });
    clock.advance(0);
    const remote = connect(router, 'red');
    clock.advance(0);
    remote?.take();
    tor.reconfigure(peer);
    clock.advance(0);
    // NOTIFICATION, Cease, Other Configuration Change.
    expect(Buffer.from(remote?.take() ?? []).toString('hex')).toContain('030606');
    remote?.close();
    for (let turn = 0; turn < 4; turn++) {
      clock.advance(2_000);
      await Promise.resolve();
    }
    expect(connect(router, 'red')).toBeUndefined();
    expect(connect(router)).toBeDefined();
    expect(transport.remotes.map(({ options }) => formatAddress(options.address))).toEqual([router, router]);
  });
});

describe('listening in a VRF', () => {
  it('shows the VRF of each socket, and keeps the sockets that stay', () => {
    const { clock, transport, speaker } = bed();
    expect(speaker.listening().sockets).toEqual([
      { port: 179, listening: true },
      { vrf: 'red', port: 179, listening: true },
    ]);
    speaker.listen([{ vrf: 'red' }, { vrf: 'blue' }]);
    clock.advance(0);
    expect(speaker.listening().sockets.map(({ vrf }) => vrf)).toEqual(['red', 'blue']);
    expect(transport.listening.map(({ vrf }) => vrf)).toEqual([undefined, 'red', 'blue']);
  });

  it.each(['', 'a b', 'a/b', '..', 'x'.repeat(16)])('refuses %j as the name of a VRF', (vrf) => {
    const { speaker } = bed();
    expect(() => speaker.listen([{ vrf }])).toThrow('is not the name of a VRF');
    expect(() => speaker.addPeer({ ...peer, vrf })).toThrow(/^vrf: is not the name of a VRF/);
  });

  it('is needed for a passive peer in the VRF', () => {
    const { speaker } = bed();
    const add = (): unknown => speaker.addPeer({ ...peer, vrf: 'blue' });
    expect(add).toThrow(PeerOptionsError);
    expect(add).toThrow('passive: this speaker does not listen in the VRF blue, so the peer could never connect');
    speaker.listen([{ vrf: 'blue' }]);
    expect(() => speaker.addPeer(peer)).toThrow('passive: this speaker does not listen, so the peer could never connect');
    expect(add).not.toThrow();
  });

  it('refuses a peer with both an interface and a VRF', () => {
    const { speaker } = bed();
    expect(() => speaker.addPeer({ ...peer, vrf: 'red', interface: 'eth1' })).toThrow('vrf: cannot be combined with interface');
  });
});
