import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { join } from 'node:path';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { untilNextHops, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];
const nodes = ['node1', 'node2', 'node3'] as const;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node })) }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.start(nodes);
  addresses = await herald.untilAssigned('shop/web', 2);
  for (const tor of ['tor1', 'tor2']) for (const address of addresses) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address));
});

afterAll(async () => {
  await lab?.stop();
});

test('x', async () => {
  const sockets = nodes.flatMap((node) => ['--socket', herald.socket(node)]);
  const vtysh = (tor: string) => `${tor}=vtysh -N ${lab.machine(tor).namespace} -c "show bgp {family} unicast {prefix} json"`;
  const r = await lab.machine('client').exec([join(import.meta.dirname, '../../bin/herald'), 'check', 'service', 'shop/web', '--source', herald.directory, ...sockets, '--router', vtysh('tor1'), '--router', vtysh('tor2'), '--router', vtysh('spine')], { check: false });
  console.log(r.stdout, r.stderr, r.code);
}, 60000);
