import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { tcpForwarding, type TcpForwarder } from '../../../src/system/http/tcp-forwarder.ts';

const open: (Server | TcpForwarder)[] = [];
const addresses = ['127.0.0.1', '::1'];

afterEach(async () => {
  for (const each of open.splice(0)) await each.close('connections' as never);
});

async function listening(server: Server, address: string): Promise<number> {
  open.push(server);
  server.on('connection', (socket) => socket.on('error', () => undefined));
  server.listen(0, address);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A port on which no program listens at this moment. */
async function freePort(address: string): Promise<number> {
  const server = createServer();
  const port = await listening(server, address);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Resolves to the code of the error that ended the connection, or to the text read until its end. */
const outcome = (socket: Socket): Promise<string> => text(socket).catch((error: unknown) => (error as NodeJS.ErrnoException).code ?? '');

describe.each(addresses)('TCP forwarder on %s', (address) => {
  test('forwards both directions when one side has closed its direction', async () => {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      void text(socket).then((said) => socket.end(`heard ${said}`));
    });
    const target = { address, port: await listening(server, address) };
    const port = await freePort(address);
    open.push(await tcpForwarding(10)({ address, port }, () => target));
    const client = connect({ host: address, port, allowHalfOpen: true });
    client.write('one, ');
    client.end('two');
    expect(await outcome(client)).toBe('heard one, two');
  });

  test('resets a connection when there is no target or the target refuses it', async () => {
    const targets = [undefined, { address, port: await freePort(address) }];
    const port = await freePort(address);
    open.push(await tcpForwarding(10)({ address, port }, () => targets.shift()));
    for (let count = 0; count < 2; count++) expect(await outcome(connect({ host: address, port }))).toBe('ECONNRESET');
  });

  test('resets connections above the limit and accepts new ones when others have ended', async () => {
    const server = createServer((socket) => void socket.write('hello'));
    const target = { address, port: await listening(server, address) };
    const port = await freePort(address);
    open.push(await tcpForwarding(2)({ address, port }, () => target));
    /** Resolves to the first text received, or to the code of the connection's error. */
    const begin = async (): Promise<readonly [Socket, string]> => {
      const socket = connect({ host: address, port });
      const said = once(socket, 'data').then(([data]: Buffer[]) => String(data));
      const first = await said.catch((error: unknown) => (error as NodeJS.ErrnoException).code ?? '');
      socket.on('error', () => undefined);
      return [socket, first];
    };
    const [[one, first], [two, second]] = [await begin(), await begin()];
    expect([first, second]).toEqual(['hello', 'hello']);
    expect((await begin())[1]).toBe('ECONNRESET');
    one.destroy();
    let [next, word] = await begin();
    // Repeats until the forwarder has noticed the end of the first connection.
    while (word !== 'hello') [next, word] = await begin();
    next.destroy();
    two.destroy();
  });

  test('rejects when the port is taken, and keeps open connections when it stops listening', async () => {
    const server = createServer((socket) => void socket.pipe(socket));
    const target = { address, port: await listening(server, address) };
    await expect(tcpForwarding(10)(target, () => target)).rejects.toMatchObject({ name: 'ListenError', code: 'taken' });
    const port = await freePort(address);
    const forwarder = await tcpForwarding(10)({ address, port }, () => target);
    const client = connect({ host: address, port });
    client.write('before');
    await once(client, 'data');
    await forwarder.close();
    expect(await outcome(connect({ host: address, port }))).toBe('ECONNREFUSED');
    client.write('after');
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(String(answer)).toBe('after');
    await forwarder.close('connections');
    expect(await outcome(client)).toBe('ECONNRESET');
  });
});
