import { once } from 'node:events';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../until.ts';
import { documents, dualStackService, endpointSlices, type Manifest } from './objects.ts';
import { namespaceOf, nodeManifest, TwoNodes, type Report } from './two-nodes.ts';

/** The pod is in the namespace of node2 here, behind node1, which reaches clients by its default route. */
const pod = { 4: '10.72.0.2', 6: 'fd72::2' } as const;
const clusterIPs = { 4: '10.96.0.40', 6: 'fd00:96::40' } as const;
/** A network of clients behind the router, and an address in it. */
const clients = { 4: { network: '10.9.0.0/24', address: '10.9.0.66' }, 6: { network: 'fd09::/64', address: 'fd09::66' } } as const;
const families = [4, 6] as const;
let lab: TwoNodes;

const peer: Manifest = {
  apiVersion: 'herald.dev/v1alpha1',
  kind: 'BGPPeer',
  metadata: { name: 'router' },
  spec: { myASN: 64_512, peerASN: 64_513, peerAddress: '10.71.1.2' },
};

beforeAll(async () => {
  lab = await TwoNodes.build();
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
  await lab.startAgent('node1');
});

afterAll(async () => {
  await lab?.stop();
});

/** Opens connections from the clients' network over both families. */
async function connect(count = 3): Promise<void> {
  const targets = families.map((family) => ({ host: clusterIPs[family], localAddress: clients[family].address }));
  const program = `const net = require('node:net');
    for (const target of ${JSON.stringify(targets)}) for (let i = 0; i < ${count}; i++) net.connect({ port: 80, ...target }).on('error', () => {}).resume();
    setTimeout(() => process.exit(), 1500);`;
  await lab.exec('client', [process.execPath, '-e', program]);
}

/** Sends first packets of connections from addresses of a network that completes none, as a flood does. */
async function flood(): Promise<void> {
  const program = `const net = require('node:net');
    for (let i = 1; i < 60; i++) net.connect({ port: 80, host: '${clusterIPs[4]}', localAddress: '10.8.0.' + i }).on('error', () => {});
    setTimeout(() => process.exit(), 1500);`;
  await lab.exec('client', [process.execPath, '-e', program]);
}

const elsewhere = (name: string) => families.map((family) => ({ clients: clients[family].network, interface: name, uplinks: 'uplink' }));

const failing = ({ checks }: Report): unknown[] =>
  (checks?.failing ?? []).map(({ family, areAll, reason }) => [family, areAll, reason.code, reason.details]);

/** Lets clients connect until the report is as wanted. */
const untilFailing = (what: string, isWanted: (found: unknown[]) => boolean, send = connect): Promise<unknown[]> =>
  until(
    what,
    async (note) => {
      await send();
      const found = failing(note(await lab.report('node1')));
      return isWanted(found) ? found : undefined;
    },
    90_000,
  );

describe('the agent of a node', () => {
  test('says that clients are answered while the default route leads back to them', async () => {
    await until('both families are answered', async (note) => {
      await connect();
      return note(await lab.report('node1')).checks?.answered.length === 2;
    });
    expect(failing(await lab.report('node1'))).toEqual([]);
  });

  test.each(
    [
      {
        mistake: 'a bridge whose network covers the clients',
        make: [
          'link add docker0 type bridge',
          'link add port0 type veth peer name port1',
          'link set port0 master docker0 up',
          'link set port1 up',
          'link set docker0 up',
          'addr add 10.9.0.1/24 dev docker0',
          'addr add fd09::1/64 dev docker0 nodad',
        ],
        mend: ['link del docker0', 'link del port0'],
        details: elsewhere('docker0'),
      },
      {
        mistake: 'an unreachable route',
        make: families.map((family) => `route add unreachable ${clients[family].network}`),
        mend: families.map((family) => `route del unreachable ${clients[family].network}`),
        details: families.map((family) => ({ route: `route unreachable ${clients[family].network}` })),
      },
      {
        mistake: 'a route by another gateway',
        isFull: true,
        make: ['route add 10.9.0.0/24 via 10.72.0.2', 'route add fd09::/64 via fd72::2'],
        mend: ['route del 10.9.0.0/24', 'route del fd09::/64'],
        details: elsewhere('cali1'),
      },
    ].filter(({ isFull }) => isFull !== true || process.env['TIER'] === 'full'),
  )('names $mistake, and takes it back when it is mended', async ({ make, mend, details }) => {
    for (const line of make) await lab.exec('node1', ['ip', ...line.split(' ')]);
    const found = await untilFailing(
      'both families fail',
      (seen) => seen.length === 2 && JSON.stringify(seen).match(/EndpointAnswersLost/g)?.length === 2,
    );
    expect(found).toEqual(
      families.map((family, at) => [
        `IPv${family}`,
        true,
        'EndpointAnswersLost',
        { node: 'node1', endpoints: family === 4 ? '10.72.0.2:8080' : '[fd72::2]:8080', ...details[at] },
      ]),
    );
    for (const line of mend) await lab.exec('node1', ['ip', ...line.split(' ')]);
    await untilFailing('both are answered', (seen) => seen.length === 0);
  });

  test('claims no loss when forged clients do not complete connections', async () => {
    await lab.exec('client', ['ip', 'route', 'add', 'local', '10.8.0.0/24', 'dev', 'lo']);
    const drops = 'table ip drops { chain i { type filter hook input priority 0; ip daddr 10.8.0.0/24 drop; }; }';
    await lab.exec('client', ['nft', '-f', '-'], { input: drops });
    const found = await untilFailing('the flood is seen', (seen) => seen.length > 0, flood);
    expect(found).toEqual([['IPv4', false, 'ClientsDoNotComplete', { node: 'node1', endpoints: '10.72.0.2:8080' }]]);
  });
});
