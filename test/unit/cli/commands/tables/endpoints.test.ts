import { afterEach, beforeEach, expect, test } from 'vitest';
import { endpointsCommand } from '../../../../../src/cli/commands/tables/endpoints-command.ts';
import { FabricCluster } from '../../fabric-cluster.ts';
import { inProcess } from '../../in-process.ts';

let cluster: FabricCluster;
beforeEach(async () => {
  cluster = await FabricCluster.start();
});
afterEach(() => cluster.stop());

const fabric = ['-f', 'examples/fabric'];

test('herald endpoints reads a cluster without writing, and names agents that it could not ask', async () => {
  const { code, stdout } = await cluster.herald(endpointsCommand, ['shop/web']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Service +Port +Scheduler +Endpoint +On +State +Weight +Active/);
  expect(stdout).toMatch(/\nshop\/web +80\/TCP +\S+ +10\.244\.1\.10:8080 +node1 +ready +1 +- +-/);
  expect(cluster.server.methods).toEqual(new Set(['GET']));
});

test('-A lists the Services of all namespaces, -n of one, and -l those with labels', async () => {
  const services = async (...words: readonly string[]): Promise<string[]> => {
    const { stdout } = await inProcess(endpointsCommand, [...words, ...fabric, '-o', 'name']);
    return stdout.split('\n').filter((line) => line !== '');
  };
  expect(await services('-A')).toContain('service/shop/web');
  expect(await services('-n', 'shop')).toEqual(await services('-A'));
  expect(await services('-n', 'none')).toEqual([]);
  expect(await services('shop/web')).toEqual(['service/shop/web']);
  expect(await services('web', '-n', 'shop')).toEqual(['service/shop/web']);
});

test('JSON has what the table has', async () => {
  const { stdout } = await inProcess(endpointsCommand, ['shop/web', ...fabric, '-o', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({
    endpoints: expect.arrayContaining([expect.objectContaining({ service: 'shop/web', port: '80/TCP', nodes: [] })]) as object,
    counted: [],
  });
});

test.each([
  [[], 64, 'name a Service, or use --namespace, --selector or --all-namespaces'],
  [['shop/none'], 1, 'there is no valid Service shop/none'],
  [['shop/web', '--node', 'none'], 1, 'there is no valid node none'],
  [['-A', '-n', 'shop'], 64, 'cannot be used with'],
])('%j is refused', async (words, code, message) => {
  expect(await inProcess(endpointsCommand, [...words, ...fabric])).toMatchObject({
    code,
    stderr: expect.stringContaining(message) as string,
  });
});
