import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examples, HeraldInLab } from '../herald.ts';
import { Lab, type LabProcess } from '../lab.ts';
import { untilNextHops, viaNodes } from '../routes.ts';
import { standardTopology } from '../standard-topology.ts';

/** Starts an agent on node2 with the name of node1, beside the right agent of node1. */
const program = join(import.meta.dirname, '../../../bin/herald');
let lab: Lab;
let herald: HeraldInLab;

/** A Service whose only pod is on node1. */
const local = `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: local }
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  ipFamilyPolicy: RequireDualStack
  ipFamilies: [IPv4, IPv6]
  clusterIPs: [10.96.0.60, "fd00:96::60"]
  healthCheckNodePort: 30960
  ports: [{ port: 80, targetPort: 8080, nodePort: 30961 }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: local-v4, labels: { kubernetes.io/service-name: local } }
addressType: IPv4
ports: [{ port: 8080 }]
endpoints: [{ addresses: [10.244.1.10], nodeName: node1, conditions: { ready: true } }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: local-v6, labels: { kubernetes.io/service-name: local } }
addressType: IPv6
ports: [{ port: 8080 }]
endpoints: [{ addresses: ["fd00:244:1::10"], nodeName: node1, conditions: { ready: true } }]
`;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [{ name: 'web-1', node: 'node1' }] }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml']);
  await herald.prolongHoldTimes();
  await herald.write('60-local.yaml', local);
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
