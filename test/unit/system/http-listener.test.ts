import { once } from 'node:events';
import { get, request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { EndCause } from '../../../src/system/http/http-connections.ts';
import { httpListening, type HttpAnswer, type HttpBounds, type HttpListener } from '../../../src/system/http/http-listener.ts';

const bounds: HttpBounds = { connections: 4, headerBytes: 2_048, answerMilliseconds: 200, idleMilliseconds: 10_000 };
const ended: EndCause[] = [];
const listenHttp = httpListening({ perAddress: 2, own: 4, total: 8, totalOwn: 8, headerMilliseconds: 200 }, (cause) => ended.push(cause));
const say = (path: string): HttpAnswer => ({ status: 503, headers: { 'X-Path': path }, body: path });

const open: HttpListener[] = [];
async function listener(address = '127.0.0.1', port = 0): Promise<HttpListener> {
  const made = await listenHttp({ address, port }, say, bounds);
  open.push(made);
  return made;
}

afterEach(async () => {
  for (const made of open.splice(0)) await made.close();
  ended.splice(0);
});

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return text;
}

/** Sends raw text and returns everything received until the other side closes. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => (answer += String(data)));
  socket.on('error', () => undefined);
  socket.write(text);
  // `once` would reject when the other side resets the connection.
  await new Promise((resolve) => socket.on('close', resolve));
  return answer;
}

describe('listenHttp', () => {
  test('returns status, header fields and body, and separates the query from the path', async () => {
    const { port } = await listener();
    const [response] = (await once(get({ port, host: '127.0.0.1', path: '/a/b?c=d' }), 'response')) as [IncomingMessage];
    expect(await textOf(response)).toBe('/a/b');
    expect(response).toMatchObject({ statusCode: 503, headers: { 'x-path': '/a/b', 'content-length': '4' } });
  });

  test('answers a request with a body without reading it, then closes the connection', async () => {
    const { port } = await listener();
    const sending = request({ port, host: '127.0.0.1', method: 'POST', path: '/', headers: { 'Content-Length': String(1 << 30) } });
    sending.on('error', () => undefined);
    sending.write('x'.repeat(1024));
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    expect(response.headers.connection).toBe('close');
    expect(await textOf(response)).toBe('/');
    sending.destroy();
  });

  test('rejects oversized header fields and slow clients', async () => {
    const { port } = await listener();
    expect(await raw(port, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(4_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
    expect(await raw(port, 'GET / HTTP/1.1\r\nHost')).toMatch(/^HTTP\/1\.1 408 /);
    expect(await raw(port, '')).toMatch(/^HTTP\/1\.1 408 /);
    expect(ended).toEqual(['late', 'late']);
  });

  test('answers a request that arrived in time although the process was busy until after the deadline', async () => {
    const { port } = await listener();
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    // The listener accepts the connection and starts its timer.
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.write('GET /late HTTP/1.1\r\nHost: x\r\n\r\n');
    const until = performance.now() + 400;
    while (performance.now() < until);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString('latin1')).toMatch(/^HTTP\/1\.1 503 /);
    socket.destroy();
  });

  test('closes a connection that sends a second request too slowly, and an idle one', async () => {
    const made = await listenHttp({ address: '127.0.0.1', port: 0 }, say, { ...bounds, idleMilliseconds: 300 });
    open.push(made);
    const socket = connect(made.port, '127.0.0.1').on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    const trickle = setInterval(() => socket.write('G'), 50);
    await closed;
    clearInterval(trickle);
    expect(ended).toEqual([]);
  });

  test('disconnects a client that does not read the answer, and calls `sent`', async () => {
    const sent = Promise.withResolvers<void>();
    const body = 'x'.repeat(64 << 20);
    const made = await listenHttp(
      { address: '127.0.0.1', port: 0 },
      () => ({ status: 200, headers: {}, body, sent: sent.resolve }),
      bounds,
    );
    open.push(made);
    const socket = connect(made.port, '127.0.0.1').on('error', () => undefined);
    const closed = once(socket, 'close');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await sent.promise;
    let taken = 0;
    socket.on('data', (data) => (taken += data.length));
    await closed;
    expect(taken).toBeLessThan(body.length);
  });

  test('answers a new connection although the limit is reached, and closes the oldest incomplete one for it', async () => {
    const { port } = await listener();
    const kept: Socket[] = [];
    for (let n = 0; n < 4; n++) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      kept.push(socket);
      await once(socket, 'connect');
    }
    const closed = new Promise((resolve) => kept[0]?.once('close', resolve));
    const [response] = (await once(get({ port, host: '127.0.0.1', agent: false }), 'response')) as [IncomingMessage];
    expect(await textOf(response)).toBe('/');
    await closed;
    expect(kept.map(({ destroyed }) => destroyed)).toEqual([true, false, false, false]);
    expect(ended).toEqual(['listener']);
    for (const socket of kept) socket.destroy();
  });

  test('listening on all addresses of one family leaves the port free in the other family', async () => {
    const six = await listener('::');
    const four = await listener('0.0.0.0', six.port);
    expect(four.port).toBe(six.port);
  });

  test('reports why it cannot listen', async () => {
    const { port } = await listener();
    await expect(listener('127.0.0.1', port)).rejects.toMatchObject({ name: 'ListenError', code: 'taken' });
    await expect(listener('192.0.2.77')).rejects.toMatchObject({ name: 'ListenError', code: 'noAddress' });
  });

  test('close frees the port even with open connections', async () => {
    const first = await listener();
    const client = connect(first.port, '127.0.0.1');
    await once(client, 'connect');
    client.on('error', () => undefined);
    await first.close();
    expect((await listener('127.0.0.1', first.port)).port).toBe(first.port);
    client.destroy();
  });
});
