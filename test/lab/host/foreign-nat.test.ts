import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../until.ts';
import { TwoNodes } from './two-nodes.ts';

/** The client itself is the backend: its requests go to the node, are translated there, and come back to it. */
const manifests = `apiVersion: herald.dev/v1alpha1
kind: HeraldConfig
metadata: { name: default }
spec: { masqueradeAll: true }
---
apiVersion: v1
kind: Node
metadata: { name: node1 }
status: { addresses: [{ type: InternalIP, address: 10.71.1.1 }, { type: InternalIP, address: "fd71:1::1" }] }
---
apiVersion: v1
kind: Service
metadata: { namespace: shop, name: web }
spec:
  ipFamilyPolicy: RequireDualStack
  ipFamilies: [IPv4, IPv6]
  clusterIPs: [10.96.0.20, "fd00:96::20"]
  ports: [{ name: http, port: 80, targetPort: 8080 }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: web-v4, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ name: http, port: 8080 }]
endpoints: [{ addresses: [10.71.1.2], nodeName: elsewhere, conditions: { ready: true } }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: web-v6, labels: { kubernetes.io/service-name: web } }
addressType: IPv6
ports: [{ name: http, port: 8080 }]
endpoints: [{ addresses: ["fd71:1::2"], nodeName: elsewhere, conditions: { ready: true } }]
`;
let lab: TwoNodes;

beforeAll(async () => {
  lab = await TwoNodes.build();
  await lab.write('10-all.yaml', manifests);
  await lab.exec('client', ['ip', 'route', 'add', '10.96.0.20/32', 'via', '10.71.1.1']);
  await lab.exec('client', ['ip', 'route', 'add', 'fd00:96::20/128', 'via', 'fd71:1::1']);
  const server = lab.spawn('client', [
    process.execPath,
    '-e',
    `const { createServer } = require('node:http');
     createServer((_, r) => r.end('web')).listen(8080, '::', () => createServer((_, r) => r.end('other')).listen(9090, '::', () => console.log('up')))`,
  ]);
  if (server.stdout !== null) await once(server.stdout, 'data');
  await lab.startAgent('node1');
});

afterAll(async () => {
  await lab?.stop();
});

const untilAnswers = (url: string, body: string): Promise<unknown> =>
  until(`${url} answers ${body}`, async (note) => note(await lab.get(url))?.body === body);

/** The other program's rule masquerades too, so that its answers find the way back. */
const table = (family: 'ip' | 'ip6', priority: number, rule: string): string => `table ${family} other {
  chain early { type nat hook prerouting priority ${priority}; policy accept; ${rule}; }
  chain late { type nat hook postrouting priority 90; policy accept; masquerade; }
}`;

test.each([
  ['ip', 'http://10.96.0.20/', 'ip daddr 10.96.0.20 tcp dport 80 dnat to 10.71.1.2:9090', 'tcp dport 81 dnat to 10.71.1.2:9090'],
  ['ip6', 'http://[fd00:96::20]/', 'ip6 daddr fd00:96::20 tcp dport 80 dnat to [fd71:1::2]:9090', 'tcp dport 81 dnat to [fd71:1::2]:9090'],
] as const)("another program's %s translation before Herald's takes the requests and is reported", async (family, url, rule, harmless) => {
  await untilAnswers(url, 'web');
  await lab.exec('node1', ['nft', table(family, -150, rule)]);
  await untilAnswers(url, 'other');
  await until('the report names chain and rule', async (note) => {
    const [difference] = note((await lab.report('node1')).differing);
    return difference?.aspect === 'Programmed' && difference.reason.code === 'ForeignNat';
  });
  const explanation = await lab.explain('shop/web');
  expect(explanation).toContain(`chain early of table ${family} other`);
  expect(explanation).toMatch(/daddr \S+ tcp dport 80 dnat/);

  // The same rule after Herald's has no effect, and a rule for another port does not concern the Service.
  await lab.exec('node1', ['nft', 'delete', 'table', family, 'other']);
  await lab.exec('node1', ['nft', table(family, -100, rule)]);
  await untilAnswers(url, 'web');
  await until('the report has no difference', async (note) => note((await lab.report('node1')).differing).length === 0);
  await lab.exec('node1', ['nft', 'delete', 'table', family, 'other']);
  await lab.exec('node1', ['nft', table(family, -150, harmless)]);
  await untilAnswers(url, 'web');
  await lab.exec('node1', ['nft', 'delete', 'table', family, 'other']);
});
