import { createServer, Socket, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { linuxTransport } from '../../../../src/bgp/transport/linux.ts';
import { nodeTransport } from '../../../../src/bgp/transport/node.ts';
import { loopback, until } from './loopback.ts';
import { ConnectionRecorder, ListenerRecorder } from './recorder.ts';

const transports = { linux: linuxTransport(), node: nodeTransport };

test.each(['linux', 'node'] as const)(
  'BGP-046 the %s transport delivers octets that arrived before a reset, even while we write',
  async (name) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      // In one turn: the last octets, the reset behind them, and our next write, which fails before anything can be read.
      socket.on('data', (chunk) => {
        if (chunk.toString() !== 'a burst begins') return;
        socket.write('too many prefixes');
        socket.resetAndDestroy();
        for (let i = 0; i < 100; i++) connection.write(new Uint8Array(65_536));
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const recorder = new ConnectionRecorder();
    const { port } = server.address() as AddressInfo;
    const connection = transports[name].dial({ address: loopback[4], port, ttl: 255 }, recorder);
    await until('it is connected', () => recorder.isConnected);
    connection.write(Buffer.from('a burst begins'));
    await until('it is closed', () => recorder.isClosed);
    expect(recorder.received.toString()).toBe('too many prefixes');
    expect(recorder.events).toEqual([expect.stringMatching(/^connected/), 'data', 'closed: reset']);
    server.close();
  },
);

test('an accepted connection delivers octets that arrived before a reset, even while we write', async () => {
  const transport = transports.linux;
  const listening = new ListenerRecorder();
  const listener = transport.listen({ address: loopback[4], port: 0 }, listening);
  await until('it listens', () => listening.port !== undefined);
  const peer = new Socket();
  peer.on('error', () => {}).connect(listening.port ?? 0, '127.0.0.1');
  await until('it is accepted', () => listening.accepted[0]?.recorder.isConnected === true);
  const [accepted] = listening.accepted;
  peer.write('last words');
  peer.resetAndDestroy();
  for (let i = 0; i < 100; i++) accepted?.connection.write(new Uint8Array(65_536));
  await until('it is closed', () => accepted?.recorder.isClosed === true);
  expect(accepted?.recorder.received.toString()).toBe('last words');
  listener.close();
});
