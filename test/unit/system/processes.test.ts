import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { httpGet } from '../../../src/system/http/http-get.ts';
import { processesNamed } from '../../../src/system/processes.ts';

describe('processesNamed', () => {
  let root: string;
  beforeEach(async () => (root = await mkdtemp(join(tmpdir(), 'herald-proc-'))));
  afterEach(() => rm(root, { recursive: true }));

  async function process(id: string, comm: string, namespace: string): Promise<void> {
    await mkdir(join(root, id, 'ns'), { recursive: true });
    await writeFile(join(root, id, 'comm'), `${comm}\n`);
    await symlink(`net:[${namespace}]`, join(root, id, 'ns/net'));
  }

  test('returns only processes of this network namespace', async () => {
    await process('self', 'node', '1');
    await process('10', 'kube-proxy', '1');
    await process('11', 'kube-proxy', '2');
    await process('12', 'kube-proxyd', '1');
    await mkdir(join(root, '13'));
    expect(await processesNamed('kube-proxy', root)).toEqual([10]);
  });
});

describe('httpGet', () => {
  const bounds = { milliseconds: 300, bytes: 4 };

  test.each<[string, number, string, string | undefined]>([
    ['returns the body', 200, 'ipvs', 'ipvs'],
    ['cuts the body at the maximum length', 200, 'nftables', 'nfta'],
    ['returns the body for status 200 only', 404, 'no', undefined],
  ])('%s', async (_, status, body, expected) => {
    const server = createServer((_request, response) => response.writeHead(status).end(body)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await httpGet(`http://127.0.0.1:${port}/`, bounds)).toBe(expected);
    server.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.once('close', resolve));
    expect(await httpGet(`http://127.0.0.1:${port}/`, bounds)).toBeUndefined();
  });

  test('returns undefined when no answer arrives', async () => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    expect(await httpGet(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, bounds)).toBeUndefined();
    server.closeAllConnections();
    server.close();
  });
});
