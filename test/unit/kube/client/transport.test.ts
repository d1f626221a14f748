import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Credentials } from '../../../../src/kube/client/connection.ts';
import { HttpTransport } from '../../../../src/kube/client/transport.ts';
import { otherCertificate, webCertificate } from '../../../../providers/aws/test/moto/certificates.ts';

const { host: servername, certificate, privateKey } = webCertificate;
let server: Server;
let transport: HttpTransport;
let credentials: Credentials;
let connections = 0;
let authorizations: (string | undefined)[] = [];

beforeEach(async () => {
  [connections, authorizations] = [0, []];
  server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    authorizations.push(request.headers.authorization);
    if (request.url === '/slow') response.write('begun');
    else response.end('{}');
  });
  server.on('secureConnection', () => void connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  credentials = { ca: certificate, servername, authorization: 'Bearer one' };
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
  transport = new HttpTransport({ server: url, credentials: async () => credentials, expired: () => undefined }, 'test');
});

afterEach(async () => {
  transport.close();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

async function get(path = '/', signal = new AbortController().signal): Promise<string> {
  const response = await transport.request({ method: 'GET', path, signal });
  return (await response.whole(100)).toString('utf8');
}

test('a connection is kept when the credentials are read again, and when only the token changes', async () => {
  await get();
  credentials = { ...credentials };
  await get();
  credentials = { ...credentials, authorization: 'Bearer two' };
  await get();
  expect(connections).toBe(1);
  expect(authorizations).toEqual(['Bearer one', 'Bearer one', 'Bearer two']);
});

test('a connection is not used after the certificate authority changes', async () => {
  await get();
  credentials = { ...credentials, ca: otherCertificate.certificate };
  await expect(get()).rejects.toMatchObject({ code: 'untrusted' });
  credentials = { ...credentials, ca: certificate };
  expect(await get()).toBe('{}');
});

test.each(['whole', 'parts'] as const)('an abort in the middle of a body, read as %s, rejects with its reason', async (how) => {
  const aborting = new AbortController();
  const response = await transport.request({ method: 'GET', path: '/slow', signal: aborting.signal });
  const read = how === 'whole' ? response.whole(100) : Array.fromAsync(response.parts());
  setImmediate(() => aborting.abort(new Error('no longer needed')));
  await expect(read).rejects.toThrow('no longer needed');
});

test('an abort before there is a response rejects with its reason', async () => {
  const aborting = new AbortController();
  const asked = get('/', aborting.signal);
  setImmediate(() => aborting.abort(new Error('no longer needed')));
  // Not even the handshake has ended by then.
  await expect(asked).rejects.toThrow('no longer needed');
});

test('a body that ends early, or is too long, is an error', async () => {
  const early = await transport.request({ method: 'GET', path: '/slow', signal: new AbortController().signal });
  setImmediate(() => server.closeAllConnections());
  await expect(early.whole(100)).rejects.toMatchObject({ code: 'unreachable' });
  const long = await transport.request({ method: 'GET', path: '/slow', signal: new AbortController().signal });
  await expect(long.whole(4)).rejects.toMatchObject({ code: 'malformed', message: 'an answer is longer than 4 bytes' });
});

test('an ended request leaves nothing at a signal that lives on', async () => {
  const living = new AbortController();
  let listeners = 0;
  const { signal } = living;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...given: Parameters<typeof add>) => (listeners++, add(...given));
  signal.removeEventListener = (...given: Parameters<typeof remove>) => (listeners--, remove(...given));
  for (let request = 0; request < 3; request++) await get('/', signal);
  await new Promise(setImmediate);
  expect(listeners).toBe(0);
});
