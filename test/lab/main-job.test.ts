import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { onePodService } from './one-pod-service.ts';
import { bestPath, nextHops, pathFrom, untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

const nodes = ['node1', 'node2', 'node3'];
const tors = ['tor1', 'tor2'];
const families = [
  { family: 4, index: 0, client: '10.9.0.2' },
  { family: 6, index: 1, client: 'fd00:9::2' },
] as const;

let lab: Lab;
let herald: HeraldInLab;

beforeAll(async () => {
  const web = nodes.map((node, index) => ({ name: `web-${index + 1}`, node }));
  const ledger = ['node1', 'node2'].map((node, index) => ({ name: `ledger-${index + 1}`, node }));
  lab = await Lab.start(standardTopology({ pods: [...web, ...ledger] }));
  herald = await HeraldInLab.prepare(lab, examples);
  await herald.prolongHoldTimes();
  await herald.start(nodes);
});

afterAll(async () => {
  await lab?.stop();
});

async function untilRoutes(address: string, via: readonly string[]): Promise<void> {
  for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, via, address));
  if (via.length > 0) await untilSpineRoutes(lab, address);
}

describe.each(families)('externalTrafficPolicy: Local over IPv$family', ({ index, client }) => {
  let address: string;

  test('nodes with a pod announce the address, others do not, and the pods see the client', async () => {
    address = (await herald.untilAssigned('shop/ledger', 2))[index] ?? '';
    await untilRoutes(address, ['node1', 'node2']);
    const report = await lab.client.tcp({ address, port: 80, count: 60, parallel: 4 });
    expect(report.errors).toEqual({});
    expect(report.clients).toEqual([client]);
    expect(Object.keys(report.pods).toSorted()).toEqual(['ledger-1', 'ledger-2']);
  });

  test('a pod reaches the address from a node without a pod', async () => {
    const report = await lab.clientIn('web-3').tcp({ address, port: 80, count: 20 });
    expect(report.errors).toEqual({});
  });
});

test('a node with an unready pod withdraws, and one with a terminating pod is the last resort', async () => {
  const [address = ''] = await herald.untilAssigned('shop/ledger', 2);
  const set = (node: string, from: string, to: string): Promise<void> =>
    herald.edit('40-ledger.yaml', (text) =>
      text.replaceAll(`nodeName: ${node}, conditions: { ${from} }`, `nodeName: ${node}, conditions: { ${to} }`),
    );
  const [ready, notReady] = ['ready: true', 'ready: false, serving: false, terminating: false'];
  const terminating = 'ready: false, serving: true, terminating: true';
  await set('node2', ready, notReady);
  await untilRoutes(address, ['node1']);
  await set('node2', notReady, terminating);
  // The routers have the second path and do not use it.
  await lab.until('tor1 has the path to node2', async (note) => note(await pathFrom(lab, 'tor1', 'node2', address)) !== undefined);
  await untilRoutes(address, ['node1']);
  expect(await herald.explain('shop/ledger')).toMatch(
    /as a last resort: the endpoints on node "node2" terminate, and node "node1" has a ready one/,
  );
  expect(Object.keys((await lab.client.tcp({ address, port: 80, count: 20, parallel: 4 })).pods)).toEqual(['ledger-1']);
  await set('node1', ready, notReady);
  await untilRoutes(address, ['node2']);
  expect((await lab.client.tcp({ address, port: 80, count: 20, parallel: 4 })).pods).toEqual({ 'ledger-2': 20 });
  // No other node has a ready endpoint, so all that serve are equal.
  await set('node1', notReady, terminating);
  await untilRoutes(address, ['node1', 'node2']);
  expect((await lab.client.tcp({ address, port: 80, count: 40, parallel: 4 })).errors).toEqual({});
  for (const node of ['node1', 'node2']) await set(node, terminating, ready);
});

describe.each([
  ['ClusterIP', '10.96.0.10'],
  ['ClusterIP', 'fd00:96::10'],
  ['external IP', '192.0.2.10'],
  ['external IP', '2001:db8:2::10'],
])('%s %s', (_, address) => {
  test('the address is announced and reachable from outside by TCP and UDP', async () => {
    await untilRoutes(address, nodes);
    for (const protocol of ['tcp', 'udp'] as const) {
      const report = await lab.client[protocol]({ address, port: 80, count: 40, parallel: 4 });
      expect(report.errors).toEqual({});
      expect(Object.keys(report.pods)).toHaveLength(3);
    }
  });
});

test('an external IP without a policy is neither announced nor forwarded, and explain says why', async () => {
  await herald.edit('30-web.yaml', (text) => text.replace('externalIPs: [192.0.2.10, ', 'externalIPs: [192.0.2.10, 192.0.2.200, '));
  await lab.until('explain names 192.0.2.200', async (note) => note(await herald.explain('shop/web')).includes('192.0.2.200'));
  expect(await herald.explain('shop/web')).toMatch(
    /192\.0\.2\.200 \(ExternalIP\) is not announced: no ExternalIPPolicy allows namespace "shop"/,
  );
  expect(await nextHops(lab, 'tor1', '192.0.2.200')).toEqual([]);
  const { stdout } = await lab.node('node1').exec(['nft', 'list', 'table', 'ip', 'herald']);
  expect(stdout).toContain('192.0.2.10 . tcp');
  expect(stdout).not.toContain('192.0.2.200');
  await herald.edit('30-web.yaml', (text) => text.replace('192.0.2.200, ', ''));
});

test.each([
  ['tcp', '10.0.0.11'],
  ['udp', '10.0.0.12'],
  ['tcp', 'fd00::13'],
  ['udp', 'fd00::11'],
] as const)('NodePort by %s on %s reaches the pods of all nodes', async (protocol, address) => {
  const report = await lab.client[protocol]({ address, port: 30080, count: 40, parallel: 4 });
  expect(report.errors).toEqual({});
  expect(Object.keys(report.pods)).toHaveLength(3);
});

describe('the announcing nodes', () => {
  const withNode3 = (change: (line: string) => string): Promise<void> =>
    herald.edit('10-cluster.yaml', (text) =>
      text
        .split('\n---\n')
        .map((document) => (document.includes('name: node3') ? change(document) : document))
        .join('\n---\n'),
    );

  test('a node excluded from load balancers withdraws, and announces again later', async () => {
    const [address = ''] = await herald.untilAssigned('shop/web', 2);
    await untilRoutes(address, nodes);
    await withNode3((document) => document.replace('rack: b', 'rack: b, node.kubernetes.io/exclude-from-external-load-balancers: ""'));
    await untilRoutes(address, ['node1', 'node2']);
    expect(await herald.explain('shop/web')).toMatch(
      /node "node3" has the label node\.kubernetes\.io\/exclude-from-external-load-balancers/,
    );
    await withNode3((document) => document.replace(', node.kubernetes.io/exclude-from-external-load-balancers: ""', ''));
    await untilRoutes(address, nodes);
  });

  test('a node without network withdraws', async () => {
    const address = (await herald.untilAssigned('shop/web', 2))[1] ?? '';
    await withNode3((document) => document.replace('status: {', 'status: { conditions: [{ type: NetworkUnavailable, status: "True" }],'));
    await untilRoutes(address, ['node1', 'node2']);
    await withNode3((document) => document.replace(' conditions: [{ type: NetworkUnavailable, status: "True" }],', ''));
    await untilRoutes(address, nodes);
  });

  test('an advertisement selects nodes, and changed attributes do not reset the session', async () => {
    const [address = ''] = await herald.untilAssigned('shop/web', 2);
    const established = async (): Promise<string> => {
      const neighbor = await lab.router('tor1').show<Record<string, { connectionsEstablished: number }>>('show bgp neighbors json');
      return JSON.stringify(Object.entries(neighbor).map(([peer, { connectionsEstablished }]) => [peer, connectionsEstablished]));
    };
    const before = await established();
    const spec = 'communities: ["64512:100"]';
    await herald.edit('20-herald.yaml', (text) =>
      text.replace(
        spec,
        'communities: ["64512:200", "no-export", "large:64512:1:2"], med: 50, nodeSelectors: [{ matchLabels: { rack: a } }]',
      ),
    );
    for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1', 'node2'], address));
    await lab.until(
      'the router shows the new communities',
      async (note) => note(await bestPath(lab, 'tor1', address))?.communities === '64512:200 no-export',
    );
    await herald.edit('20-herald.yaml', (text) => text.replace(/communities: \["64512:200".*?\}\]/, spec));
    await untilRoutes(address, nodes);
    expect(await established()).toBe(before);
  });
});

describe('annotations of a Service on its addresses', () => {
  const annotate = (annotations: string): Promise<void> =>
    herald.edit('30-web.yaml', (text) => text.replace(/name: web,( annotations: \{[^}]*\},)?/, `name: web,${annotations}`));

  test('a drained Service keeps its addresses without routes, and packets that arrive are forwarded', async () => {
    const addresses = await herald.untilAssigned('shop/web', 2);
    await annotate(' annotations: { herald.dev/drain: "true" },');
    for (const address of [...addresses, '10.96.0.10', '192.0.2.10']) await untilRoutes(address, []);
    expect(await herald.explain('shop/web')).toMatch(/is not announced: the Service has the annotation herald\.dev\/drain/);
    expect((await herald.service('shop', 'web')).addresses).toEqual(addresses);
    for (const address of addresses) expect((await lab.clientIn('web-3').tcp({ address, port: 80, count: 20 })).errors).toEqual({});
    await annotate('');
    for (const address of addresses) await untilRoutes(address, nodes);
    expect((await lab.client.tcp({ address: addresses[0] ?? '', port: 80, count: 20 })).errors).toEqual({});
  });

  test('a Service can keep its ClusterIPs and external IPs unannounced, and other addresses stay', async () => {
    const [address = ''] = await herald.untilAssigned('shop/web', 2);
    await annotate(' annotations: { herald.dev/advertise-cluster-ip: "false" },');
    await untilRoutes('10.96.0.10', []);
    await annotate(' annotations: { herald.dev/advertise-external-ips: "false" },');
    await untilRoutes('192.0.2.10', []);
    await untilRoutes('10.96.0.10', nodes);
    await untilRoutes(address, nodes);
    expect(await herald.explain('shop/web')).toMatch(
      /192\.0\.2\.10 \(ExternalIP\) is not announced: the Service switches off announcing ExternalIP addresses/,
    );
    await annotate('');
    await untilRoutes('192.0.2.10', nodes);
  });
});

describe('requested addresses', () => {
  const pod = { address: '10.244.1.10', node: 'node1' };
  const request = (spec: string, annotations = ''): string =>
    onePodService({ name: 'extra', clusterIP: '10.96.0.80', pod, spec, annotations });

  test('spec.loadBalancerIP is honoured; when the request changes, the new route replaces the old one', async () => {
    await herald.write('80-extra.yaml', request('loadBalancerIP: 198.51.100.77'));
    expect(await herald.untilAssigned('shop/extra', 1)).toEqual(['198.51.100.77']);
    await untilRoutes('198.51.100.77', nodes);
    await herald.write('80-extra.yaml', request('allocateLoadBalancerNodePorts: false', 'herald.dev/load-balancer-ips: 198.51.100.78'));
    await untilRoutes('198.51.100.78', nodes);
    await untilRoutes('198.51.100.77', []);
    expect((await lab.client.tcp({ address: '198.51.100.78', port: 80, count: 5 })).errors).toEqual({});
  });

  test('a request that cannot be met leaves the Service its address, and the condition says why', async () => {
    await herald.write('80-extra.yaml', request('loadBalancerIP: 198.18.0.1'));
    const condition = await herald.untilCondition('shop/extra', 'AddressAssigned', 'False');
    expect(condition.reason).toBe('AddressNotInPools');
    expect((await herald.service('shop', 'extra')).addresses).toEqual(['198.51.100.78']);
    expect((await lab.client.tcp({ address: '198.51.100.78', port: 80, count: 5 })).errors).toEqual({});
    await herald.remove('80-extra.yaml');
    await untilRoutes('198.51.100.78', []);
  });
});

test('an aggregate replaces the addresses inside, and an unowned address in it makes no loop', async () => {
  await herald.write(
    '90-aggregate.yaml',
    `apiVersion: herald.dev/v1alpha1
kind: IPAddressPool
metadata: { name: block }
spec: { addresses: [203.0.113.16/28], autoAssign: false }
---
apiVersion: herald.dev/v1alpha1
kind: BGPAdvertisement
metadata: { name: block }
spec: { ipAddressPools: [block], aggregationLength: 28 }
---
${onePodService({
  name: 'blocked',
  clusterIP: '10.96.0.90',
  pod: { address: '10.244.2.10', node: 'node2' },
  annotations: 'herald.dev/address-pool: block',
})}`,
  );
  await herald.edit('20-herald.yaml', (text) =>
    text.replace('addressTypes: [LoadBalancer, ExternalIP]', 'addressTypes: [LoadBalancer, ExternalIP], ipAddressPools: [public, tiny]'),
  );
  const [address = ''] = await herald.untilAssigned('shop/blocked', 1);
  for (const tor of tors) await untilNextHops(lab, tor, '203.0.113.16/28', viaNodes(tor, nodes, address));
  expect(await nextHops(lab, 'tor1', address)).toEqual([]);
  await lab.until('the spine has the aggregate', async (note) => note(await nextHops(lab, 'spine', '203.0.113.16/28')).length === 2);
  expect((await lab.client.tcp({ address, port: 80, count: 10 })).errors).toEqual({});
  const unowned = await lab.client.tcp({ address: '203.0.113.30', port: 80 });
  expect(Object.keys(unowned.errors)).toEqual(['ECONNREFUSED']);
  expect((await lab.clientIn('node1').tcp({ address, port: 80, count: 5 })).errors).toEqual({});
  await herald.remove('90-aggregate.yaml');
  for (const tor of tors) await untilNextHops(lab, tor, '203.0.113.16/28', []);
  await lab.until('no unreachable route is left', async (note) => {
    const { stdout } = await lab.node('node1').exec(['ip', 'route', 'show', 'table', 'all', 'type', 'unreachable']);
    return note(stdout) === '';
  });
});

test('no connection fails while pods come and go', async () => {
  const addresses = await herald.untilAssigned('shop/web', 2);
  const probes = addresses.map((address) => lab.client.probe({ protocol: 'tcp', address, port: 80, intervalMs: 5, timeoutMs: 10_000 }));
  for (let round = 0; round < 6; round++) {
    const [from, to] = round % 2 === 0 ? ['true', 'false'] : ['false', 'true'];
    await herald.edit('30-web.yaml', (text) =>
      text.replaceAll(`nodeName: node3, conditions: { ready: ${from} }`, `nodeName: node3, conditions: { ready: ${to} }`),
    );
    const [done, needed] = [probes.map(({ outcomes }) => outcomes.length), 40];
    await lab.until('forty more requests have ended', () =>
      probes.every(({ outcomes }, index) => outcomes.length > (done[index] ?? 0) + needed),
    );
  }
  for (const probe of probes) expect((await probe.stop()).errors).toEqual({});
});
