import process from 'node:process';
import type { LabProcess } from '../../lab-process.ts';
import type { ReportedProblem, Scene } from '../misconfiguration.ts';
import { advertisement, annotated, namespace, pool, service, type Change, type Manifest } from '../objects.ts';
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
  {
    name: 'pod-interface-narrow',
    mistake: 'An interface to pods on the node has a smaller MTU than the pods and the uplinks.',
    code: 'PodPathNarrow',
    object,
    says: 'Packets of more than 1400 octets do not fit into p-web-9, the way to pods: unless they may be fragmented they are dropped, and arrive only if their sender accepts ICMP errors (fragmentation needed, packet too big). The MTU of tor1 is 1500, and that of pods is 1500. Give pods an MTU of 1400 in the configuration of the network plugin and start them again; or, where the links below carry it, run on the node: ip link set dev p-web-9 mtu 1500.',
    // The pod of the host is an endpoint.
    before: (place) => [namespace(place), pool(place), advertisement(place), ...service(place, {}, { nodes: [host] })],
    prepare: ({ lab }) => setMtu(lab, host, lab.pod('web-9').hostInterface, 1400),
    undo: ({ lab }) => setMtu(lab, host, lab.pod('web-9').hostInterface, 1500),
  },
  {
    name: 'untracked-dropped',
    mistake: 'A filter on the node accepts tracked connections only, and a Service asks for direct server return.',
    code: 'DirectReturnFiltered',
    object,
    says: 'Chain forward of table inet strict drops packets that are passed on by a route, because their connections are not tracked (ct state untracked): this node passes packets on at ingress only, or not at all. Let packets with "ct state untracked" through forward of table inet strict, or use directReturnMode: l2.',
    prepare: ({ lab }) => {
      const accepted = ['ct status dnat', 'ct state established,related', 'ip daddr 10.244.0.0/16', 'ip6 daddr fd00:244::/32'];
      const rules = accepted.map((packets) => `${packets} accept;`).join(' ');
      return nft(lab, `table inet strict { chain forward { type filter hook forward priority 0; policy drop; ${rules} }; }`);
    },
    undo: ({ lab }) => nft(lab, 'delete table inet strict'),
    after: withDirectReturn,
  },
  {
    name: 'tunnel-too-small',
    mistake: "The interface of a node's InternalIP takes packets of 1300 octets, and a Service asks for direct server return.",
    code: 'DirectReturnSmallPackets',
    object: () => 'Node/node8',
    says: 'tor1 takes packets of 1300 octets, too small for VXLAN around a packet of the minimum size: no packets are passed on through the tunnel. Give tor1 an MTU of at least 1350, or use mode l2 or route.',
    prepare: async ({ lab }) => {
      await lab.node('node8').ip('addr add fd00::18/128 dev tor1');
      await setMtu(lab, 'node8', 'tor1', 1300);
    },
    undo: async ({ lab }) => {
      await setMtu(lab, 'node8', 'tor1', 1500);
      await lab.node('node8').ip('addr del fd00::18/128 dev tor1');
    },
    after: withDirectReturn,
  },
  {
    name: 'node-without-address',
    mistake: 'An agent runs for a Node that has no InternalIP.',
    code: 'NodeWithoutInternalIP',
    object: () => 'Node/lonely',
    says: 'Node "lonely" has no InternalIP, so the agent cannot tell whether it runs on the right host, and serves no NodePorts; it announces nevertheless. Add an address of type InternalIP to status.addresses of Node "lonely" (kubelet: --node-ip).',
    // The agent of that host was killed, by an earlier case.
    act: async ({ herald }) => void herald.startAgentOn('node4', 'lonely'),
    undo: async ({ herald }) => void (await herald.agent('lonely').stop()),
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

/** A Service whose packets a node passes on to the node of the pod. */
function withDirectReturn(place: Place): Manifest[] {
  const annotations = annotated({ 'herald.dev/load-balancing': 'consistent', 'herald.dev/direct-return': 'true' });
  return [namespace(place), pool(place), advertisement(place), ...service(place, annotations)];
}

async function setMtu(lab: Scene['lab'], node: string, device: string, octets: number): Promise<void> {
  await lab.node(node).ip(`link set dev ${device} mtu ${octets}`);
}

async function nft(lab: Scene['lab'], command: string): Promise<void> {
  await lab.node(host).exec(['nft', command]);
}
