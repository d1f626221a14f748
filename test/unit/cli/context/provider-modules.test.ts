import { createServer, type Server } from 'node:http';
import nodeModule from 'node:module';
import { readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { MemoryApi } from '../../../../examples/provider/memory-api.ts';
import { BalancerProvider } from '../../../../examples/provider/provider.ts';
import { loadProviders } from '../../../../src/cli/context/provider-modules.ts';
import { discard, heraldProcess, root, scratch, Service } from '../program.ts';
import { providerComponents } from '../provider-components.ts';

/** What loading leaves in the process. The test with a module in a directory without Herald shows that it works. */
beforeAll(() => void vi.spyOn(nodeModule, 'registerHooks').mockReturnValue({ deregister: () => undefined }));
afterAll(() => {
  vi.restoreAllMocks();
  Reflect.deleteProperty(globalThis, Symbol.for('herald/provider'));
});

const components = providerComponents(true);
const right = (): BalancerProvider => new BalancerProvider(new MemoryApi(), components);
const load = (module: unknown) => loadProviders(['./acme.js'], components, ['bare-metal', 'aws'], async () => module);

describe('an invalid provider module', () => {
  const renamed = (name: unknown) => ({ createProvider: () => Object.defineProperty(right(), 'name', { value: name }) });
  test.each([
    ['an empty module', {}, 'it must export a function `createProvider`'],
    ['a createProvider that returns nothing', { createProvider: () => undefined }, 'createProvider must return a provider'],
    [
      'a provider without methods',
      { createProvider: () => ({ name: 'acme', claim: () => ({ mine: true }) }) },
      'its provider lacks reconcile, release (',
    ],
    ['a name that is not a label', renamed('ACME 1'), 'the `name` of its provider must be lower-case letters'],
    ['a name in use', renamed('aws'), 'its provider is called "aws", and another provider has that name'],
    [
      'a failure',
      {
        createProvider: () => {
          throw new Error('ACME_TOKEN is not set');
        },
      },
      'createProvider failed: ACME_TOKEN is not set',
    ],
  ])('loading refuses %s and says what is wrong', async (_, module, message) => {
    await expect(load(module)).rejects.toThrow(`--provider ./acme.js: ${message}`);
  });

  test('loading refuses a module that does not exist', async () => {
    const missing = loadProviders(['./acme.js'], components, [], async () => Promise.reject(new Error('Cannot find module')));
    await expect(missing).rejects.toThrow('--provider ./acme.js: it could not be loaded: Cannot find module');
  });
});

test('a valid module is loaded, also when createProvider returns a promise', async () => {
  const [provider] = await load({ createProvider: async () => right() });
  expect(provider?.name).toBe('example');
});

test('a controller that cannot load its provider reports that, and ends', async () => {
  const directory = await scratch('20-herald.yaml');
  vi.stubEnv('BALANCER_API', undefined);
  try {
    const missing = await heraldProcess('controller', '--source', directory, '--provider', join(directory, 'none.ts'));
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringMatching(/^herald: --provider .*none\.ts: it could not be loaded: /m)]);
    const unset = await heraldProcess('controller', '--source', directory, '--provider', join(root, 'examples/provider/provider.ts'));
    expect([unset.code, unset.stderr]).toEqual([1, expect.stringContaining('createProvider failed: BALANCER_API is not set')]);
  } finally {
    vi.unstubAllEnvs();
    await discard(directory);
  }
});

test('the example provider serves a Service through an HTTP API, and deletes its balancer afterwards', async () => {
  const directory = await scratch('20-herald.yaml');
  const api = new MemoryApi();
  const server = await serve(api);
  const { port } = server.address() as AddressInfo;
  const manifest = join(directory, 'web.yaml');
  await writeFile(manifest, balanced);
  // A directory without Herald: `herald/provider` must resolve all the same.
  const module = join(directory, 'acme.mjs');
  await writeFile(
    module,
    `import { serviceKey } from 'herald/provider';
     import { createProvider as make } from ${JSON.stringify(join(root, 'examples/provider/provider.ts'))};
     export const createProvider = (components) => make({ ...components, variables: { BALANCER_API: 'http://127.0.0.1:${port}', found: typeof serviceKey } });`,
  );
  const controller = new Service('controller', '--source', directory, '--provider', module);
  try {
    await controller.line(({ msg, provider }) => msg === 'provider loaded' && provider === 'example');
    await expect
      .poll(() => readFile(join(directory, '.herald/status/services/shop/web.yaml'), 'utf8').catch(() => ''), { timeout: 80_000 })
      .toContain('192.0.2.1');
    expect([...api.balancers.values()]).toEqual([
      { name: 'shop.web', address: '192.0.2.1', ports: [{ port: 80, nodePort: 30080 }], hosts: [] },
    ]);
    await rm(manifest);
    await expect.poll(() => [...api.balancers.keys()], { timeout: 80_000 }).toEqual([]);
  } finally {
    await controller.end('SIGTERM');
    server.close();
    await discard(directory);
  }
});

const balanced = `
apiVersion: v1
kind: Service
metadata: { namespace: shop, name: web }
spec:
  type: LoadBalancer
  loadBalancerClass: example.com/balancer
  clusterIPs: [10.96.0.10]
  ports: [{ name: http, port: 80, nodePort: 30080 }]
`;

/** Serves the example's API over HTTP, on loopback. */
function serve(api: MemoryApi): Promise<Server> {
  const server = createServer((request, response) => {
    void (async () => {
      const name = decodeURIComponent(request.url?.split('/').at(-1) ?? '');
      let body = '';
      for await (const chunk of request) body += String(chunk);
      if (request.method === 'DELETE') await api.delete(name);
      const found =
        request.method === 'PUT' ? await api.put(name, JSON.parse(body) as Parameters<MemoryApi['put']>[1]) : await api.get(name);
      response
        .writeHead(request.method === 'DELETE' ? 204 : found === undefined ? 404 : 200)
        .end(found === undefined ? '' : JSON.stringify(found));
    })();
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}
