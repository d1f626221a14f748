import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { examples, HeraldInLab } from '../herald.ts';
import { Lab } from '../lab.ts';
import { untilNextHops, viaNodes } from '../routes.ts';
import { standardTopology } from '../standard-topology.ts';
import { documents, dualStackService, endpointSlices } from './objects.ts';

/** Connections that enter at node1, which translates them to a pod on node2, where another program filters. */
let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

beforeAll(async () => {
  lab = await Lab.start(
    standardTopology({
      nodes: 3,
      pods: [
        { name: 'web-1', node: 'node1' },
        { name: 'web-2', node: 'node2' },
      ],
    }),
  );
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml']);
  await herald.prolongHoldTimes();
  await herald.write(
    '60-remote.yaml',
    documents(
      dualStackService('remote', { 4: '10.96.0.61', 6: 'fd00:96::61' }, { type: 'LoadBalancer' }),
      ...endpointSlices('remote', { 4: '10.244.2.10', 6: 'fd00:244:2::10' }, 'node2'),
    ),
  );
  // Without its agent node2 announces nothing, so all connections enter at node1 until it starts.
  await herald.start(['node1']);
  addresses = await herald.untilAssigned('shop/remote', 2);
  for (const tor of ['tor1', 'tor2'])
    for (const address of addresses) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1'], address));
});

afterAll(async () => {
  await lab?.stop();
});

afterEach(async () => {
  await lab.node('node2').exec(['nft', 'delete', 'table', 'inet', 'firewall'], { check: false });
});

/** Returns the number of connections of each family that are answered, of 24. */
async function answered(): Promise<number[]> {
  const counts: number[] = [];
  for (const address of addresses) {
    const { outcomes } = await lab.client.tcp({ address, port: 80, count: 24, timeoutMs: 1_500 });
    counts.push(outcomes.filter(({ ok }) => ok).length);
  }
  return counts;
}

const untilAnswered = (): Promise<unknown> =>
  lab.until('all connections are answered', async (note) => note(await answered()).join() === '24,24');
const filter = (rules: string): Promise<unknown> =>
  lab.node('node2').exec(['nft', `table inet firewall { chain forward { type filter hook forward priority 0; policy drop; ${rules} }; }`]);
const printedBy = async (...command: readonly string[]): Promise<string> =>
  (await herald.run('explain', ...command, '--source', herald.directory)).stdout;

/** Runs the first command that the output of a command names, and waits until it names none. */
async function runPrinted(...command: readonly string[]): Promise<string> {
  const text = await lab.until('the problem is reported', async (note) => {
    const printed = note(await printedBy(...command));
    return printed.includes('nft insert rule') ? printed : undefined;
  });
  await lab.node('node2').exec(['sh', '-c', /[Rr]un: (nft insert rule .*accept)/.exec(text)?.[1] ?? 'false']);
  expect(await answered()).toEqual([24, 24]);
  await lab.until('the problem is gone', async (note) => !note(await printedBy(...command)).includes('nft insert rule'), 120_000);
  return text;
}

test('the printed command for a stock rule set lets through what another node has translated', async () => {
  expect(await answered()).toEqual([24, 24]);
  await filter('ct state established,related accept; ct status dnat accept;');
  expect(await answered()).toEqual([0, 0]);
  await herald.startAgent('node2').waitForLine(/agent started/);
  expect(await runPrinted('node', 'node2')).toContain('that another node has translated');
});

test('so does the command in the verdict on a Service whose endpoints are cut off', async () => {
  await filter('');
  const text = await runPrinted('service', 'shop/remote');
  expect(text.split('\n').slice(0, 3).join(' ')).toMatch(/not served/i);
});

test('with --filters allow an agent has the chain accept what another node has translated, also after it was loaded again', async () => {
  const reporting = herald.agent('node2');
  reporting.kill('SIGTERM');
  await reporting.exited;
  await filter('');
  expect(await answered()).toEqual([0, 0]);
  await herald.startAgent('node2', '--filters', 'allow').waitForLine(/agent started/);
  // Routers move some connections when the node announces again.
  await untilAnswered();
  await lab.node('node2').exec(['nft', 'delete', 'table', 'inet', 'firewall']);
  await filter('');
  await untilAnswered();
});
