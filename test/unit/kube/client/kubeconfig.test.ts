import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readKubeconfig } from '../../../../src/kube/client/kubeconfig.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'herald-kubeconfig-'));
  file = join(folder, 'config');
});

afterEach(() => rm(folder, { recursive: true }));

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function config(user: object, cluster: object = {}): string {
  return JSON.stringify({
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
    clusters: [
      { name: 'c', cluster: { server: 'https://192.0.2.10:6443', 'certificate-authority-data': base64('authority'), ...cluster } },
    ],
    users: [{ name: 'u', user }],
  });
}

async function credentials(user: object, cluster?: object): Promise<Record<string, string>> {
  await writeFile(file, config(user, cluster));
  const connection = await readKubeconfig(file);
  expect(connection.server.href).toBe('https://192.0.2.10:6443/');
  return Object.fromEntries(Object.entries(await connection.credentials()).map(([name, value]) => [name, String(value)]));
}

test('a kubeconfig with a token authenticates by it', async () => {
  expect(await credentials({ token: 'abc' })).toEqual({ ca: 'authority', authorization: 'Bearer abc' });
});

test('a kubeconfig with a client certificate authenticates by it', async () => {
  const user = { 'client-certificate-data': base64('certificate'), 'client-key-data': base64('key') };
  expect(await credentials(user)).toEqual({ ca: 'authority', cert: 'certificate', key: 'key' });
});

test('a kubeconfig may refer to files beside it', async () => {
  await writeFile(join(folder, 'ca.pem'), 'from a file');
  expect(await credentials({ token: 'abc' }, { 'certificate-authority-data': undefined, 'certificate-authority': 'ca.pem' })).toMatchObject(
    {
      ca: 'from a file',
    },
  );
});

test('a kubeconfig may name another server name for the certificate', async () => {
  expect(await credentials({ token: 'abc' }, { 'tls-server-name': 'kubernetes' })).toMatchObject({ servername: 'kubernetes' });
});

test('an exec plugin of a kubeconfig provides a token', async () => {
  const program = join(folder, 'login');
  const answer = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token: 'from a program' } };
  await writeFile(program, `#!/bin/sh\necho '${JSON.stringify(answer)}'\n`);
  await chmod(program, 0o755);
  const user = { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: program, interactiveMode: 'Never' } };
  expect(await credentials(user)).toMatchObject({ authorization: 'Bearer from a program' });
});

test('credentials that stand in the file are decoded once, and those in another file are read each time', async () => {
  await writeFile(file, config({ token: 'abc' }));
  const constant = await readKubeconfig(file);
  expect(await constant.credentials()).toBe(await constant.credentials());
  for (const [name, user, cluster] of [
    ['a.pem', { token: 'abc' }, { 'certificate-authority-data': undefined, 'certificate-authority': 'a.pem' }],
    ['b.pem', { 'client-certificate': 'b.pem', 'client-key-data': base64('key') }, {}],
    ['c.pem', { 'client-certificate-data': base64('certificate'), 'client-key': 'c.pem' }, {}],
  ] as const) {
    await writeFile(join(folder, name), 'old');
    await writeFile(file, config(user, cluster));
    const connection = await readKubeconfig(file);
    await connection.credentials();
    await writeFile(join(folder, name), 'new');
    expect(Object.values(await connection.credentials()).map(String)).toContain('new');
  }
});

test('the kubeconfig is read again after a refusal', async () => {
  await writeFile(file, config({ token: 'old' }));
  const connection = await readKubeconfig(file);
  expect(await connection.credentials()).toMatchObject({ authorization: 'Bearer old' });
  await writeFile(file, config({ token: 'new' }));
  connection.expired();
  await expect.poll(async () => (await connection.credentials()).authorization).toBe('Bearer new');
});

test('a context that the file does not have is refused, and the fix names those that it has', async () => {
  await writeFile(file, config({ token: 'abc' }));
  await expect(readKubeconfig(file, 'there')).rejects.toMatchObject({ fix: 'it has: here' });
  await writeFile(file, '{}');
  await expect(readKubeconfig(file, 'there')).rejects.toMatchObject({ fix: 'it has: none' });
});

test.each([
  ['is missing', undefined, 'ENOENT'],
  ['has no context', '{}', 'no current context'],
  ['leads over a proxy', config({}, { 'proxy-url': 'http://192.0.2.1:3128' }), 'proxy-url is not supported'],
  ['has no server', config({}, { server: 'nonsense' }), 'server is not a URL'],
  ['cannot be read', 'users:\n- name: u\n  user:\n    token: swordfish\n   oops: [', 'cannot be used'],
])('a file that %s is refused, and its content is not shown', async (_, text, says) => {
  if (text !== undefined) await writeFile(file, text);
  const error = await readKubeconfig(file).catch((error: unknown) => error);
  expect(error).toMatchObject({ code: 'credentials', message: expect.stringContaining(says) });
  expect(inspect(error, { depth: 9 })).not.toContain('swordfish');
});
