import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examples, HeraldInLab } from '../herald.ts';
import { Lab, type LabProcess } from '../lab.ts';
import { untilNextHops, viaNodes } from '../routes.ts';
import { standardTopology } from '../standard-topology.ts';
import { documents, serviceOnNode1 } from './objects.ts';

/** Starts an agent on node2 with the name of node1, beside the right agent of node1. */
const program = join(import.meta.dirname, '../../../bin/herald');
let lab: Lab;
let herald: HeraldInLab;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [{ name: 'web-1', node: 'node1' }] }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml']);
  await herald.prolongHoldTimes();
  await herald.write('60-local.yaml', documents(...serviceOnNode1()));
  await herald.start(['node1']);
});

afterAll(async () => {
  await lab?.stop();
});

test("an agent with another node's name announces nothing and leaves that node's report and traffic alone", async () => {
  const addresses = await herald.untilAssigned('shop/local', 2);
  const untilNode1 = async (): Promise<void> => {
    for (const tor of ['tor1', 'tor2'])
      for (const address of addresses) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1'], address));
  };
  await untilNode1();
  // The lock of a shared directory would stop it, so it reads a copy, as a host with its own checkout does.
  const copy = await lab.scratch('copy');
  await cp(herald.directory, copy, { recursive: true, filter: (path) => !path.endsWith('.lock') });
  const startWrong = (directory: string): LabProcess =>
    lab
      .node('node2')
      .spawn([program, 'agent', '--node', 'node1', '--source', directory, '--socket', herald.socket('wrong')], { name: 'agent-wrong' });
  const wrong = startWrong(copy);
  await wrong.waitForLine(/the agent does not match its Node/);
  await lab.until(
    'the wrong agent has its sessions',
    () => wrong.lines().filter((line) => line.includes('session established')).length >= 4,
  );
  for (const address of addresses) {
    const { errors, outcomes } = await lab.client.tcp({ address, port: 80, count: 100, timeoutMs: 5_000 });
    expect(errors).toEqual({});
    expect(outcomes).toHaveLength(100);
  }
  await untilNode1();
  expect(wrong.lines().join('\n')).toContain('no InternalIP of Node');
  const explanation = await herald.explain('shop/local');
  expect(explanation).not.toContain('runs on a host');
  expect(explanation).toContain('is announced to');

  // Without the right agent, the wrong one reports, and explain says why node1 announces nothing.
  for (const agent of [wrong, herald.agent('node1')]) await agent.stop();
  await startWrong(herald.directory).waitForLine(/the agent does not match its Node/);
  await lab.until('explain names the wrong host', async () =>
    (await herald.explain('shop/local')).includes('runs on a host that has no InternalIP of Node "node1"'),
  );
  for (const tor of ['tor1', 'tor2']) for (const address of addresses) await untilNextHops(lab, tor, address, []);
});
