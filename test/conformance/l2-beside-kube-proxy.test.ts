import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FixtureApiServer } from '../kube-fixture/api-server.ts';
import { startKubeProxy, type KubeProxy } from '../kube-fixture/kube-proxy.ts';
import type { ApiObject } from '../kube-fixture/object.ts';
import { documents, heraldConfig, type Manifest } from '../lab/host/objects.ts';
import { AgentsOnSegment, vip, vip6 } from '../lab/l2-agents/agents-on-segment.ts';
import { announcementManifests, nodeManifest, nodeName, serviceManifests } from '../lab/l2-agents/manifests.ts';
import { until } from '../lab/until.ts';

/**
 * Two nodes that announce addresses by ARP and NDP, each with a real kube-proxy. Herald and kube-proxy get different pods: an answer of pod0
 * comes through Herald, one of pod1 through kube-proxy.
 */
const nodes = [0, 1];
const addresses = [vip, vip6];
const nodePorts = [30_002, 30_003];
const servers: FixtureApiServer[] = [];
const proxies: KubeProxy[] = [];
let lab: AgentsOnSegment;

/** The Service with the pod of a node, complete as from an API server. */
function serviceWith(pod: number): Manifest[] {
  const policies = { internalTrafficPolicy: 'Cluster', externalTrafficPolicy: 'Cluster', sessionAffinity: 'None' };
  const status = { loadBalancer: { ingress: addresses.map((address) => ({ ip: address, ipMode: 'VIP' })) } };
  return serviceManifests({ pods: [pod], spec: { clusterIP: '10.96.0.1', ...policies } }).map((one) =>
    one['kind'] === 'Service' ? { ...one, status } : one,
  );
}

const settings = (services: string): string =>
  documents(heraldConfig({ ...lab.config, services, masqueradeBit: 13 }), ...nodes.map((at) => nodeManifest(at)));

beforeAll(async () => {
  lab = await AgentsOnSegment.build({ nodes: nodes.length, manifests: [...announcementManifests(), ...serviceWith(0)], idle: true });
  await lab.write('10-nodes.yaml', settings('external'));
  for (const at of nodes) {
    const namespace = lab.segment.host(at);
    const server = await FixtureApiServer.start(namespace);
    servers.push(server);
    server.put(...([...nodes.map((node) => nodeManifest(node)), ...serviceWith(1)] as unknown as ApiObject[]));
    const config = { detectLocalMode: 'ClusterCIDR', clusterCIDR: '10.244.0.0/16,fd44::/16' };
    proxies.push(startKubeProxy({ namespace, apiServer: server.url, nodeName: nodeName(at), config }));
  }
  await until('kube-proxy has rules on both nodes', (note) =>
    note(nodes.map((at) => lab.segment.run(at, 'nft', 'list', 'ruleset'))).every((rules) =>
      [vip, vip6].every((one) => rules.includes(one)),
    ),
  );
  lab.startController();
  await Promise.all(nodes.map((at) => lab.startAgent(at)));
  await lab.watch.ask(addresses, 25);
});

afterAll(async () => {
  for (const proxy of proxies) await proxy.stop('SIGKILL');
  for (const server of servers) await server.stop();
  await lab?.close();
});

/** Waits until the client gets every answer from this pod, over both protocols and families. */
async function untilAnswers(pod: string): Promise<void> {
  for (const address of addresses) {
    for (const protocol of ['tcp', 'udp'] as const)
      await until(`${address} is answered by ${pod} over ${protocol}`, async (note) => {
        const { pods, failed } = await lab.client[protocol]({ address, port: 80, count: 10, timeoutMs: 3_000 });
        return note({ pods, failed }).failed === 0 && Object.keys(pods).join() === pod;
      });
  }
}

async function failOver(): Promise<void> {
  const [owner = 0] = await lab.untilOwned();
  await lab.kill(owner);
  await lab.untilOwner(1 - owner);
}

describe.each([
  { services: 'external', pod: 'pod0' },
  { services: 'none', pod: 'pod1' },
] as const)('services: $services', ({ services, pod }) => {
  beforeAll(async () => {
    await lab.write('10-nodes.yaml', settings(services));
  });

  test('Herald announces an address by ARP and NDP, and forwards it if in its scope, else kube-proxy does', async () => {
    await lab.untilOwned();
    await untilAnswers(pod);
    expect(await lab.condition('web', 'Announced')).toMatchObject({ status: 'True' });
  });

  test('Herald has rules for addresses and NodePorts in its scope, and none for ClusterIPs', () => {
    for (const at of nodes) {
      const rules = lab.segment.run(at, 'nft', 'list', 'table', 'ip', 'herald');
      expect(rules).not.toContain('10.96.0.1');
      expect(rules.includes(vip)).toBe(services === 'external');
      for (const port of nodePorts) expect(rules.includes(`${port}`)).toBe(services === 'external');
    }
  });

  test('the other node takes over, and the same program forwards there', async () => {
    const [owner = 0] = await lab.untilOwned();
    await failOver();
    await untilAnswers(pod);
    await lab.startAgent(owner);
  });
});
