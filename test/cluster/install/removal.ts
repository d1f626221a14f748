import { expect, test } from 'vitest';
import { until } from '../../lab/until.ts';
import type { Bed } from './bed.ts';

/** Kinds that may be left by intention: definitions with their objects (crds.keep), and the namespace that Helm never deletes. */
const keptKinds: ReadonlySet<string> = new Set(['customresourcedefinition.apiextensions.k8s.io', 'namespace']);

const kinds = [
  'all',
  'serviceaccounts',
  'roles',
  'rolebindings',
  'clusterroles',
  'clusterrolebindings',
  'poddisruptionbudgets',
  'customresourcedefinitions',
];

/** Removes the installation: the last test of a bed. */
export function testRemoval(bed: () => Bed): void {
  test('an uninstallation leaves no rule, tunnel or policy rule on a node, no route and no object', async () => {
    const { cluster, method } = bed();
    const addresses = await bed().addresses();
    await bed().untilAnnounced();
    for (const { machine } of cluster.nodes) expect((await machine.exec(['nft', 'list', 'tables'])).stdout).toContain('herald');
    await method.uninstall(cluster);
    await until('no pod of Herald is left', async (note) => note(await bed().kubectl('get', 'pods', '--output=name')) === '', 120_000);

    for (const family of ['4', '6']) {
      const { stdout } = await cluster.tor.exec(['ip', `-${family}`, 'route', 'show', 'proto', 'bgp']);
      expect(stdout).toBe('');
    }
    for (const node of cluster.nodes) {
      expect({ node: node.name, left: await leftOn(node.machine, addresses) }).toEqual({ node: node.name, left: [] });
    }
    const objects = (await cluster.kubectl(['get', kinds.join(), '--all-namespaces', '--output=name'])).stdout.split('\n');
    const left = objects.filter((name) => name.includes('herald') && !keptKinds.has(name.split('/')[0] ?? ''));
    expect(left).toEqual([]);
  });
}

/** Returns what Herald could have left in the kernel of a node. */
async function leftOn(machine: Bed['cluster']['nodes'][number]['machine'], addresses: readonly string[]): Promise<string[]> {
  const read = async (argv: readonly string[]): Promise<string[]> => (await machine.exec(argv, { check: false })).stdout.split('\n');
  const [tables, routes, routes6, rules, rules6, links] = await Promise.all([
    read(['nft', 'list', 'tables']),
    read(['ip', 'route', 'show', 'table', 'all']),
    read(['ip', '-6', 'route', 'show', 'table', 'all']),
    read(['ip', 'rule']),
    read(['ip', '-6', 'rule']),
    read(['ip', '-brief', 'link']),
  ]);
  return [
    ...tables.filter((line) => line.includes('herald')),
    ...[...routes, ...routes6].filter((line) => addresses.some((address) => line.includes(address))),
    // Every machine has the rules of the tables local, main and default.
    ...[...rules, ...rules6].filter((line) => line !== '' && !/lookup (local|main|default)\s*$/.test(line)),
    ...links.filter((line) => line.includes('herald')),
  ];
}
