import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inNamespace } from '../namespace.ts';
import { run } from '../command.ts';
import { until } from '../until.ts';
import { namespaceOf, TwoNodes } from './two-nodes.ts';

/** The endpoint is on a node without an agent, and policy Local still lets the node itself use every endpoint. */
const web = (policy: 'Cluster' | 'Local', nodePort: number, ready: boolean): string => `apiVersion: v1
kind: Node
metadata: { name: node1 }
status: { addresses: [{ type: InternalIP, address: 10.71.1.1 }, { type: InternalIP, address: "fd71:1::1" }] }
---
apiVersion: v1
kind: Service
metadata: { namespace: shop, name: web }
spec:
  type: NodePort
  externalTrafficPolicy: ${policy}
  ipFamilyPolicy: RequireDualStack
  ipFamilies: [IPv4, IPv6]
  clusterIPs: [10.96.0.20, "fd00:96::20"]
  ports: [{ name: http, port: 80, targetPort: 8080, nodePort: ${nodePort} }]
${[
  ['v4', 'IPv4', '10.71.1.2'],
  ['v6', 'IPv6', '"fd71:1::2"'],
]
  .map(
    ([name, type, address]) => `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: web-${name}, labels: { kubernetes.io/service-name: web } }
addressType: ${type}
ports: [{ name: http, port: 8080 }]
endpoints: [{ addresses: [${address}], nodeName: elsewhere, conditions: { ready: ${ready} } }]
`,
  )
  .join('')}`;
const config = (localhostNodePorts: boolean): string =>
  `apiVersion: herald.dev/v1alpha1\nkind: HeraldConfig\nmetadata: { name: default }\nspec: { localhostNodePorts: ${localhostNodePorts} }\n`;

let lab: TwoNodes;

beforeAll(async () => {
  lab = await TwoNodes.build();
  await lab.write('05-config.yaml', config(true));
  await lab.write('10-web.yaml', web('Cluster', 30_080, true));
  const server = lab.spawn('client', [
    process.execPath,
    '-e',
    `require('node:http').createServer((q, r) => r.end('web sees ' + q.socket.remoteAddress)).listen(8080, '::', () => console.log('up'))`,
  ]);
  if (server.stdout !== null) await once(server.stdout, 'data');
  await lab.startAgent('node1');
});

afterAll(async () => {
  await lab?.stop();
});

/** Returns the answers that a program on the node gets over IPv4 and IPv6, or the code of its error. */
async function ask(port: number): Promise<string[]> {
  const script = `for (const host of ['127.0.0.1', '[::1]'])
    console.log(await fetch('http://' + host + ':${port}/', { signal: AbortSignal.timeout(10000) }).then((r) => r.text(), (error) => error.cause?.code ?? error.name));
    process.exit(0);`;
  const { stdout } = await run(inNamespace(namespaceOf('node1'), [process.execPath, '--input-type=module', '-e', script]));
  return stdout.trim().split('\n');
}

const untilAnswers = (port: number, answers: readonly string[]): Promise<unknown> =>
  until(`${port} answers ${answers.join()}`, async (note) => note((await ask(port)).join()) === answers.join());
const good = ['web sees ::ffff:10.71.1.1', 'web sees fd71:1::1'];

test('a NodePort answers on 127.0.0.1 and ::1 if HeraldConfig enables it, whatever the policy', async () => {
  await untilAnswers(30_080, good);
  await lab.write('10-web.yaml', web('Local', 30_080, true));
  await untilAnswers(30_080, good);
  await lab.write('05-config.yaml', config(false));
  await untilAnswers(30_080, ['ECONNREFUSED', 'ECONNREFUSED']);
  await lab.write('05-config.yaml', config(true));
  await untilAnswers(30_080, good);
});

test('a connection is reset without an endpoint, and a changed NodePort moves', async () => {
  await lab.write('10-web.yaml', web('Cluster', 30_081, true));
  await untilAnswers(30_081, good);
  expect(await ask(30_080)).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
  await lab.write('10-web.yaml', web('Cluster', 30_081, false));
  await untilAnswers(30_081, ['ECONNRESET', 'ECONNRESET']);
});

test('the port listens on loopback only, and an occupied port is reported', async () => {
  await lab.write('10-web.yaml', web('Cluster', 30_082, true));
  await untilAnswers(30_082, good);
  const { stdout } = await lab.exec('node1', ['ss', '-Hltn', 'sport = :30082']);
  expect(
    stdout
      .split('\n')
      .flatMap((line) => line.split(/\s+/)[3] ?? [])
      .toSorted(),
  ).toEqual(['127.0.0.1:30082', '[::1]:30082']);
  const holder = lab.spawn('node1', [
    process.execPath,
    '-e',
    `require('node:net').createServer().listen({ port: 30083, host: '127.0.0.1' }, () => console.log('up'))`,
  ]);
  if (holder.stdout !== null) await once(holder.stdout, 'data');
  await lab.write('10-web.yaml', web('Cluster', 30_083, true));
  await until('::1 is served', async (note) => note(await ask(30_083))[1] === good[1]);
  await until('the node reports the occupied port', async (note) =>
    note((await lab.report('node1')).host).some(({ code }) => code === 'LocalhostNodePortNotServed'),
  );
  holder.kill('SIGKILL');
  await untilAnswers(30_083, good);
});
