import { beforeEach, describe, expect, test } from 'vitest';
import {
  PeerOptionsError,
  RouteError,
  Speaker,
  SpeakerError,
  type PeerOptions,
  type RouteInput,
  type SpeakerOptions,
} from '../../../src/bgp/index.ts';
import { MemoryNetwork } from '../../../src/bgp/transport/memory-network.ts';
import { MemoryTransport } from '../../../src/bgp/transport/memory-transport.ts';
import { address } from '../../../src/net/address.ts';
import { prefix } from '../../../src/net/prefix.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { attributesText, Routers } from '../../../test/unit/agent/fakes/routers.ts';

let clock: VirtualClock;
let routers: Routers;
let speaker: Speaker;

beforeEach(() => {
  clock = new VirtualClock();
  routers = new Routers(clock);
  speaker = new Speaker({ asn: 64512, routerId: '10.0.0.11', clock, random: () => 0.5, transport: routers.transport });
});

const plain = (med?: number): string => attributesText([], med, 1);

/** Returns the routes that the router received: attributes by prefix. */
function receivedRoutes(router: string): Record<string, string> {
  routers.exchange();
  return Object.fromEntries(routers.table(router) ?? []);
}

describe('options', () => {
  test("options may be text or values, and the speaker's options are defaults for its peers", () => {
    const peer = speaker.addPeer({ address: '10.0.0.1', peerAsn: 64513, sourceAddress: '10.0.0.11', nextHop: { ipv6: '2001:db8::11' } });
    const values = {
      address: address('10.0.0.3'),
      peerAsn: 64513,
      localAsn: 64999,
      routerId: address('10.9.9.9'),
      sourceAddress: address('10.0.0.12'),
    };
    const other = speaker.addPeer({ name: 'other', ...values });
    expect(peer.status()).toMatchObject({ name: '10.0.0.1', address: '10.0.0.1', localAsn: 64512, routerId: '10.0.0.11' });
    expect(other.status()).toMatchObject({ name: 'other', address: '10.0.0.3', localAsn: 64999, routerId: '10.9.9.9' });
    routers.exchange();
    expect(routers.transport.dialed).toMatchObject([{ sourceAddress: address('10.0.0.11') }, { sourceAddress: address('10.0.0.12') }]);
  });

  test('a peer without address and name is named after its interface', () => {
    expect(speaker.addPeer({ interface: 'eth1', peerAsn: 'external' }).name).toBe('eth1');
  });

  test.each<[keyof PeerOptions, PeerOptions, string]>([
    ['address', { address: '10.0.0', peerAsn: 1 }, '"10.0.0"'],
    ['address', { address: '10.0.0.1/32', peerAsn: 1 }, '"10.0.0.1/32"'],
    ['address', { peerAsn: 1, name: 'tor' }, 'needs an address'],
    ['name', { peerAsn: 1 }, 'needs a name'],
    ['interface', { interface: '..', peerAsn: 1 }, 'network interface'],
    ['routerId', { address: '10.0.0.1', peerAsn: 1, routerId: '::1' }, 'IPv4'],
    ['sourceAddress', { address: '10.0.0.1', peerAsn: 1, sourceAddress: 'eth0' }, '"eth0"'],
    ['nextHop', { address: '10.0.0.1', peerAsn: 1, nextHop: { ipv6: '2001:db8::x' } }, '"2001:db8::x"'],
    ['nextHop', { address: '10.0.0.1', peerAsn: 1, nextHop: { ipv6: '192.0.2.1' } }, 'IPv6'],
  ])('an invalid %s is refused with a message that says what to write: %j', (field, options, text) => {
    const add = (): unknown => speaker.addPeer(options);
    expect(add).toThrow(PeerOptionsError);
    expect(add).toThrow(text);
    expect(add).toThrow(expect.objectContaining({ code: 'ERR_BGP_PEER_OPTIONS', field }));
    expect(speaker.peers).toEqual([]);
  });

  test('a missing AS number or router ID is named when neither peer nor speaker have it', () => {
    const bare = new Speaker({ clock, transport: routers.transport });
    expect(() => bare.addPeer({ address: '10.0.0.1', peerAsn: 1 })).toThrow(
      'localAsn: is missing: give it to the peer, or asn to the speaker',
    );
    expect(() => bare.addPeer({ address: '10.0.0.1', peerAsn: 1, localAsn: 2 })).toThrow('routerId: is missing');
  });

  test.each<[string, SpeakerOptions]>([
    ['asn', { asn: 0 }],
    ['asn', { asn: 23456 }],
    ['routerId', { routerId: '0.0.0.0' }],
    ['routerId', { routerId: '2001:db8::1' }],
    ['routerId', { routerId: 'me' }],
    ['listen', { listen: [{ address: 'localhost' }] }],
  ])('an invalid %s of the speaker is refused: %j', (option, options) => {
    const make = (): Speaker => new Speaker({ ...options, transport: routers.transport });
    expect(make).toThrow(SpeakerError);
    expect(make).toThrow(new RegExp(`^${option}: `));
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_BGP_SPEAKER_OPTIONS' }));
  });

  test('a speaker listens at the address and port given as text', () => {
    const transport = new MemoryTransport(clock);
    expect(new Speaker({ clock, transport, listen: [{ address: '10.0.0.11', port: 1790 }] }).listening().sockets).toMatchObject([
      { address: '10.0.0.11', port: 1790 },
    ]);
    expect(transport.listening).toEqual([{ address: address('10.0.0.11'), port: 1790 }]);
  });

  test('a peer named after its first address keeps that name', () => {
    const peer = speaker.addPeer({ address: '10.0.0.1', peerAsn: 64513 });
    peer.reconfigure({ address: '10.0.0.2', peerAsn: 64513 });
    expect(peer.status()).toMatchObject({ name: '10.0.0.1', address: '10.0.0.2' });
    expect(() => peer.reconfigure({ name: 'tor', address: '10.0.0.2', peerAsn: 64513 })).toThrow('keeps its name');
  });
});

describe('routes for all peers', () => {
  beforeEach(() => {
    speaker.addPeer({ name: 'tor1', address: '10.0.0.1', peerAsn: 64513 });
    speaker.addPeer({ name: 'tor2', address: '10.0.0.2', peerAsn: 64513 });
  });

  test('every peer, also one added later, gets the shared routes and their changes once', () => {
    speaker.rib.set([{ prefix: '192.0.2.1/32', communities: ['64512:100', '64512:1:2'] }, { prefix: '192.0.2.2/32' }]);
    const standard = { kind: 'standard', value: 64512 * 65536 + 100 } as const;
    const large = { kind: 'large', globalAdministrator: 64512, localData1: 1, localData2: 2 } as const;
    const everything = { '192.0.2.1/32': attributesText([standard, large], undefined, 1), '192.0.2.2/32': plain() };
    expect(receivedRoutes('10.0.0.1')).toEqual(everything);
    speaker.addPeer({ name: 'tor3', address: '10.0.0.3', peerAsn: 64513 });
    expect(receivedRoutes('10.0.0.3')).toEqual(everything);
    const updates = (): number => speaker.peers.reduce((sum, peer) => sum + peer.status().counters.sent.update, 0);
    const before = updates();
    speaker.rib.set([{ prefix: prefix('192.0.2.1/32'), communities: ['64512:1:2', '64512:100'] }, { prefix: '192.0.2.2/32' }]);
    routers.exchange();
    expect(updates()).toBe(before);
    speaker.rib.announce({ prefix: '192.0.2.3/32' });
    speaker.rib.withdraw('192.0.2.1/32');
    for (const router of ['10.0.0.1', '10.0.0.2', '10.0.0.3'])
      expect(Object.keys(receivedRoutes(router))).toEqual(['192.0.2.2/32', '192.0.2.3/32']);
  });

  test("a peer's own route overrides the shared one, which returns when the own route is withdrawn", () => {
    const [tor1] = speaker.peers;
    speaker.rib.set([{ prefix: '192.0.2.1/32', med: 10 }]);
    tor1?.routes.update({ announce: [{ prefix: '192.0.2.1/32', med: 1 }] });
    expect([receivedRoutes('10.0.0.1'), receivedRoutes('10.0.0.2')]).toEqual([{ '192.0.2.1/32': plain(1) }, { '192.0.2.1/32': plain(10) }]);
    speaker.rib.set([{ prefix: '192.0.2.1/32', med: 20 }]);
    expect([receivedRoutes('10.0.0.1'), receivedRoutes('10.0.0.2')]).toEqual([{ '192.0.2.1/32': plain(1) }, { '192.0.2.1/32': plain(20) }]);
    tor1?.routes.update({ withdraw: ['192.0.2.1/32'] });
    expect(receivedRoutes('10.0.0.1')).toEqual({ '192.0.2.1/32': plain(20) });
  });

  test.each<[string, readonly RouteInput[]]>([
    ['prefix', [{ prefix: '192.0.2.9/32' }, { prefix: '192.0.2.9' }]],
    ['communities', [{ prefix: '192.0.2.9/32' }, { prefix: '192.0.2.8/32', communities: ['no-such-name'] }]],
  ])('an invalid route changes nothing for any peer: wrong %s', (field, routes) => {
    speaker.rib.set([{ prefix: '192.0.2.1/32' }]);
    const [tor1] = speaker.peers;
    const attempts = [
      () => speaker.rib.set(routes),
      () => tor1?.routes.set(routes),
      () => tor1?.routes.update({ announce: routes, withdraw: ['192.0.2.1/32'] }),
    ];
    for (const attempt of attempts) {
      expect(attempt).toThrow(RouteError);
      expect(attempt).toThrow(expect.objectContaining({ field }));
    }
    expect(() => speaker.rib.withdraw('192.0.2.1')).toThrow(RouteError);
    expect(receivedRoutes('10.0.0.1')).toEqual({ '192.0.2.1/32': plain() });
  });

  test('a removed peer gets no more routes and holds none', async () => {
    speaker.rib.set([{ prefix: '192.0.2.1/32' }]);
    routers.exchange();
    const [tor1] = speaker.peers;
    const removed = tor1?.remove();
    routers.exchange();
    await removed;
    speaker.rib.set([]);
    expect(receivedRoutes('10.0.0.2')).toEqual({});
    expect(tor1?.status().prefixesAdvertised).toEqual({ ipv4: 0, ipv6: 0 });
  });
});

describe('End-of-RIB of shared routes with graceful restart', () => {
  const gracefulRestart = { restartTime: 60 };

  /** Connects two speakers in memory; `ended` lists the families whose End-of-RIB the second speaker received. */
  function meet(before: (speaker: Speaker) => void): { readonly announcer: Speaker; readonly ended: number[] } {
    const network = new MemoryNetwork(clock);
    const make = (asn: number, routerId: string): Speaker =>
      new Speaker({ asn, routerId, listen: [{}], clock, random: () => 0.5, transport: network.host([address(routerId)]) });
    const [announcer, router] = [make(64512, '10.0.0.11'), make(64513, '10.0.0.1')];
    const ended: number[] = [];
    router
      .addPeer({ address: '10.0.0.11', peerAsn: 64512, passive: true, gracefulRestart })
      .on('endOfRib', ({ family }) => ended.push(family));
    before(announcer);
    announcer.addPeer({ address: '10.0.0.1', peerAsn: 64513, gracefulRestart });
    clock.advance(1_000);
    expect(announcer.peers[0]?.status().state).toBe('Established');
    return { announcer, ended };
  }

  test('End-of-RIB is sent after the shared routes were set; single announcements do not count', () => {
    const { announcer, ended } = meet(() => {});
    announcer.rib.announce({ prefix: '192.0.2.1/32' });
    clock.advance(1_000);
    expect(ended).toEqual([]);
    announcer.rib.set([{ prefix: '192.0.2.1/32' }]);
    clock.advance(0);
    expect(ended).toEqual([4]);
  });

  test('a long list is put in place in several turns, and End-of-RIB follows the last part', () => {
    const { announcer, ended } = meet(() => {});
    const sent = (): number => announcer.peers[0]?.status().prefixesAdvertised.ipv4 ?? 0;
    const list = Array.from({ length: 40_000 }, (_, n) => ({ prefix: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}/32` }));
    announcer.rib.set(list);
    // Sessions and timers have their turn before the list is in place.
    const between: unknown[] = [];
    clock.after(0, () => between.push(sent() > 0 && sent() < list.length, [...ended]));
    clock.advance(1_000);
    expect(between).toEqual([true, []]);
    expect([sent(), ended]).toEqual([list.length, [4]]);
    announcer.rib.set([]);
    clock.advance(1_000);
    expect(sent()).toBe(0);
  });

  test('a peer added after the shared routes were set gets End-of-RIB at once', () => {
    expect(meet(({ rib }) => rib.set([])).ended).toEqual([4]);
  });
});

test('BGP-099 routes received from one peer are counted and not passed on to another', () => {
  const network = new MemoryNetwork(clock);
  const make = (asn: number, own: string): Speaker =>
    new Speaker({ asn, routerId: own, listen: [{}], clock, random: () => 0.5, transport: network.host([address(own)]) });
  const [node, chatty, quiet] = [make(64512, '10.0.0.11'), make(64513, '10.0.0.1'), make(64514, '10.0.0.2')];
  for (const router of [chatty, quiet]) router.addPeer({ address: '10.0.0.11', peerAsn: 64512, passive: true });
  node.addPeer({ address: '10.0.0.1', peerAsn: 64513 });
  node.addPeer({ address: '10.0.0.2', peerAsn: 64514 });
  chatty.rib.set([{ prefix: '0.0.0.0/0' }, { prefix: '198.51.100.0/24' }]);
  clock.advance(1_000);
  const [fromChatty] = node.peers.map((peer) => peer.status());
  expect(fromChatty).toMatchObject({ state: 'Established', prefixesReceived: { ipv4: 2 } });
  const [atQuiet] = quiet.peers.map((peer) => peer.status());
  expect(atQuiet).toMatchObject({ state: 'Established', prefixesReceived: { ipv4: 0 } });
  expect(node.peers.map((peer) => peer.status().prefixesAdvertised)).toEqual([
    { ipv4: 0, ipv6: 0 },
    { ipv4: 0, ipv6: 0 },
  ]);
});
