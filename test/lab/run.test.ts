import { afterAll, beforeAll, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

let lab: Lab;
let herald: HeraldInLab;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [{ name: 'web-1', node: 'node1' }] }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node[23].*\n/g, ''));
});

afterAll(async () => {
  await lab?.stop();
});

test('herald run assigns, programs and announces in one process, and withdraws on SIGTERM', async () => {
  const run = herald.startRun('node1');
  await run.waitForLine(/agent started/);
  const addresses = await herald.untilAssigned('shop/web', 2);
  for (const address of addresses) {
    for (const tor of ['tor1', 'tor2']) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1'], address));
    await untilSpineRoutes(lab, address);
    for (const protocol of ['tcp', 'udp'] as const) {
      const report = await lab.client[protocol]({ address, port: 80, count: 10 });
      expect(report.errors).toEqual({});
      expect(Object.keys(report.pods)).toEqual(['web-1']);
    }
  }
  const { code } = await run.stop();
  expect(code).toBe(0);
  for (const address of addresses) await untilNextHops(lab, 'tor1', address, []);
});
