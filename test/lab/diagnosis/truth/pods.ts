import process from 'node:process';
import type { LabProcess } from '../../lab-process.ts';
import type { Scene } from '../misconfiguration.ts';
import { poolAddresses, type Place } from '../place.ts';
import {
  aliasAt,
  connectTo,
  failuresText,
  filter,
  isSilent,
  podAt,
  refusedFix,
  refuses,
  serviceTo,
  silentFix,
  targetsOf,
  withAlias,
  type TruthCase,
} from './truth-case.ts';

const narrowFix =
  'Find the link to the clients that takes smaller packets only, and the router or firewall that drops the ICMP messages about it: on node "node1", ping -M do -s 1472 CLIENT (for IPv6 -s 1452), and smaller sizes until it answers; let ICMP type 3 code 4 and ICMPv6 type 2 pass, or limit the segments on that router (nft: tcp flags syn tcp option maxseg size set rt mtu).';
const one = podAt('node1');
const three = podAt('node3');

/** Mistakes in pods and endpoints. */
export const podTruths: readonly TruthCase[] = [
  {
    name: 'named-target-port',
    mistake: 'targetPort is a name that the pod gives to a port at which it does not listen.',
    code: 'EndpointRefuses',
    verdict: `Not served: ${failuresText(targetsOf(one, 9201), refuses)}. ${refusedFix(9201)}`,
    before: (place) => serviceTo(place, [one], undefined, {}, { targetPort: 'http' }),
    after: (place) => serviceTo(place, [one], [{ port: 80, targetPort: 9201 }], {}, { targetPort: 'http' }),
  },
  {
    name: 'second-port',
    mistake: 'The pod does not listen at the second port of the Service.',
    code: 'EndpointRefuses',
    verdict: `Not served at 198.18.2.1:81/TCP and [2001:db8:2::1]:81/TCP: ${failuresText(targetsOf(one, 9202), refuses)}. ${refusedFix(9202)}`,
    before: (place) => serviceTo(place, [one], twoPorts(8080)),
    after: (place) => serviceTo(place, [one], twoPorts(9202)),
    connect: async (scene, place) => {
      await connectTo(scene, place, 80);
      await connectTo(scene, place, 81);
    },
  },
  {
    name: 'one-of-three-refuses',
    mistake: 'A rule in one of three pods resets connections.',
    code: 'EndpointRefuses',
    verdict: `Not fully served: ${failuresText(['10.244.3.103:8080', '[fd00:244:3::103]:8080'], refuses)}. ${refusedFix(8080)}`,
    // Few of these lead to the pod that refuses, and each node needs two.
    connect: (scene, place) => connectTo(scene, place, 80, 40),
    before: (place) => serviceTo(place, [one, podAt('node2'), aliasAt(place, 'node3')]),
    prepare: withAlias('node3').prepare,
    ...filter('web-3', 'input', resets('node3')),
  },
  {
    name: 'ipv4-listener',
    mistake: 'A rule in the pod resets connections over IPv6, as for a program that listens at 0.0.0.0 only.',
    code: 'EndpointRefuses',
    verdict: `Announced over IPv4, but not served over IPv6 at 2001:db8:4::1: ${failuresText(['[fd00:244:1::104]:8080'], refuses)}. ${refusedFix(8080)}`,
    ...withAlias('node1'),
    ...filter('web-1', 'input', (place) => resets('node1')(place).slice(1)),
  },
  {
    name: 'local-pod-refuses',
    mistake: 'Under externalTrafficPolicy Local, the pod of one of two nodes refuses connections.',
    code: 'EndpointRefuses',
    verdict: `Not fully served: ${failuresText(['10.244.2.105:8080', '[fd00:244:2::105]:8080'], refuses, 'node2')}. ${refusedFix(8080)}`,
    before: (place) =>
      serviceTo(place, [one, aliasAt(place, 'node2')], undefined, {
        spec: { externalTrafficPolicy: 'Local', healthCheckNodePort: 31_905 },
      }),
    prepare: withAlias('node2').prepare,
    ...filter('web-2', 'input', resets('node2')),
  },
  {
    name: 'affinity-refuses',
    mistake: 'With session affinity, the pod to which clients return refuses connections.',
    isFull: true,
    code: 'EndpointRefuses',
    verdict: `Not served: ${failuresText(['10.244.3.106:8080', '[fd00:244:3::106]:8080'], refuses)}. ${refusedFix(8080)}`,
    before: (place) => serviceTo(place, [aliasAt(place, 'node3')], undefined, { spec: { sessionAffinity: 'ClientIP' } }),
    prepare: withAlias('node3').prepare,
    ...filter('web-3', 'input', resets('node3')),
  },
  {
    name: 'consistent-refuses',
    mistake: 'With consistent hashing, one of two pods refuses connections.',
    code: 'EndpointRefuses',
    verdict: `Not fully served: ${failuresText(['10.244.3.107:8080', '[fd00:244:3::107]:8080'], refuses)}. ${refusedFix(8080)}`,
    // Few of these lead to the pod that refuses, and each node needs two.
    connect: (scene, place) => connectTo(scene, place, 80, 40),
    before: (place) =>
      serviceTo(place, [one, aliasAt(place, 'node3')], undefined, {
        metadata: { annotations: { 'herald.dev/load-balancing': 'consistent' } },
      }),
    prepare: withAlias('node3').prepare,
    ...filter('web-3', 'input', resets('node3')),
  },
  {
    name: 'answers-dropped',
    mistake: "A rule in the pod's network namespace drops what the pod answers.",
    code: 'EndpointSilent',
    verdict: `Not served: ${failuresText(['10.244.1.108:8080', '[fd00:244:1::108]:8080'], isSilent)}. ${silentFix('10.244.1.108', 'node1', 'node1')}`,
    ...withAlias('node1'),
    ...filter('web-1', 'output', (place) => {
      const [ipv4, ipv6] = aliasAt(place, 'node1').addresses;
      return [`ip saddr ${ipv4} tcp sport 8080 drop`, `ip6 saddr ${ipv6} tcp sport 8080 drop`];
    }),
  },
  {
    name: 'policy-lets-one-node-in',
    mistake: 'A NetworkPolicy at the pod lets one node in, and not the other.',
    code: 'EndpointSilent',
    verdict: `Not fully served: ${failuresText(['10.244.3.109:8080', '[fd00:244:3::109]:8080'], isSilent, 'node2')}. ${silentFix('10.244.3.109', 'node3', 'node2')}`,
    ...withAlias('node3'),
    ...filter('node3', 'forward', (place) => {
      const [ipv4, ipv6] = aliasAt(place, 'node3').addresses;
      return [
        `ip daddr ${ipv4} ip saddr { 10.0.0.12, 10.1.0.12, 10.2.0.12 } ct state new drop`,
        `ip6 daddr ${ipv6} ip6 saddr { fd00::12, fd00:1::12, fd00:2::12 } ct state new drop`,
      ];
    }),
  },
  {
    name: 'pod-killed',
    mistake: 'The program of the pod was killed, and its EndpointSlice still says ready.',
    code: 'EndpointRefuses',
    verdict: `Not served: ${failuresText(targetsOf(one, 9210), refuses)}. ${refusedFix(9210)}`,
    before: (place) => serviceTo(place, [one], [{ port: 80, targetPort: 9210 }]),
    prepare: (scene) => serve(scene, 9210),
    act: () => end(9210),
    undo: (scene) => serve(scene, 9210),
  },
  {
    name: 'pod-removed',
    mistake: 'The pod is gone with its interface, and its EndpointSlice still says ready.',
    code: 'EndpointSilent',
    verdict: `Not served: ${failuresText(['10.244.3.111:8080', '[fd00:244:3::111]:8080'], isSilent)}. ${silentFix('10.244.3.111', 'node3', 'node1')}`,
    ...withAlias('node3'),
    act: ({ lab }, place) => setAlias(lab, place, 'del'),
    undo: ({ lab }, place) => setAlias(lab, place, 'add'),
  },
  {
    name: 'full-queue',
    mistake: 'The program of the pod accepts no connections any more, and its queue is full.',
    code: 'EndpointSilent',
    verdict: `Not served: ${failuresText(targetsOf(one, 9212), isSilent)}. ${silentFix(one.addresses[0], one.node, 'node1')}`,
    before: (place) => serviceTo(place, [one], [{ port: 80, targetPort: 9212 }]),
    prepare: (scene) => serve(scene, 9212, 8),
    act: async (scene, place) => {
      programs.get(9212)?.kill('SIGSTOP');
      await connectTo(scene, place);
      await connectTo(scene, place);
    },
    undo: () => Promise.resolve(programs.get(9212)?.kill('SIGCONT')),
  },
  {
    name: 'pod-stopped',
    mistake: 'The program of the pod is stopped (SIGSTOP): the kernel accepts connections for it, and nothing answers requests.',
    code: 'EndpointHangs',
    verdict: `Not served: ${failuresText(targetsOf(one, 9213), 'are established, and nothing answers what clients send')}. ${hangsFix(9213)}`,
    before: (place) => serviceTo(place, [one], [{ port: 80, targetPort: 9213 }]),
    prepare: (scene) => serve(scene, 9213),
    act: () => Promise.resolve(programs.get(9213)?.kill('SIGSTOP')),
    undo: () => Promise.resolve(programs.get(9213)?.kill('SIGCONT')),
  },
  {
    name: 'udp-refused',
    mistake: 'The program of a pod behind a UDP port is dead.',
    ...udpUnseen(14),
    before: (place) => serviceTo(place, [three], udpPort(8080)),
    after: (place) => serviceTo(place, [three], udpPort(9214)),
  },
  {
    name: 'udp-silent',
    mistake: 'The program of a pod takes datagrams and never answers, as a collector of logs does.',
    ...udpUnseen(15),
    before: (place) => serviceTo(place, [three], udpPort(8080)),
    after: (place) => serviceTo(place, [three], udpPort(9215)),
    prepare: (scene) => listenSilently(scene, 9215),
  },
  {
    name: 'narrow-link',
    mistake: 'A link to the clients takes smaller packets only, and no ICMP message about it reaches the pod.',
    code: 'LargeAnswersUnacknowledged',
    verdict: `Not fully served: ${targetsOf(one, 9216)
      .map(
        (target) =>
          `large packets of answers from ${target} are sent again and again, and clients acknowledge none of them (seen on node1 and node2)`,
      )
      .join('; ')}. ${narrowFix}`,
    connect: async (scene, place) => void (await largeAnswers(scene, place)),
    answers: largeAnswers,
    before: (place) => serviceTo(place, [one], [{ port: 80, targetPort: 9216 }]),
    prepare: serveLarge,
    ...filter('spine', 'forward', (place) =>
      poolAddresses(place, 1).map((address) => `${address.includes(':') ? 'ip6' : 'ip'} saddr ${address} meta length > 1300 drop`),
    ),
  },
  {
    name: 'log-collector',
    mistake: 'None: the program of the pod takes what clients send over TCP and answers nothing, as a collector of logs does.',
    verdict: 'Served: 198.18.17.1 and 2001:db8:17::1 via node1 and node2; connections were answered in the last 10 minutes.',
    isUnseen: true,
    before: (place) => serviceTo(place, [one], [{ port: 80, targetPort: 9217 }]),
    prepare: collect,
  },
];

function hangsFix(port: number): string {
  return `Look at the program of the pod: it may be stopped, blocked or overloaded (its log; ss -tn in the pod shows octets that it has not read in Recv-Q of port ${port}); a readinessProbe that sends a request takes such a pod out of the Service, and a livenessProbe restarts it.`;
}

const twoPorts = (second: number): Parameters<typeof serviceTo>[2] => [
  { port: 80, targetPort: 8080 },
  { port: 81, targetPort: second },
];
const udpPort = (targetPort: number): Parameters<typeof serviceTo>[2] => [{ port: 80, targetPort, protocol: 'UDP' }];

/** An unanswered datagram is no failure: many programs answer none. */
function udpUnseen(index: number): Pick<TruthCase, 'verdict' | 'connect' | 'isUnseen' | 'isQuietBefore'> {
  const name = index === 14 ? 'udp-refused' : 'udp-silent';
  return {
    verdict: `Announced, not checked: 198.18.${index}.1 and 2001:db8:${index}::1 via node1 and node2; no answer to a connection was seen lately. Check it: herald check service ${name}/web.`,
    isUnseen: true,
    isQuietBefore: true,
    connect: async ({ lab }, place) => {
      await Promise.all(poolAddresses(place, 1).map((address) => lab.client.udp({ address, port: 80, count: 4, timeoutMs: 1500 })));
    },
  };
}

/** Rules that reset connections to the address of the case. */
function resets(node: string): (place: Place) => readonly string[] {
  return (place) => {
    const [ipv4, ipv6] = aliasAt(place, node).addresses;
    return [`ip daddr ${ipv4} tcp dport 8080 reject with tcp reset`, `ip6 daddr ${ipv6} tcp dport 8080 reject with tcp reset`];
  };
}

async function setAlias(lab: Scene['lab'], place: Place, change: 'add' | 'del'): Promise<void> {
  const [ipv4, ipv6] = aliasAt(place, 'node3').addresses;
  const { internal } = lab.node('node3').plan;
  const device = lab.pod('web-3').hostInterface;
  await lab
    .node('node3')
    .ip(`route ${change} ${ipv4}/32 dev ${device} src ${internal.ipv4}`, `route ${change} ${ipv6}/128 dev ${device} src ${internal.ipv6}`);
}

/** The programs that cases have started, by port. */
const programs = new Map<number, LabProcess>();

/** Starts a program in the pod of node1 that answers as a pod does. */
export async function serve(scene: Scene, port: number, backlog = 511, where = 'web-1'): Promise<void> {
  const program = `const { createServer } = require('node:net');
    createServer((socket) => {
      const answer = JSON.stringify({ pod: '${where}', client: socket.remoteAddress, clientPort: socket.remotePort }) + '\\n';
      socket.on('error', () => undefined).on('data', () => socket.end(answer));
    }).listen({ port: ${port}, host: '::', backlog: ${backlog} }, () => console.log('listening'));`;
  await start(scene, where, port, program);
}

/** Starts a program in the pod of node1 whose answers are large. */
async function serveLarge(scene: Scene): Promise<void> {
  const program = `require('node:net').createServer((socket) => socket.on('error', () => undefined).once('data', () => socket.end(Buffer.alloc(100_000))))
    .listen({ port: 9216, host: '::' }, () => console.log('listening'));`;
  await start(scene, 'web-1', 9216, program);
}

/** Requests large answers, and returns how many came as a whole. */
async function largeAnswers({ lab }: Scene, place: Place): Promise<number> {
  const program = `const net = require('node:net');
    let answers = 0;
    for (const host of ${JSON.stringify(poolAddresses(place, 1))}) for (let i = 0; i < 12; i++) {
      let octets = 0;
      const socket = net.connect({ host, port: 80 }, () => socket.write('large\\n')).on('error', () => {}).on('data', (data) => (octets += data.length));
      socket.on('end', () => (answers += octets === 100_000 ? 1 : 0));
    }
    setTimeout(() => (console.log(answers), process.exit()), 2500);`;
  const { stdout } = await lab.machine('client').exec([process.execPath, '-e', program]);
  return Number(stdout);
}

/** Starts a program in the pod of node1 that reads until its client ends the connection. */
async function collect(scene: Scene): Promise<void> {
  const program = `require('node:net').createServer((socket) => socket.on('error', () => undefined).resume())
    .listen({ port: 9217, host: '::' }, () => console.log('listening'));`;
  await start(scene, 'web-1', 9217, program);
}

async function listenSilently(scene: Scene, port: number): Promise<void> {
  await start(scene, 'web-3', port, `require('node:dgram').createSocket('udp6').bind(${port}, '::', () => console.log('listening'));`);
}

async function start({ lab }: Scene, where: string, port: number, program: string): Promise<void> {
  const running = lab.machine(where).spawn([process.execPath, '-e', program], { name: `program-${port}` });
  await running.waitForLine(/listening/);
  programs.set(port, running);
}

async function end(port: number): Promise<void> {
  await programs.get(port)?.stop();
}
