import { once } from 'node:events';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../until.ts';
import { documents, dualStackService, endpointSlices } from './objects.ts';
import { namespaceOf, nodeManifest, TwoNodes } from './two-nodes.ts';

/** node2 is the network namespace of a pod of node1 here. */
const pod = { 4: '10.72.0.2', 6: 'fd72::2' } as const;
const router = { apiVersion: 'herald.dev/v1alpha1', kind: 'BGPPeer', metadata: { name: 'tor1' } };
let lab: TwoNodes;

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
  for (const [family, gateway] of [
    ['-4', '10.72.0.1'],
    ['-6', 'fd72::1'],
  ] as const)
    await lab.exec('node2', ['ip', family, 'route', 'add', 'default', 'via', gateway]);
  await lab.exec('client', ['ip', 'route', 'add', '10.72.0.0/24', 'via', '10.71.1.1']);
  await lab.exec('client', ['ip', 'route', 'add', 'fd72::/64', 'via', 'fd71:1::1']);
  const peer = { ...router, spec: { myASN: 64_512, peerASN: 64_513, peerAddress: '10.71.1.2' } };
  const web = dualStackService('web', { 4: '10.96.0.20', 6: 'fd00:96::20' });
  await lab.write('10-web.yaml', documents(nodeManifest('node1'), peer, web, ...endpointSlices('web', pod, 'node1')));
  await lab.exec('node1', ['ip', 'link', 'set', 'cali1', 'mtu', '1300']);
  const pods = lab.spawn('node2', [process.execPath, '-e', server]);
  if (pods.stdout !== null) await once(pods.stdout, 'data');
  await lab.startAgent('node1');
});

afterAll(async () => {
  await lab?.stop();
});

/** Answers every datagram with a short one. */
const server =
  "const s = require('node:dgram').createSocket('udp6'); s.on('message', (_, from) => s.send('ok', from.port, from.address)); s.bind(9000, '::', () => console.log('up'))";

/** True when the pod gets a packet of 1,400 octets whose sender has not seen an ICMP error yet. The kernel does not let such packets be fragmented. */
async function arrives(address: string): Promise<boolean> {
  const [family, headers] = address.includes(':') ? [6, 48] : [4, 28];
  await lab.exec('client', ['ip', `-${family}`, 'route', 'flush', 'cache']);
  const client = `const s = require('node:dgram').createSocket('udp${family}'); s.on('message', () => process.exit(0));
    s.send(Buffer.alloc(${1_400 - headers}), 9000, '${address}'); setTimeout(() => process.exit(1), 1000)`;
  const { code } = await lab.exec('client', [process.execPath, '-e', client], { check: false });
  return code === 0;
}

const allArrive = async (): Promise<boolean[]> => Promise.all(Object.values(pod).map(arrives));
const reported = async (): Promise<unknown[]> => (await lab.report('node1')).host.filter(({ code }) => code === 'PodPathNarrow');

test('a pod interface with a smaller MTU than uplink and pod is reported until it is raised', async () => {
  await until('the agent reports the interface', async (note) => note(await reported()).length === 1, 30_000);
  expect(await reported()).toMatchObject([{ details: { interface: 'cali1', mtu: 1300, uplink: 'uplink', uplinkMtu: 1500, podMtu: 1500 } }]);
  expect(await allArrive()).toEqual([false, false]);
  expect(await lab.explain('shop/web')).toContain('host: packets of more than 1300 octets do not fit into cali1, the way to pods');
  await lab.exec('node1', ['ip', 'link', 'set', 'dev', 'cali1', 'mtu', '1500']);
  expect(await allArrive()).toEqual([true, true]);
  await until('the agent no longer reports it', async (note) => note(await reported()).length === 0, 120_000);
});
