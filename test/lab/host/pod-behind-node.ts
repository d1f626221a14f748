import { once } from 'node:events';
import process from 'node:process';
import { documents, dualStackService, endpointSlices, type Manifest } from './objects.ts';
import { namespaceOf, nodeManifest, TwoNodes } from './two-nodes.ts';

/** The addresses of a pod in the namespace of node2, behind interface cali1 of node1. It listens on port 8080. */
export const pod = { 4: '10.72.0.2', 6: 'fd72::2' } as const;
export const clusterIPs = { 4: '10.96.0.40', 6: 'fd00:96::40' } as const;
/** A network of clients behind the router, and an address in it. */
export const clients = { 4: { network: '10.9.0.0/24', address: '10.9.0.66' }, 6: { network: 'fd09::/64', address: 'fd09::66' } } as const;
export const families = [4, 6] as const;
/** The endpoint of the Service, as sentences name it. */
export const endpoints = { 4: `${pod[4]}:8080`, 6: `[${pod[6]}]:8080` } as const;

const peer: Manifest = {
  apiVersion: 'herald.dev/v1alpha1',
  kind: 'BGPPeer',
  metadata: { name: 'router' },
  spec: { myASN: 64_512, peerASN: 64_513, peerAddress: '10.71.1.2' },
};

/** Builds the nodes with Service shop/web, whose only pod is behind node1. node1 reaches clients by its default route. No agent runs yet. */
export async function podBehindNode(): Promise<TwoNodes> {
  const lab = await TwoNodes.build();
  const ip = (place: 'client' | 'node1' | 'node2', ...lines: string[]) =>
    Promise.all(lines.map((line) => lab.exec(place, ['ip', ...line.split(' ')])));
  await ip('node1', `link add cali1 type veth peer name eth0 netns ${namespaceOf('node2')}`);
  await ip('node1', 'addr add 10.72.0.1/24 dev cali1', 'addr add fd72::1/64 dev cali1 nodad', 'link set cali1 up');
  await ip('node2', 'addr add 10.72.0.2/24 dev eth0', 'addr add fd72::2/64 dev eth0 nodad', 'link set eth0 up');
  await ip('node2', 'route add default via 10.72.0.1', 'route add default via fd72::1');
  await ip('node1', 'route add default via 10.71.1.2', 'route add default via fd71:1::2');
  await ip('client', 'route add 10.96.0.0/16 via 10.71.1.1', 'route add fd00:96::/112 via fd71:1::1');
  await ip('client', ...families.map((family) => `addr add ${clients[family].address}/${family === 4 ? 32 : 128} dev lo`));
  const program = `require('node:net').createServer((socket) => socket.end()).listen(8080, '::', () => console.log('up'))`;
  const running = lab.spawn('node2', [process.execPath, '-e', program]);
  if (running.stdout !== null) await once(running.stdout, 'data');
  await lab.write(
    '10-objects.yaml',
    documents(nodeManifest('node1'), peer, dualStackService('web', clusterIPs), ...endpointSlices('web', pod, 'node1')),
  );
  return lab;
}

/** Opens connections from the clients' network over both families, and returns the number that were established of each. */
export async function connect(lab: TwoNodes, count = 3): Promise<Readonly<Record<4 | 6, number>>> {
  const targets = families.map((family) => ({ host: clusterIPs[family], localAddress: clients[family].address }));
  const program = `const net = require('node:net');
    const made = { 4: 0, 6: 0 };
    for (const target of ${JSON.stringify(targets)}) for (let i = 0; i < ${count}; i++)
      net.connect({ port: 80, ...target }, () => made[net.isIP(target.host)]++).on('error', () => {}).resume();
    setTimeout(() => (console.log(JSON.stringify(made)), process.exit()), 1500);`;
  const { stdout } = await lab.exec('client', [process.execPath, '-e', program]);
  return JSON.parse(stdout) as Record<4 | 6, number>;
}
