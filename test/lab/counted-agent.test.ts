import { execPath } from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { standardTopology } from './standard-topology.ts';

/** A real agent of node1, to whose Service a client keeps connections open. The kernel of node1 says which pod each has. */
const pods = [1, 2, 3] as const;
const families = ['ipv4', 'ipv6'] as const;

let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ nodes: 3, pods: pods.map((pod) => ({ name: `web-${pod}`, node: `node${pod}` })) }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.edit('30-web.yaml', (text) =>
    withPods(text, [1, 2]).replace(
      'labels: { reach: fabric }',
      'labels: { reach: fabric }, annotations: { herald.dev/load-balancing: lc }',
    ),
  );
  await herald.start(['node1']);
  addresses = await herald.untilAssigned('shop/web', 2);
  for (const address of addresses) await lab.until(`${address} answers`, () => hold(address, 1).then(() => true));
}, 120_000);

afterAll(() => lab?.stop());

/** Leaves the endpoints of these pods ready, and the others not. */
const withPods = (text: string, ready: readonly number[]): string =>
  text.replaceAll(/nodeName: node(\d), conditions: \{ ready: \w+ \}/g, (_, pod: string) => {
    return `nodeName: node${pod}, conditions: { ready: ${ready.includes(Number(pod))} }`;
  });

/** Opens connections that stay until the lab ends. */
async function hold(address: string, count: number): Promise<void> {
  const program = `
    const { connect } = require('node:net');
    const open = () => new Promise((resolve, reject) => {
      const socket = connect({ host: '${address}', port: 80, timeout: 2000 });
      socket.on('connect', () => resolve(socket.setTimeout(0)));
      socket.on('error', reject).on('timeout', () => reject(new Error('timeout')));
    });
    (async () => { for (let i = 0; i < ${count}; i++) await open(); console.log('held'); setInterval(() => {}, 60000); })()
      .catch((error) => { console.log('failed: ' + error); process.exit(1); });`;
  const holder = lab.machine('client').spawn([execPath, '-e', program], { name: 'holder' });
  const line = await holder.waitForLine(/^(held|failed)/);
  if (line !== 'held') throw new Error(line);
}

/** Returns the established connections of each pod, as node1 forwards them. */
async function counts(family: (typeof families)[number]): Promise<readonly number[]> {
  const address = addresses.find((each) => each.includes(':') === (family === 'ipv6')) ?? '';
  const { stdout } = await lab.node('node1').exec(['conntrack', '-L', '-f', family, '-p', 'tcp', '--dst', address]);
  const established = stdout.split('\n').filter((line) => line.includes('ESTABLISHED'));
  const endpoint = (pod: number): string => (family === 'ipv4' ? `src=10.244.${pod}.10 ` : `src=fd00:244:${pod}::10 `);
  return pods.map((pod) => established.filter((line) => line.includes(endpoint(pod))).length);
}

async function holdAtBoth(count: number): Promise<void> {
  for (const address of addresses) await hold(address, count);
}

/** Resolves after the agent has looked at the connections: its interval is one second. */
async function look(): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, 4_000);
  });
}

test('least-connections by annotation: pods differ by one connection at most, one that appears comes first, and a killed agent goes on', async () => {
  const spread = async (): Promise<readonly (readonly number[])[]> => await Promise.all(families.map(counts));
  await look();
  await holdAtBoth(9);
  expect(await spread()).toEqual([
    [5, 5, 0],
    [5, 5, 0],
  ]);
  await herald.edit('30-web.yaml', (text) => withPods(text, [1, 2, 3]));
  await look();
  await holdAtBoth(4);
  expect(await spread()).toEqual([
    [5, 5, 4],
    [5, 5, 4],
  ]);
  herald.agent('node1').kill('SIGKILL');
  // The rules are there, and the turns that were written.
  await herald.agent('node1').stop();
  await herald.startAgent('node1').waitForLine(/agent started/);
  await look();
  await lab.until('the addresses answer again', async () => {
    await hold(addresses[0] ?? '', 1);
    return true;
  });
  await hold(addresses[1] ?? '', 1);
  await holdAtBoth(3);
  expect(await spread()).toEqual([
    [6, 6, 6],
    [6, 6, 6],
  ]);
});
