import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { bestPath, untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

const nodes = ['node1', 'node2', 'node3'];
let lab: Lab;
let herald: HeraldInLab;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node })) }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.start(nodes);
});

afterAll(async () => {
  await lab?.stop();
});

describe.each([
  { family: 4, index: 0, clusterIP: '10.96.0.10' },
  { family: 6, index: 1, clusterIP: 'fd00:96::10' },
] as const)('a Service of type LoadBalancer over IPv$family', ({ family, index }) => {
  let address: string;

  test('the Service gets an address, and both ToRs route it to every node', async () => {
    address = (await herald.untilAssigned('shop/web', 2))[index] ?? '';
    expect(address.includes(':')).toBe(family === 6);
    for (const tor of ['tor1', 'tor2']) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address));
    await untilSpineRoutes(lab, address);
  });

  test('the router sees the configured AS path, community and next hops', async () => {
    const wanted = { asPath: '64512', origin: 'IGP', communities: '64512:100', multipath: 3 };
    const path = await lab.until('tor1 uses all three paths', async (note) => {
      const seen = note(await bestPath(lab, 'tor1', address));
      return seen?.multipath === 3 ? seen : undefined;
    });
    // There may be a fourth path, through the spine and the other ToR, which is not used.
    expect(path).toMatchObject(wanted);
  });

  test.each(['tcp', 'udp'] as const)('all pods answer %s', async (protocol) => {
    const report = await lab.client[protocol]({ address, port: 80, count: 60, parallel: 4 });
    expect(report.errors).toEqual({});
    expect(Object.keys(report.pods).toSorted()).toEqual(['web-1', 'web-2', 'web-3']);
  });
});

test('the Service gets the conditions Announced and Programmed', async () => {
  await herald.untilCondition('shop/web', 'Announced', 'True');
  await herald.untilCondition('shop/web', 'Programmed', 'True');
});

test('a deleted Service is withdrawn, and after draining no node has rules for it', async () => {
  const [address = ''] = await herald.untilAssigned('shop/web', 2);
  await herald.remove('30-web.yaml');
  for (const tor of ['tor1', 'tor2']) await untilNextHops(lab, tor, address, []);
  await lab.until('the rules are gone', async (note) => {
    const { stdout } = await lab.node('node1').exec(['nft', 'list', 'table', 'ip', 'herald']);
    return note(stdout.split('\n').filter((line) => line.includes(address))).length === 0;
  });
});
