import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { atServer, type Connection, type Credentials } from '../../../../src/kube/client/connection.ts';
import { connectionError } from '../../../../src/kube/error.ts';
import { InCluster } from '../../../../src/kube/client/in-cluster.ts';
import { service } from '../../../../src/kube/format/protobuf/kinds/service.ts';
import { limits } from '../../../../src/kube/limits.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeApiServer, refuse } from '../fake-api-server.ts';

let server: FakeApiServer;
let client: KubeClient;
let clock: VirtualClock;
let expired = 0;

function connection(url: URL, credentials: Credentials = { authorization: 'Bearer secret' }): Connection {
  return { server: url, credentials: async () => credentials, expired: () => void expired++ };
}

beforeEach(async () => {
  server = await FakeApiServer.start();
  clock = new VirtualClock();
  expired = 0;
  client = new KubeClient(connection(server.url), { clock });
});

afterEach(async () => {
  client.close();
  await server.stop();
});

test('a response is parsed as JSON and a query is encoded', async () => {
  server.put('/api/v1/things', 'a');
  expect(await client.get('/api/v1/things', { limit: 5, fieldSelector: undefined })).toMatchObject({
    items: [{ metadata: { name: 'a' } }],
  });
});

test('sequential requests share one kept-alive connection', async () => {
  for (let i = 0; i < 5; i++) await client.get('/api/v1/things');
  expect(server.connections).toBe(1);
});

test('a token is not sent without TLS', async () => {
  await client.get('/api/v1/things');
  expect(server.authorizations).toEqual([undefined]);
});

test('a process has a user agent of its own, and a command that of all commands', async () => {
  const agent = new KubeClient(connection(server.url), { clock, userAgent: 'herald-agent/1.2.3' });
  await agent.get('/api/v1/things');
  await client.get('/api/v1/things');
  agent.close();
  expect(server.userAgents).toEqual(['herald-agent/1.2.3', 'herald']);
});

test.each([
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'notFound'],
  [409, 'conflict'],
  [410, 'gone'],
  [422, 'refused'],
  [429, 'busy'],
  [500, 'failing'],
  [504, 'failing'],
])("response %i is an error of kind %s with the API server's message", async (status, code) => {
  server.next((response) => refuse(response, status, 'because of something'));
  await expect(client.get('/api/v1/things')).rejects.toMatchObject({
    code,
    status,
    message: `the API server answered ${status}: because of something`,
  });
  expect(expired).toBe(status === 401 ? 1 : 0);
});

test.each([200, 201, 299])('response %i is an answer', async (status) => {
  server.next((response) => response.writeHead(status).end('{"kind":"Thing"}'));
  expect(await client.get('/api/v1/things')).toEqual({ kind: 'Thing' });
});

test.each(['/clusters/one', '/clusters/one/'])('requests go below the path %s of the server', async (path) => {
  const below = new KubeClient(connection(new URL(path, server.url)), { clock });
  server.next((response) => response.end('{}'));
  await below.get('/api/v1/things');
  below.close();
  expect(server.paths).toEqual(['/clusters/one/api/v1/things']);
});

test("a proxy's error page is quoted in part", async () => {
  server.next((response) => response.writeHead(502).end(`<html>${'x'.repeat(10_000)}</html>`));
  const error = await client.get('/api/v1/things').catch((error: Error) => error);
  expect((error as Error).message).toMatch(/^the API server answered 502: <html>xxx/);
  expect((error as Error).message.length).toBeLessThan(limits.quoted + 50);
});

test('a response that does not arrive is abandoned', async () => {
  server.next(() => undefined);
  const answer = client.get('/api/v1/things').catch((error: unknown) => error);
  while (server.requests.length === 0) await new Promise(setImmediate);
  clock.advance(limits.answerMilliseconds);
  expect(await answer).toMatchObject({ code: 'stalled' });
});

test('a response that does not end is abandoned', async () => {
  server.next((response) => {
    response.writeHead(200);
    const write = (): void => void response.write('x'.repeat(1024 * 1024), () => (response.destroyed ? undefined : write()));
    write();
  });
  await expect(client.get('/api/v1/things')).rejects.toMatchObject({ code: 'malformed' });
});

test('a missing API server is reported as unreachable', async () => {
  const elsewhere = new KubeClient(atServer(connection(server.url), new URL('http://127.0.0.1:1')), { clock });
  await expect(elsewhere.get('/version')).rejects.toMatchObject({ code: 'unreachable', message: '127.0.0.1:1: nothing listens there' });
  elsewhere.close();
});

test('an unreachable ClusterIP of the API server gets a fix', async () => {
  const pod = new InCluster(new URL('https://127.0.0.1:1'), { clock, folder: await serviceAccount() });
  const inPod = new KubeClient(pod, { clock });
  await expect(inPod.get('/version')).rejects.toMatchObject({ code: 'unreachable', fix: expect.stringContaining('--apiserver') });
  inPod.close();
  const told = new KubeClient(atServer(pod, new URL('https://127.0.0.1:1')), { clock });
  await expect(told.get('/version')).rejects.toMatchObject({ code: 'unreachable', fix: '' });
  told.close();
});

async function serviceAccount(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'herald-account-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const file of ['ca.crt', 'token']) await writeFile(join(folder, file), '');
  return folder;
}

test('a server without TLS is reported as such', async () => {
  const secure = new KubeClient(connection(new URL(server.url.href.replace('http:', 'https:'))), { clock });
  await expect(secure.get('/version')).rejects.toMatchObject({ code: 'untrusted', fix: 'check the port of the server' });
  secure.close();
});

test.each([
  ['CERT_HAS_EXPIRED', 'untrusted', 'expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'untrusted', 'other names'],
  ['ENOTFOUND', 'unreachable', 'DNS'],
  ['EHOSTUNREACH', 'unreachable', 'no route'],
  ['ESOMETHING', 'unreachable', 'ESOMETHING'],
])('%s has a message in words', (code, kind, says) => {
  const error = connectionError(Object.assign(new Error('x'), { code }), { server: new URL('https://api.example:6443') });
  expect(error).toMatchObject({ code: kind, message: expect.stringContaining(says) });
});

test('the observer is called for every request with verb and outcome, and for a watch when it begins', async () => {
  const counted: string[] = [];
  const observed = new KubeClient(connection(server.url), {
    clock,
    observer: { request: (verb, code) => void counted.push(`${verb} ${code}`) },
  });
  server.forbidden.add('/api/v1/secrets');
  server.absent.add('/api/v1/nothing');
  await observed.get('/api/v1/things');
  await expect(observed.get('/api/v1/nothing')).rejects.toThrow('404');
  await expect(observed.stream('/api/v1/secrets', { watch: true }, new AbortController().signal)).rejects.toThrow('403');
  const away = new KubeClient(atServer(connection(server.url), new URL('http://127.0.0.1:1')), {
    clock,
    observer: { request: (verb, code) => void counted.push(`${verb} ${code}`) },
  });
  await expect(away.get('/api/v1/things')).rejects.toThrow('nothing listens there');
  expect(counted).toEqual(['GET 200', 'GET 404', 'WATCH 403', 'GET unreachable']);
  observed.close();
  away.close();
});

test.each([true, false])('a page of a list is read in protobuf if the API server has it: %s', async (hasIt) => {
  const path = '/api/v1/services';
  if (hasIt) server.tables.set(path, service);
  server.put(path, 'a', { spec: { type: 'ClusterIP' } }, 'default');
  const { items } = await client.page(path, service, { limit: 5 });
  expect([...items]).toMatchObject([{ metadata: { name: 'a', namespace: 'default' }, spec: { type: 'ClusterIP' } }]);
  expect(server.accepts).toEqual(['application/vnd.kubernetes.protobuf,application/json']);
});

test('a write accepts protobuf only if its caller needs just the identity of the object', async () => {
  const identity = { metadata: { name: 'a', resourceVersion: '7' } };
  for (const answer of ['identity', 'object'] as const) {
    server.next((response) => response.end(JSON.stringify({ ...identity, spec: {} })));
    expect(await client.write({ method: 'PATCH', path: '/api/v1/things/a', body: {}, answer })).toMatchObject(identity);
  }
  expect(server.accepts).toEqual(['application/vnd.kubernetes.protobuf,application/json', 'application/json']);
});

test('a bigint is written with all its digits', async () => {
  let body = '';
  server.next((response, _, request) => {
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => response.end('{}'));
  });
  await client.write({ method: 'PATCH', path: '/api/v1/things/a', body: { most: 2n ** 63n - 1n, few: [1] } });
  expect(body).toBe('{"most":9223372036854775807,"few":[1]}');
});

test("the client compares the clock with the header Date of the API server's answers", async () => {
  // The virtual clock is far from that of the fake API server.
  for (let i = 0; i < limits.skewAnswers; i++) await client.get('/api/v1/things');
  expect(client.clockSkew.isSkewed).toBe(true);
});
