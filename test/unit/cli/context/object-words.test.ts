import { addBuiltInProviders } from '../../../support/built-in-providers.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FabricCluster } from '../fabric-cluster.ts';
import { herald as program } from '../in-process.ts';
import { root, type Outcome } from '../program.ts';

addBuiltInProviders();

const herald = (...words: readonly string[]): Promise<Outcome> => program([...words, '--source', join(root, 'examples/fabric')]);

describe('a Service on the command line', () => {
  test.each([['service'], ['svc'], ['services']])('herald explain %s web -n shop is herald explain service shop/web', async (word) => {
    const long = await herald('explain', 'service', 'shop/web', '--no-ask');
    expect(long.code).toBe(0);
    expect(await herald('explain', word, 'web', '-n', 'shop', '--no-ask')).toEqual(long);
    expect(await herald('explain', word, 'web', '--namespace=shop', '--no-ask')).toEqual(long);
    expect(await herald('explain', word, 'shop/web', '-n', 'shop', '--no-ask')).toEqual(long);
  });

  test('herald routes --service takes the namespace too', async () => {
    const long = await herald('routes', '--service', 'shop/web', '--no-ask');
    expect(long.code).toBe(0);
    expect(await herald('routes', '--service', 'web', '-n', 'shop', '--no-ask')).toEqual(long);
  });

  test('herald history service takes the namespace too', async () => {
    const { stdout } = await herald('history', 'svc', 'web', '-n', 'shop', '-o', 'json', '--socket', 'none');
    expect(JSON.parse(stdout)).toMatchObject({ name: 'shop/web' });
  });

  test('two namespaces for one Service are a mistake on the command line', async () => {
    const { code, stderr } = await herald('explain', 'svc', 'shop/web', '-n', 'other');
    expect([code, stderr]).toEqual([64, 'herald: shop/web is not in the namespace other: leave out --namespace, or write web\n']);
  });

  test("a Service without a namespace is in the one of the kubeconfig's context", async () => {
    const cluster = await FabricCluster.start();
    try {
      const config = JSON.parse(await readFile(cluster.kubeconfig, 'utf8')) as { contexts: { context: object }[] };
      const [a, b] = config.contexts;
      const contexts = [
        { name: 'a', context: { ...a?.context, namespace: 'shop' } },
        { ...b, context: { ...a?.context } },
      ];
      await writeFile(cluster.kubeconfig, JSON.stringify({ ...config, contexts }));
      const explain = (...words: readonly string[]): Promise<Outcome> =>
        program(['explain', 'svc', ...words, '--no-ask', '--kubeconfig', cluster.kubeconfig]);
      expect((await explain('web')).stdout).toContain('Service shop/web');
      expect((await explain('web', '-n', 'other')).stderr).toContain('no valid Service other/web');
      expect((await explain('other/web')).stderr).toContain('no valid Service other/web');
      expect((await explain('web', '--context', 'b')).stderr).toContain('no valid Service default/web');
    } finally {
      await cluster.stop();
    }
  });

  test('a Service without a namespace is in the namespace default', async () => {
    expect((await herald('explain', 'service', 'web')).stderr).toContain('there is no valid Service default/web');
  });
});

describe('further words', () => {
  test.each([
    [
      ['explain', 'pools', 'public'],
      ['explain', 'pool', 'public'],
    ],
    [
      ['explain', 'ipaddresspool', 'public'],
      ['explain', 'pool', 'public'],
    ],
    [
      ['explain', 'bgppeer', 'tor1-v4'],
      ['explain', 'peer', 'tor1-v4'],
    ],
    [
      ['explain', 'no', 'node1'],
      ['explain', 'node', 'node1'],
    ],
    [['peer'], ['peers']],
    [['pool'], ['pools']],
    [
      ['route', '--no-ask'],
      ['routes', '--no-ask'],
    ],
  ])('herald %j is herald %j', async (short, long) => {
    const outcome = await herald(...long);
    expect(outcome.code).toBe(0);
    expect(await herald(...short)).toEqual(outcome);
  });
});

test.each([
  [['explain', 'pool', 'publc'], 'did you mean public?'],
  [['explain', 'svc', 'shop/webb'], 'did you mean shop/web?'],
  [['explain', 'node', 'nod1'], 'did you mean node1?'],
  [['peers', '--peer', 'tor1-v'], 'did you mean tor1-v4?'],
  [['explain', 'servce', 'x'], 'Did you mean service?'],
  [['pols'], 'Did you mean pools?'],
])('herald %j suggests the closest name', async (words, told) => {
  expect((await herald(...words)).stderr).toContain(told);
});
