import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LiveCheck, Page } from '../../../src/live/contract.ts';
import { requestLocal } from '../../../src/system/http/local-socket.ts';
import { until } from '../until.ts';
import { documents, dualStackService, heraldConfig, type Manifest } from './objects.ts';
import { namespaceOf, nodeManifest, TwoNodes, type Report } from './two-nodes.ts';

/** The pod is in the namespace of node2 here, behind node1. It has one endpoint for each Service, at another port. */
const pod = { 4: '10.72.0.2', 6: 'fd72::2' } as const;
const services = [
  { name: 'sound', port: 8080, clusterIPs: { 4: '10.96.0.40', 6: 'fd00:96::40' } },
  { name: 'loopback', port: 8081, clusterIPs: { 4: '10.96.0.41', 6: 'fd00:96::41' } },
  { name: 'silent', port: 8082, clusterIPs: { 4: '10.96.0.42', 6: 'fd00:96::42' } },
  { name: 'dropped', port: 8083, clusterIPs: { 4: '10.96.0.43', 6: 'fd00:96::43' } },
  { name: 'rejected', port: 8084, clusterIPs: { 4: '10.96.0.44', 6: 'fd00:96::44' } },
] as const;
const families = [4, 6] as const;
let lab: TwoNodes;

/** A program that listens on all addresses, and on the loopback addresses only. Filters of its own node and of the other one are before some. */
const program = `const net = require('node:net');
const listen = (port, host) => new Promise((done) => net.createServer((socket) => socket.end()).on('error', done).listen({ port, host }, done));
Promise.all([listen(8080, '::'), listen(8081, '127.0.0.1'), listen(8081, '::1'), listen(8082, '::'), listen(8083, '::'), listen(8084, '::')]).then(() => console.log('up'));`;

const slices = (name: string, port: number): Manifest[] =>
  families.map((family) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name: `${name}-v${family}`, labels: { 'kubernetes.io/service-name': name } },
    addressType: `IPv${family}`,
    ports: [{ name: 'http', port }],
    endpoints: [{ addresses: [pod[family]], nodeName: 'node1', conditions: { ready: true } }],
  }));

beforeAll(async () => {
  lab = await TwoNodes.build();
  await lab.exec('node1', ['ip', 'link', 'add', 'cali1', 'type', 'veth', 'peer', 'name', 'eth0']);
  await lab.exec('node1', ['ip', 'link', 'set', 'eth0', 'netns', namespaceOf('node2')]);
  for (const [place, device, host] of [
    ['node1', 'cali1', 1],
    ['node2', 'eth0', 2],
  ] as const) {
    await lab.exec(place, ['ip', 'link', 'set', device, 'up']);
    await lab.exec(place, ['ip', 'addr', 'add', `10.72.0.${host}/24`, 'dev', device]);
    await lab.exec(place, ['ip', 'addr', 'add', `fd72::${host}/64`, 'dev', device, 'nodad']);
  }
  await lab.exec('node2', ['ip', 'route', 'add', 'default', 'via', '10.72.0.1']);
  await lab.exec('node2', ['ip', 'route', 'add', 'default', 'via', 'fd72::1']);
  await lab.exec('client', ['ip', 'route', 'add', '10.96.0.0/16', 'via', '10.71.1.1']);
  await lab.exec('client', ['ip', 'route', 'add', 'fd00:96::/112', 'via', 'fd71:1::1']);
  const drops = 'table inet t { chain i { type filter hook input priority 0; tcp dport 8082 drop; }; }';
  await lab.exec('node2', ['nft', '-f', '-'], { input: drops });
  await lab.exec('node1', ['nft', '-f', '-'], {
    input: `table inet t { chain f { type filter hook forward priority 0; tcp dport 8083 drop; tcp dport 8084 reject; }; }`,
  });
  const running = lab.spawn('node2', [process.execPath, '-e', program]);
  if (running.stdout !== null) await once(running.stdout, 'data');
  const objects = services.flatMap(({ name, port, clusterIPs }) => [dualStackService(name, clusterIPs), ...slices(name, port)]);
  await lab.write('10-objects.yaml', documents(nodeManifest('node1'), ...objects));
  await lab.startAgent('node1', { options: ['--socket', socket()] });
});

afterAll(async () => {
  await lab?.stop();
});

const socket = (): string => join(lab.directory, 'node1.sock');

/** Opens connections from the client to every Service, over both families. */
async function connect(count: number): Promise<void> {
  const targets = services.flatMap(({ clusterIPs }) => families.map((family) => clusterIPs[family]));
  const client = `const net = require('node:net');
    for (const host of ${JSON.stringify(targets)}) for (let i = 0; i < ${count}; i++) net.connect({ port: 80, host }).on('error', () => {}).resume();
    setTimeout(() => process.exit(), 1500);`;
  await lab.exec('client', [process.execPath, '-e', client]);
}

const untilReport = <T>(what: string, read: (report: Report) => T | undefined): Promise<T> =>
  until(what, async (note) => read(note(await lab.report('node1'))), 60_000);

const failing = ({ checks }: Report): string[] =>
  (checks?.failing ?? []).map(
    ({ service, family, port, areAll, reason }) =>
      `${service} ${family} ${port} ${areAll} ${reason.code} ${String(reason.details['endpoints'])}`,
  );

describe('the agent of the node that clients enter', () => {
  test('reports that it looks, and nothing of connections that nobody opened', async () => {
    expect(await untilReport('there are checks', ({ checks }) => checks)).toEqual({ mode: 'passive', answered: [], failing: [] });
  });

  test('reports answered frontends, and endpoints that refuse, are silent, or are behind its own filter, over IPv4 and IPv6', async () => {
    const found = await until('all is reported', async (note) => {
      await connect(2);
      const report = note(await lab.report('node1'));
      return failing(report).length === 8 ? report : undefined;
    });
    expect(failing(found)).toEqual([
      'shop/dropped IPv4 80/TCP true EndpointDropped 10.72.0.2:8083',
      'shop/dropped IPv6 80/TCP true EndpointDropped [fd72::2]:8083',
      'shop/loopback IPv4 80/TCP true EndpointRefuses 10.72.0.2:8081',
      'shop/loopback IPv6 80/TCP true EndpointRefuses [fd72::2]:8081',
      'shop/rejected IPv4 80/TCP true EndpointDropped 10.72.0.2:8084',
      'shop/rejected IPv6 80/TCP true EndpointDropped [fd72::2]:8084',
      'shop/silent IPv4 80/TCP true EndpointSilent 10.72.0.2:8082',
      'shop/silent IPv6 80/TCP true EndpointSilent [fd72::2]:8082',
    ]);
    await untilReport('both families are answered', ({ checks }) => checks?.answered.length === 2 || undefined);
    expect((await lab.report('node1')).checks?.answered).toEqual(['10.96.0.40 TCP 80', 'fd00:96::40 TCP 80']);
  });

  test('shows the times in its live API', async () => {
    const { status, chunks } = await requestLocal(socket(), '/live/v1/checks?service=shop%2Floopback', new AbortController().signal);
    expect(status).toBe(200);
    const { items } = JSON.parse(await text(chunks)) as Page<LiveCheck>;
    expect(items.map(({ frontend, service }) => `${service} ${frontend}`)).toEqual([
      'shop/loopback 10.96.0.41 TCP 80',
      'shop/loopback fd00:96::41 TCP 80',
    ]);
    expect(items[0]?.endpoints).toEqual([{ endpoint: '10.72.0.2:8081', refused: expect.stringMatching(/^\d{4}-/) }]);
  });

  test('withdraws its words when connections are answered again', async () => {
    for (const node of ['node1', 'node2'] as const) await lab.exec(node, ['nft', 'delete', 'table', 'inet', 't']);
    await connect(1);
    const left = await untilReport('the other endpoints answer', (report) => (failing(report).length === 2 ? failing(report) : undefined));
    expect(left.every((one) => one.startsWith('shop/loopback '))).toBe(true);
  });

  test('says nothing while HeraldConfig switches it off', async () => {
    await lab.write('20-config.yaml', documents(heraldConfig({ checks: 'off' })));
    expect(await untilReport('it is off', ({ checks }) => (checks?.mode === 'off' ? checks : undefined))).toEqual({
      mode: 'off',
      answered: [],
      failing: [],
    });
  });
});
