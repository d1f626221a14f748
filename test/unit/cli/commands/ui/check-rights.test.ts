import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { mayCheck } from '../../../../../src/cli/commands/ui/check-rights.ts';
import { collecting } from '../../in-process.ts';

let server: Server | undefined;
let folder: string | undefined;
afterEach(async () => {
  await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
  if (folder !== undefined) await rm(folder, { recursive: true });
  [server, folder] = [undefined, undefined];
});

/** An API server that only says what the caller may do: "list pods", "create pods/exec". */
async function allowing(...allowed: readonly string[]): Promise<{ readonly apiserver: URL; readonly asked: string[] }> {
  const asked: string[] = [];
  const made = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += String(chunk)));
    request.on('end', () => {
      const { spec } = JSON.parse(text) as { readonly spec: { readonly resourceAttributes: Readonly<Record<string, string>> } };
      const { verb = '', resource = '', subresource, namespace = '' } = spec.resourceAttributes;
      const what = `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
      asked.push(`${namespace}: ${what}`);
      response.writeHead(201, { 'Content-Type': 'application/json', Connection: 'close' });
      response.end(JSON.stringify({ kind: 'SelfSubjectAccessReview', status: { allowed: allowed.includes(what) } }));
    });
  });
  server = made;
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return { apiserver: new URL(`http://127.0.0.1:${(made.address() as AddressInfo).port}`), asked };
}

/** A kubeconfig for the server, in a folder that the test removes. */
async function kubeconfigOf(url: URL): Promise<string> {
  folder = await mkdtemp(join(tmpdir(), 'herald-rights-'));
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: url.href, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'a', user: {} }],
  };
  await writeFile(join(folder, 'kubeconfig'), JSON.stringify(config));
  return join(folder, 'kubeconfig');
}

test.each([
  [['list pods', 'create pods/exec'], true],
  [['list pods'], false],
  [['create pods/exec'], false],
  [[], false],
] as const)('a caller who may %j may check: %s', async (allowed, may) => {
  const { apiserver, asked } = await allowing(...allowed);
  const kubeconfig = await kubeconfigOf(apiserver);
  expect(await mayCheck(collecting().context, { kubeconfig, heraldNamespace: 'routing' })).toBe(may);
  expect(asked.toSorted()).toEqual(['routing: create pods/exec', 'routing: list pods']);
});

test('manifests have no agents to check, and a directory has those of this host', async () => {
  const { context } = collecting();
  expect(await mayCheck(context, { file: ['-'] })).toBe(false);
  expect(await mayCheck(context, { source: '/etc/herald', ask: false })).toBe(false);
  expect(await mayCheck(context, { source: '/etc/herald' })).toBe(true);
});
