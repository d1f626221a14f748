import process from 'node:process';
import type { LabProcess } from '../../lab-process.ts';
import type { ReportedProblem, Scene } from '../misconfiguration.ts';
import { advertisement, namespace, pool, service, type Change, type Manifest } from '../objects.ts';
import type { Place } from '../place.ts';

/** The host of these cases. Its other mistakes leave its sessions and the Services of these cases alone. */
const host = 'node9';
const object = (): string => `Node/${host}`;

/** Problems of a host that leave Service "web" of the case served. */
export const hostProblems: readonly ReportedProblem[] = [
  {
    name: 'health-port-taken',
    mistake: 'A program on the node listens on the healthCheckNodePort of a Service.',
    code: 'HealthCheckNotServed',
    object: ({ name }) => `Service/${name}/web`,
    says: 'On node9: health-check node port 31801 is not served over IPv4, and load balancers that check it send nothing to this node: the port is in use. Free the port (ss -ltnp "sport = :31801" shows the program); Herald serves it as soon as it is free.',
    ...occupied({ port: 31_801, address: '0.0.0.0' }),
    after: (place) => withService(place, { externalTrafficPolicy: 'Local', healthCheckNodePort: 31_801 }),
  },
  {
    name: 'healthz-port-taken',
    mistake: 'A program on the node listens on the port of /healthz.',
    code: 'HealthzNotServed',
    object,
    says: '/healthz is not served at 0.0.0.0:10256: the port is in use. Stop kube-proxy where it still runs; or give another --healthz-bind-address, or none.',
    ...occupied({ port: 10_256, address: '0.0.0.0' }),
  },
  {
    name: 'node-port-taken',
    mistake: 'A program on the node listens on the NodePort of a Service.',
    code: 'NodePortListener',
    object,
    says: 'A program of the node listens on TCP port 31803 at ::, but packets to that port go to Service node-port-taken/web, whose NodePort it is. Let the program listen elsewhere (ss -lntp "sport = :31803" shows the program), or give the Service another NodePort.',
    ...occupied({ port: 31_803, address: '::' }),
    after: (place) =>
      withService(place, { allocateLoadBalancerNodePorts: true, ports: [{ port: 80, targetPort: 8080, nodePort: 31_803 }] }),
  },
  {
    name: 'input-filter-drops',
    mistake: 'A rule on the node drops connections to the healthCheckNodePort of a Service.',
    code: 'InputFilterDrops',
    object,
    says: 'Chain input of table inet ports drops connections to TCP port 31804 (health check of input-filter-drops/web) that none of its other rules accepts: a rule for all packets drops them. Run: nft insert rule inet ports input tcp dport { 31804 } accept.',
    after: (place) => withService(place, { externalTrafficPolicy: 'Local', healthCheckNodePort: 31_804 }),
    act: ({ lab }) =>
      nft(lab, 'table inet ports { chain input { type filter hook input priority 0; policy accept; tcp dport 31804 drop; }; }'),
    undo: ({ lab }) => nft(lab, 'delete table inet ports'),
  },
];

/** The programs that cases have started, by port. */
const listeners = new Map<number, LabProcess>();

/** A program that listens on a port from before the start of the agent on. */
function occupied({ port, address }: { readonly port: number; readonly address: string }): Pick<ReportedProblem, 'prepare' | 'undo'> {
  const program = `require('node:net').createServer().listen(${port}, '${address}', () => console.log('listening'))`;
  return {
    async prepare({ lab }) {
      const listener = lab.node(host).spawn([process.execPath, '-e', program], { name: `listener-${port}` });
      await listener.waitForLine(/listening/);
      listeners.set(port, listener);
    },
    undo: async () => void (await listeners.get(port)?.stop()),
  };
}

const withService = (place: Place, spec: Change): Manifest[] => [
  namespace(place),
  pool(place),
  advertisement(place),
  ...service(place, { spec }),
];

async function nft(lab: Scene['lab'], command: string): Promise<void> {
  await lab.node(host).exec(['nft', command]);
}
