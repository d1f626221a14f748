import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { examples, HeraldInLab } from '../herald.ts';
import { Lab } from '../lab.ts';
import { nextHops, untilNextHops, viaNodes } from '../routes.ts';
import { standardTopology } from '../standard-topology.ts';
import { documents, serviceOnNode1 } from './objects.ts';

/** Stops the forwarding of nodes while agents may not repair it, and checks what routers and clients see. */
const nodes = ['node1', 'node2', 'node3'];
const tors = ['tor1', 'tor2'] as const;
let lab: Lab;
let herald: HeraldInLab;
let ipv4: string;
let ipv6: string;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node })) }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  // A node that cannot forward does not reach its own pods either. All pods of this Service are on node3, which works in most tests.
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/^  - { addresses: .* nodeName: node[12],.*\n/gm, ''));
  const controller = herald.startController();
  const agents = nodes.map((node) => herald.startAgent(node, '--kernel-settings', 'report'));
  await controller.waitForLine(/controller started/);
  await Promise.all(agents.map((agent) => agent.waitForLine(/agent started/)));
  const addresses = await herald.untilAssigned('shop/web', 2);
  [ipv4 = '', ipv6 = ''] = addresses.toSorted((a, b) => a.length - b.length);
  if (ipv4.includes(':')) [ipv4, ipv6] = [ipv6, ipv4];
  await untilVia(ipv4, nodes);
  await untilVia(ipv6, nodes);
});

afterAll(async () => {
  await lab?.stop();
});

afterEach(async () => {
  await herald.write('60-local.yaml', '');
  await Promise.all(nodes.map((node) => repair(node)));
  for (const address of [ipv4, ipv6]) await untilVia(address, nodes);
});

async function untilVia(address: string, via: readonly string[]): Promise<void> {
  for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, via, address), 120_000);
}

async function expectVia(address: string, via: readonly string[]): Promise<void> {
  for (const tor of tors) expect(await nextHops(lab, tor, address)).toEqual(viaNodes(tor, via, address));
}

/** The interfaces keep their own value when only the common one is written back, so `sysctl` writes the common one last. */
const sysctl = (node: string, family: 4 | 6, value: 0 | 1): Promise<unknown> =>
  lab.node(node).exec(['sysctl', '-qw', family === 4 ? `net.ipv4.ip_forward=${value}` : `net.ipv6.conf.all.forwarding=${value}`]);
const nft = (node: string, text: string): Promise<unknown> => lab.node(node).exec(['nft', text]);

async function breakByFilter(node: string, table: 'ip' | 'ip6'): Promise<void> {
  await nft(node, `table ${table} filter { chain FORWARD { type filter hook forward priority filter; policy drop; }; }`);
}

async function repair(node: string): Promise<void> {
  await sysctl(node, 4, 1);
  await sysctl(node, 6, 1);
  for (const table of ['ip', 'ip6']) await lab.node(node).exec(['nft', 'delete', 'table', table, 'filter'], { check: false });
}

async function heldBack(node: string): Promise<string[]> {
  const text = await readFile(`${herald.directory}/.herald/nodes/${node}.yaml`, 'utf8').catch(() => '');
  const { status } = (parse(text) ?? {}) as { status?: { heldBack?: { family: string; settled: boolean; reason: { code: string } }[] } };
  return (status?.heldBack ?? []).map(({ family, settled, reason }) => `${family} ${settled ? 'settled' : 'pending'} ${reason.code}`);
}

const untilHeldBack = (node: string, wanted: readonly string[]): Promise<unknown> =>
  lab.until(
    `${node} holds back ${wanted.join(', ') || 'nothing'}`,
    async (note) => note(await heldBack(node)).join() === wanted.join(),
    120_000,
  );

/** Sends requests over new connections. All must be answered. */
async function expectServed(address: string): Promise<void> {
  const { outcomes, errors } = await lab.client.tcp({ address, port: 80, count: 120, timeoutMs: 5_000 });
  expect(errors).toEqual({});
  expect(outcomes).toHaveLength(120);
}

describe('a node that stops forwarding', () => {
  test.each([
    ['IPv4', 4, 'ip6'],
    ['IPv6', 6, 'ip'],
  ] as const)('routers lose its routes while %s forwarding is off or a filter drops the other family', async (name, family, table) => {
    const [bySetting, byFilter] = family === 4 ? [ipv4, ipv6] : [ipv6, ipv4];
    const filtered = family === 4 ? 'IPv6' : 'IPv4';
    await sysctl('node1', family, 0);
    await breakByFilter('node2', table);
    await untilVia(bySetting, ['node2', 'node3']);
    await untilVia(byFilter, ['node1', 'node3']);
    await expectServed(bySetting);
    await expectServed(byFilter);
    await untilHeldBack('node1', [`${name} settled KernelSettingWrong`]);
    await untilHeldBack('node2', [`${filtered} settled ForwardFilterDrops`]);
    const explanation = await herald.explain('shop/web');
    expect(explanation).toContain(`node "node1" does not forward ${name}`);
    expect(explanation).toContain(family === 4 ? 'net.ipv4.ip_forward is 0' : 'net.ipv6.conf.all.forwarding is 0');
    expect(explanation).toContain(`node "node2" does not forward ${filtered}`);
    expect(explanation).toContain(`chain FORWARD of table ${table} filter`);
    const { reason } = await lab.until('the condition counts both nodes', async (note) => {
      const { Announced } = note(await herald.service('shop', 'web')).conditions;
      return Announced?.message.includes('2 of 3 nodes hold their routes back: node "node1"') === true ? Announced : undefined;
    });
    expect(reason).toBe('Announced');

    await repair('node1');
    await repair('node2');
    for (const address of [ipv4, ipv6]) await untilVia(address, nodes);
    await untilHeldBack('node1', []);
    for (const address of [ipv4, ipv6]) await expectServed(address);
  });

  test('a pod that only this node has stays reachable for routers, and the condition says so', async () => {
    await herald.write('60-local.yaml', documents(...serviceOnNode1()));
    const addresses = await herald.untilAssigned('shop/local', 2);
    const address = addresses.find((one) => !one.includes(':')) ?? '';
    await untilVia(address, ['node1']);
    await sysctl('node1', 4, 0);
    await untilVia(ipv4, ['node2', 'node3']);
    await expectVia(address, ['node1']);
    await lab.until(
      'the condition has reason HeldBackLastNextHop',
      async (note) => note(await herald.service('shop', 'local')).conditions['Announced']?.reason === 'HeldBackLastNextHop',
    );
  });

  test('all routes stay when no node forwards, and those that are repaired take over', async () => {
    await Promise.all(nodes.map((node) => sysctl(node, 4, 0)));
    for (const node of nodes) await untilHeldBack(node, ['IPv4 settled KernelSettingWrong']);
    await untilVia(ipv4, nodes);
    await lab.until(
      'the condition has reason HeldBackLastNextHop',
      async (note) => note(await herald.service('shop', 'web')).conditions['Announced']?.reason === 'HeldBackLastNextHop',
    );
    await sysctl('node2', 4, 1);
    await untilVia(ipv4, ['node2']);
  });

  test('with hostProblems: report it keeps announcing and reports the problem', async () => {
    await herald.edit('20-herald.yaml', (text) => text.replace('drainSeconds: 2', 'drainSeconds: 2, hostProblems: report'));
    await sysctl('node1', 4, 0);
    await lab.until('explain names the setting', async () => (await herald.explain('shop/web')).includes('net.ipv4.ip_forward is 0'));
    expect(await heldBack('node1')).toEqual([]);
    await expectVia(ipv4, nodes);
    await herald.edit('20-herald.yaml', (text) => text.replace(', hostProblems: report', ''));
    await untilVia(ipv4, ['node2', 'node3']);
  });
});
