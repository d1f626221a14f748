import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { resultOfError } from '../../../../src/system/probe/result.ts';
import { connectTcp } from '../../../../src/system/probe/tcp.ts';
import { sendUdp } from '../../../../src/system/probe/udp.ts';

const families = ['127.0.0.1', '::1'] as const;
const timeout = 5000;
/** Addresses for documentation (RFC 5737) are routed by the default route at most, or by none. */
const nowhere = '192.0.2.1';

describe.each(families)('connectTcp to %s', (host) => {
  test('finds a listener and leaves no connection with it', async () => {
    const server = createServer().listen(0, host);
    await once(server, 'listening');
    const accepted = once(server, 'connection');
    expect(await connectTcp(host, (server.address() as AddressInfo).port, timeout)).toMatchObject({ result: 'answered' });
    const [socket] = (await accepted) as [Socket];
    // A reset arrives as an error, and the end follows.
    await new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve));
    server.close();
  });

  test('is refused where nobody listens', async () => {
    const server = createServer().listen(0, host);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    const result = await connectTcp(host, port, timeout);
    expect(result).toMatchObject({ result: 'refused' });
    expect(result.milliseconds).toBeLessThan(timeout);
  });
});

describe.each(families)('sendUdp to %s', (host) => {
  test('is refused where nobody listens, and silent where a program does not answer', async () => {
    const program = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    await new Promise<void>((resolve) => program.bind(0, host, resolve));
    const { port } = program.address();
    expect(await sendUdp(host, port, 50)).toMatchObject({ result: 'silent' });
    program.on('message', (_, { port: to, address }) => program.send('here', to, address));
    expect(await sendUdp(host, port, timeout)).toMatchObject({ result: 'answered' });
    await new Promise<void>((resolve) => program.close(resolve));
    expect(await sendUdp(host, port, timeout)).toMatchObject({ result: 'refused' });
  });
});

test('an aborted attempt rejects with the reason', async () => {
  const gone = new AbortController();
  const attempts = [connectTcp(nowhere, 9, timeout, gone), sendUdp('127.0.0.1', 9, timeout, gone)].map((attempt) =>
    attempt.catch((error: unknown) => error),
  );
  gone.abort(new Error('stopped'));
  for (const outcome of await Promise.all(attempts)) expect(outcome).toMatchObject({ message: 'stopped' });
});

test.each([
  ['ECONNREFUSED', 'refused'],
  ['EHOSTUNREACH', 'unreachable'],
  ['EINVAL', 'unreachable'],
  ['EACCES', 'unreachable'],
  ['ETIMEDOUT', 'silent'],
  ['EMFILE', 'notSent'],
  ['EADDRNOTAVAIL', 'notSent'],
])('the error %s means %s', (code, result) => {
  expect(resultOfError(code, 1)).toMatchObject({ result });
});
