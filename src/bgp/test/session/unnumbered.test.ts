import { beforeEach, expect, test } from 'vitest';
import { Speaker, type PeerOptions } from '../../../../src/bgp/index.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import { address } from '../../../../src/net/address.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

/** A peer without an address, which is discovered on an interface. */
const options: PeerOptions = { name: 'tor', interface: 'eth0', localAsn: 64512, peerAsn: 'external', routerId: '10.0.0.2' };

let clock: VirtualClock;
let transport: MemoryTransport;
let speaker: Speaker;

beforeEach(() => {
  clock = new VirtualClock();
  transport = new MemoryTransport(clock);
  speaker = new Speaker({ clock, random: () => 0.999_999, transport });
});

/** Advances time until a closed session has started again. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('two changes leave one discovery running, and removing the peer leaves none', async () => {
  const searches = new Set<object>();
  transport.discover = () => {
    const search = { close: () => void searches.delete(search) };
    searches.add(search);
    return search;
  };
  const peer = speaker.addPeer(options);
  clock.advance(0);
  expect(searches.size).toBe(1);
  peer.reconfigure({ ...options, holdTime: 30 });
  peer.reconfigure({ ...options, holdTime: 60 });
  await settle();
  expect(searches.size).toBe(1);
  const removed = peer.remove();
  await settle();
  await removed;
  expect(searches.size).toBe(0);
});

test('a peer with a lost path is discovered and reported, but not dialed', async () => {
  const found: string[] = [];
  speaker.onChange((peer) => void found.push(`${peer.status().state} ${peer.status().address}`));
  const peer = speaker.addPeer(options);
  peer.pathLost();
  found.length = 0;
  clock.advance(0);
  const search = transport.discoveries.get('eth0');
  search?.found(address('fe80::1'));
  search?.found(address('fe80::1'));
  await settle();
  expect(found).toEqual(['Idle fe80::1']);
  peer.pathLost();
  search?.found(address('fe80::2'));
  await settle();
  expect(found).toEqual(['Idle fe80::1', 'Idle fe80::2']);
  expect(transport.dialed).toEqual([]);
  peer.pathRestored();
  await settle();
  expect(transport.dialed).toMatchObject([{ address: address('fe80::2') }]);
});

test('a router found on one interface is not dialed on another', async () => {
  const peer = speaker.addPeer(options);
  clock.advance(0);
  transport.discoveries.get('eth0')?.found(address('fe80::1'));
  clock.advance(0);
  expect(transport.dialed).toMatchObject([{ address: address('fe80::1'), interface: 'eth0' }]);
  peer.reconfigure({ ...options, interface: 'eth1' });
  await settle();
  expect(transport.dialed).toHaveLength(1);
  expect(peer.status()).toMatchObject({ address: '', lastError: 'no router advertisement was received on eth1 yet' });
  transport.discoveries.get('eth1')?.found(address('fe80::2'));
  clock.advance(0);
  expect(transport.dialed[1]).toMatchObject({ address: address('fe80::2'), interface: 'eth1' });
});
