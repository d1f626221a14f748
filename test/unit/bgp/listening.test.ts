import { expect, test } from 'vitest';
import { Speaker } from '../../../src/bgp/index.ts';
import { MemoryTransport } from '../../../src/bgp/transport/memory.ts';
import { address } from '../../../src/net/address.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

const peer = {
  name: 'tor',
  address: address('192.0.2.1'),
  localAsn: 64_512,
  peerAsn: 65_001,
  routerId: address('10.0.0.1'),
  passive: true,
} as const;

const setup = (): { speaker: Speaker; transport: MemoryTransport; clock: VirtualClock } => {
  const clock = new VirtualClock();
  const transport = new MemoryTransport(clock);
  return { speaker: new Speaker({ clock, random: () => 0.5, transport }), transport, clock };
};

test('a speaker can be told later where to listen, and a passive peer is taken from then on', () => {
  const { speaker, transport, clock } = setup();
  expect(() => speaker.addPeer(peer)).toThrow('this speaker does not listen');
  speaker.listen([{}]);
  speaker.addPeer(peer);
  clock.advance(0);
  expect(speaker.listening().sockets).toEqual([{ port: 179, listening: true }]);
  expect(transport.connectFrom(peer.address)).toBeDefined();
});

test('sockets that stay are not opened again, others are opened and closed', () => {
  const { speaker, transport, clock } = setup();
  speaker.listen([{}, { port: 1179 }, { port: 1179 }]);
  clock.advance(0);
  speaker.listen([{ port: 1179 }, { address: address('192.0.2.9') }]);
  clock.advance(0);
  expect(speaker.listening().sockets).toEqual([
    { port: 1179, listening: true },
    { address: '192.0.2.9', port: 179, listening: true },
  ]);
  expect(transport.listening).toHaveLength(3);
  speaker.listen([]);
  expect(speaker.listening().sockets).toEqual([]);
  expect(transport.connectFrom(peer.address)).toBeUndefined();
});

test('a socket that is given up while it fails is not tried again', () => {
  const { speaker, transport, clock } = setup();
  let attempts = 0;
  transport.listen = (_, events) => {
    attempts++;
    clock.after(0, () => events.failed({ kind: 'inUse', detail: 'address already in use' }));
    return { setKeys: () => new Map(), close: () => {} };
  };
  speaker.listen([{}]);
  clock.advance(0);
  expect(speaker.listening().sockets).toEqual([{ port: 179, listening: false, lastError: 'address already in use' }]);
  speaker.listen([]);
  clock.advance(60_000);
  expect(attempts).toBe(1);
  expect(clock.pending).toBe(0);
});

test('a stopped speaker does not begin to listen', async () => {
  const { speaker, transport } = setup();
  await speaker.stop();
  speaker.listen([{}]);
  expect(transport.listening).toEqual([]);
});
