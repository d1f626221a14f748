import { createConnection } from 'node:net';
import { expect, test } from 'vitest';
import { Speaker } from '../../../../src/bgp/index.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import { nodeTransport } from '../../../../src/bgp/transport/node.ts';
import { address } from '../../../../src/net/address.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

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

test('a passive peer can be added after listen() was called', () => {
  const { speaker, transport, clock } = setup();
  expect(() => speaker.addPeer(peer)).toThrow('this speaker does not listen');
  speaker.listen([{}]);
  speaker.addPeer(peer);
  clock.advance(0);
  expect(speaker.listening().sockets).toEqual([{ port: 179, listening: true }]);
  expect(transport.connectFrom(peer.address)).toBeDefined();
});

test('listen() keeps the sockets that stay, opens new ones and closes the others', () => {
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

test('a removed socket is not retried when its listen fails later', () => {
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

test('a stopped speaker does not start to listen', async () => {
  const { speaker, transport } = setup();
  await speaker.stop();
  speaker.listen([{}]);
  expect(transport.listening).toEqual([]);
});

test('a peer whose password the listener cannot set is rejected, and other peers are accepted', async () => {
  const { speaker, transport, clock } = setup();
  const listen = transport.listen.bind(transport);
  transport.listen = (options, events) => ({
    ...listen(options, events),
    setKeys: (keys) => new Map(keys.flatMap(({ password }, index) => (password === 'no room' ? [[index, 'the kernel has no room']] : []))),
  });
  speaker.listen([{}]);
  const protectedPeer = speaker.addPeer({ ...peer, password: 'no room' });
  speaker.addPeer({ ...peer, name: 'open', address: '192.0.2.2' });
  clock.advance(0);
  expect(transport.connectFrom(address('192.0.2.1'))).toBeUndefined();
  expect(transport.connectFrom(address('192.0.2.2'))).toBeDefined();
  expect(speaker.listening().strangers).toBe(0);
  protectedPeer.reconfigure({ ...peer, password: 'there is room' });
  clock.advance(0);
  await Promise.resolve();
  clock.advance(0);
  expect(transport.connectFrom(address('192.0.2.1'))).toBeDefined();
});

test('a transport without MD5 rejects peers that have a password', async () => {
  await using speaker = new Speaker({ transport: nodeTransport, listen: [{ address: '127.0.0.1', port: 0 }] });
  const guarded = speaker.addPeer({ ...peer, address: '127.0.0.1', password: 'secret' });
  const ready = (): boolean => speaker.listening().sockets[0]?.listening === true && guarded.status().state === 'Active';
  while (!ready()) await new Promise((resolve) => setImmediate(resolve));
  const socket = createConnection(speaker.listening().sockets[0]?.port ?? 0, '127.0.0.1');
  const received: Buffer[] = [];
  socket.on('data', (chunk) => received.push(chunk)).on('error', () => {});
  await new Promise((resolve) => {
    socket.on('close', resolve).on('data', resolve);
  });
  expect(received).toEqual([]);
  expect(guarded.history().map(({ event }) => event)).not.toContain('accepted');
});
