import process from 'node:process';
import type { Scene } from '../misconfiguration.ts';
import { clientPlan, tors } from '../../address-plan.ts';
import { poolAddresses, type Place } from '../place.ts';
import { podAt, serviceTo, targetsOf, type TruthCase } from './truth-case.ts';

/** A network of clients behind the client of the lab, with an address that connects. */
const clients = [
  { network: '10.10.9.0/24', address: '10.10.9.66', bridge: '10.10.9.1/24' },
  { network: 'fd00:10:9::/64', address: 'fd00:10:9::66', bridge: 'fd00:10:9::1/64' },
] as const;
const one = podAt('node1');
const causes = targetsOf(one).map((target, family) => {
  const network = clients[family]?.network;
  return `answers of ${target} do not reach clients in ${network}: the route ${network} of the node leads out by docker0, and clients come by tor1 and tor2 (seen on node1 and node2)`;
});

/** Mistakes in the routes of nodes to clients. */
export const wayBackTruths: readonly TruthCase[] = [
  {
    name: 'bridge-covers-clients',
    mistake: "A bridge of the nodes, as of Docker, has the clients' network.",
    code: 'EndpointAnswersLost',
    verdict: `Not served to clients in 10.10.9.0/24 and fd00:10:9::/64: ${causes.join('; ')}. On node "node1", remove the route, or give docker0 another network (of a bridge of Docker: bip in /etc/docker/daemon.json): ip route show 10.10.9.0/24 shows it.`,
    before: (place) => serviceTo(place, [one]),
    prepare: prepareClients,
    connect: async (scene, place) => void (await answers(scene, place)),
    answers,
    act: async ({ lab }) => {
      for (const node of ['node1', 'node2']) {
        const port = ['link add dport type veth peer name dport2', 'link set dport2 up', 'link set dport master docker0 up'];
        await lab.node(node).ip('link add docker0 type bridge', ...port, 'link set docker0 up');
        await lab.node(node).ip(...clients.map(({ bridge }) => `addr add ${bridge} dev docker0${bridge.includes(':') ? ' nodad' : ''}`));
      }
    },
    undo: async ({ lab }) => {
      for (const node of ['node1', 'node2']) await lab.node(node).ip('link del docker0', 'link del dport');
    },
  },
];

async function prepareClients({ lab }: Scene): Promise<void> {
  for (const [at, { network, address }] of clients.entries()) {
    const family = at === 0 ? 'ipv4' : 'ipv6';
    await lab.machine('client').ip(`addr add ${address}/${at === 0 ? 32 : 128} dev lo`);
    await lab.machine('spine').ip(`route add ${network} via ${clientPlan.address[family]}`);
    for (const tor of tors) await lab.machine(tor.name).ip(`route add ${network} via ${tor.spineEnd[family]}`);
  }
}

/** Connects from the network of the clients, and returns the number of answers. */
async function answers({ lab }: Scene, place: Place): Promise<number> {
  const targets = poolAddresses(place, 1).map((host, at) => ({ host, port: 80, localAddress: clients[at]?.address }));
  const program = `const net = require('node:net');
    let answers = 0;
    for (const target of ${JSON.stringify(targets)}) for (let i = 0; i < 24; i++) {
      const socket = net.connect(target, () => socket.write('x\\n')).on('error', () => {}).on('data', () => (answers++, socket.destroy()));
    }
    setTimeout(() => (console.log(answers), process.exit()), 1500);`;
  const { stdout } = await lab.machine('client').exec([process.execPath, '-e', program]);
  return Number(stdout);
}
