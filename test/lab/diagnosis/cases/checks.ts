import process from 'node:process';
import type { LabProcess } from '../../lab-process.ts';
import type { Misconfiguration, Scene } from '../misconfiguration.ts';
import { advertisement, namespace, pool, service, soundNodes, type Change, type Manifest } from '../objects.ts';
import { poolAddresses, type Place } from '../place.ts';
import { silentFix } from '../truth/truth-case.ts';

/** The only endpoint of each of these Services: the pod of node1, at a port of the case. */
const node = 'node1';
const pod = 'web-1';
const [podIPv4, podIPv6] = ['10.244.1.10', 'fd00:244:1::10'];

/**
 * Mistakes behind rules and routes that are as decided, which show only in what becomes of connections. Clients connect after each mistake, so
 * that the agents see it.
 */
export const checkCases: readonly Misconfiguration[] = [
  {
    name: 'loopback-only',
    mistake: 'The program of the only pod listens at its loopback addresses only.',
    ...refused(9101),
    before: (place) => onePod(place, 9101),
    prepare: (scene) => serve(scene, 9101, ['0.0.0.0', '::']),
    act: async (scene, place) => {
      await end(9101);
      await serve(scene, 9101, ['127.0.0.1', '::1']);
      await connect(scene, place);
    },
    undo: async (scene, place) => {
      await end(9101);
      await serve(scene, 9101, ['0.0.0.0', '::']);
      await connect(scene, place);
    },
  },
  {
    name: 'wrong-target-port',
    mistake: 'targetPort is a port at which the pod does not listen.',
    ...refused(9102),
    before: (place) => onePod(place, 8080),
    after: (place) => onePod(place, 9102),
    act: async (scene, place) => {
      await untilAnswered(scene, place, false);
      await connect(scene, place);
    },
    undo: async (scene, place) => {
      await untilAnswered(scene, place, true);
      await connect(scene, place);
    },
  },
  {
    name: 'pod-drops',
    mistake: "A rule in the pod's network namespace drops connections to its port.",
    ...silent(9103),
    before: (place) => onePod(place, 9103),
    prepare: (scene) => serve(scene, 9103, ['0.0.0.0', '::']),
    act: async (scene, place) => {
      const rules = 'table inet strict { chain input { type filter hook input priority 0; tcp dport 9103 drop; }; }';
      await scene.lab.pod(pod).exec(['nft', rules]);
      await connect(scene, place);
    },
    undo: async (scene, place) => {
      await scene.lab.pod(pod).exec(['nft', 'delete table inet strict']);
      await connect(scene, place);
    },
  },
];

/** Every node that announces the Service saw it. */
function refused(port: number): Pick<Misconfiguration, 'code' | 'condition' | 'verdict'> {
  const fix = `Let the program of the pod listen at port ${port} of all addresses (0.0.0.0 and ::, not 127.0.0.1), or correct targetPort of the Service; if it listens, a rule on the way rejects packets.`;
  return { code: 'EndpointRefuses', condition: 'Answered', verdict: `Not served: ${bothFamilies(port, 'are refused')}. ${fix}` };
}

function silent(port: number): Pick<Misconfiguration, 'code' | 'condition' | 'verdict'> {
  const fix = silentFix(podIPv4, node, soundNodes[0]);
  return { code: 'EndpointSilent', condition: 'Answered', verdict: `Not served: ${bothFamilies(port, 'get no answer')}. ${fix}` };
}

function bothFamilies(port: number, what: string): string {
  const where = `(seen on ${soundNodes.join(' and ')})`;
  return [`${podIPv4}:${port}`, `[${podIPv6}]:${port}`].map((endpoint) => `connections to ${endpoint} ${what} ${where}`).join('; ');
}

function onePod(place: Place, targetPort: number): Manifest[] {
  const [web, ...slices] = service(place, { spec: { ports: [{ port: 80, targetPort }] } }, { nodes: [node] });
  const ports: Change = { ports: [{ port: targetPort }] };
  return [
    namespace(place),
    pool(place),
    advertisement(place),
    ...(web === undefined ? [] : [web]),
    ...slices.map((one) => ({ ...one, ...ports })),
  ];
}

/** The programs that cases have started, by port. */
const servers = new Map<number, LabProcess>();

/** Starts a program in the pod that answers as a pod does, at these addresses. */
async function serve({ lab }: Scene, port: number, addresses: readonly string[]): Promise<void> {
  const answer = `s => s.end(JSON.stringify({ pod: '${pod}', client: s.remoteAddress, clientPort: s.remotePort }) + '\\n')`;
  const listen = addresses.map(
    (address) =>
      `await new Promise(done => net.createServer(${answer}).listen({ port: ${port}, host: '${address}', ipv6Only: true }, done));`,
  );
  const program = `const net = await import('node:net'); ${listen.join(' ')} console.log('listening');`;
  const server = lab.pod(pod).spawn([process.execPath, '--input-type=module', '-e', program], { name: `server-${port}` });
  await server.waitForLine(/listening/);
  servers.set(port, server);
}

async function end(port: number): Promise<void> {
  await servers.get(port)?.stop();
}

/** Connects as clients do. Each node that announces the Service gets several connections. */
async function connect({ lab }: Scene, place: Place): Promise<void> {
  for (const address of poolAddresses(place, 1)) await lab.client.tcp({ address, port: 80, count: 20, timeoutMs: 1500 });
}

/** Waits until all of a client's connections are answered, or none is: the nodes take new rules one after the other. */
async function untilAnswered({ lab }: Scene, place: Place, isAnswered: boolean): Promise<void> {
  const [address] = poolAddresses(place, 1);
  await lab.until(`connections are ${isAnswered ? '' : 'not '}answered`, async (note) => {
    const { pods } = await lab.client.tcp({ address, port: 80, count: 16, timeoutMs: 1500 });
    const answered = Object.values(note(pods)).reduce((sum, count) => sum + count, 0);
    return answered === (isAnswered ? 16 : 0);
  });
}
