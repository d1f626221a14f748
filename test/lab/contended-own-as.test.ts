import { afterAll, beforeAll, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab, type LabProcess } from './lab.ts';
import { untilNextHops, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/**
 * A second cluster that has the same AS number, the same ToRs and the same pool: node1 is the one cluster, node2 the other. The ToRs use both paths
 * together and announce the older one to nodes, with the next hop of its node.
 */
const tors = ['tor1', 'tor2'] as const;
let lab: Lab;
let first: HeraldInLab;
let second: HeraldInLab;
let foreign: LabProcess;
let addresses: readonly string[];

/** Makes a cluster that has only this node. */
async function clusterOf(node: string): Promise<HeraldInLab> {
  const herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml'], `manifests-${node}`);
  await herald.prolongHoldTimes();
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/^ .*nodeName: (\w+).*\n/gm, (line, of) => (of === node ? line : '')));
  await herald.edit('10-cluster.yaml', (text) => withNodes(text, [node]));
  return herald;
}

/** Returns the manifests with these Nodes only. */
const withNodes = (text: string, kept: readonly string[]): string =>
  text.replaceAll(/---\n(?:(?!---)[^])*name: (node\d),(?:(?!---)[^])*/g, (object, of: string) => (kept.includes(of) ? object : ''));

beforeAll(async () => {
  const pods = ['node1', 'node2'].map((node, index) => ({ name: `web-${index + 1}`, node }));
  lab = await Lab.start(standardTopology({ pods, nodes: 2 }));
  [first, second] = [await clusterOf('node1'), await clusterOf('node2')];
  for (const tor of tors) {
    const router = lab.router(tor);
    const { stdout: running } = await router.exec(['vtysh', '-N', router.namespace, '-c', 'show running-config']);
    await router.configure([
      ...(/^router bgp \d+/m.exec(running) ?? []),
      ...['ipv4', 'ipv6'].flatMap((family) => [
        `address-family ${family} unicast`,
        // The routers of the lab announce nothing to nodes otherwise.
        'no neighbor NODES route-map NOTHING out',
        'exit-address-family',
      ]),
    ]);
  }
  await first.startRun('node1').waitForLine(/agent started/, 60_000);
  addresses = await first.untilAssigned('shop/web', 2);
  for (const address of addresses) for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1'], address));
});

afterAll(async () => {
  await lab?.stop();
});

const untilShared = async (): Promise<void> => {
  for (const address of addresses)
    for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1', 'node2'], address));
};

/** Makes the path of node2 the older one on tor1. */
async function resetNode1OnTor1(): Promise<void> {
  const router = lab.router('tor1');
  for (const address of ['10.1.0.11', 'fd00:1::11']) await router.exec(['vtysh', '-N', router.namespace, '-c', `clear bgp ${address}`]);
  await lab.until('tor1 has lost or replaced a path of node1', async (note) => {
    const { paths = [] } = await router.show<{ readonly paths?: readonly Path[] }>(`show bgp ipv4 unicast ${addresses[0] ?? ''} json`);
    const best = paths.find(({ bestpath }) => bestpath?.overall === true)?.nexthops?.[0]?.ip;
    return note(best) === '10.1.0.12';
  });
}

interface Path {
  readonly bestpath?: { readonly overall?: boolean };
  readonly nexthops?: readonly { readonly ip?: string }[];
}

/** Returns the text without line breaks, as sentences may be wrapped. */
const said = async (herald: HeraldInLab): Promise<string> => (await herald.explain('shop/web')).replaceAll(/\s+/g, ' ');

test('explain says nothing of the path that tor1 prefers, which may come from another node of the cluster', async () => {
  foreign = second.startRun('node2');
  await foreign.waitForLine(/agent started/, 60_000);
  expect(await second.untilAssigned('shop/web', 2)).toEqual(addresses);
  await untilShared();
  await resetNode1OnTor1();
  expect(await said(first)).not.toContain('another path');
});

test('check names it by the tables of the routers, also where their best path is ours', async () => {
  const routers = tors.flatMap((tor) => [
    '--router',
    `${tor}=vtysh -N ${lab.router(tor).namespace} -c "show bgp {family} unicast {prefix} json"`,
  ]);
  const objects = ['--source', first.directory, '--socket', first.socket('node1')];
  const { stdout, code } = await first.run('check', 'service', 'shop/web', ...objects, ...routers);
  expect(code).toBe(3);
  await foreign.stop();
  for (const hop of ['10.1.0.12', '10.2.0.12', 'fd00:1::12', 'fd00:2::12']) expect(stdout).toContain(`${hop}: no Node of this cluster`);
  expect(stdout).not.toMatch(/(?:\.11|::11): no Node/);
});
