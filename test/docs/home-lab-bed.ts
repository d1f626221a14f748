import { stringify } from 'yaml';
import { nodePlan } from '../lab/address-plan.ts';
import type { Topology } from '../lab/topology.ts';
import { until } from '../lab/until.ts';
import { ClusterBed, herald } from './cluster-bed.ts';
import { writeProgram } from './reader-programs.ts';

export const nodes = ['node1', 'node2', 'node3'] as const;
const indexOf = (node: string): number => Number(node.replace('node', ''));
const address = (node: string): string => `192.168.1.1${indexOf(node)}`;
const podNetwork = (node: string): string => nodePlan(indexOf(node)).podCidr.ipv4;

export interface HomeNetworkOptions {
  /** Addresses of the switch besides that of the API server. */
  readonly addresses?: readonly string[];
  /** Arguments of `ip route add` on the reader's machine. */
  readonly clientRoutes?: readonly string[];
  /** Ports on which the pods answer. Default: 8080. */
  readonly podPorts?: readonly number[];
}

const routesToPods = (node: string): string[] =>
  nodes.filter((other) => other !== node).map((other) => `${podNetwork(other)} via ${address(other)}`);

/** A switch, three nodes, and the reader's machine. The switch has an address for the API server. There is no router. */
export function homeNetwork({ addresses = [], clientRoutes = [], podPorts = [8080] }: HomeNetworkOptions = {}): Topology {
  const bridges = [{ name: 'lan', addresses: ['192.168.1.2/24', ...addresses] }];
  return {
    machines: [
      { name: 'switch', kind: 'router', bridges },
      { name: 'client', kind: 'client', routes: clientRoutes },
      ...nodes.map((name) => {
        const { internal } = nodePlan(indexOf(name));
        // Pods answer by these addresses of their node.
        const loopback = [`${internal.ipv4}/32`, `${internal.ipv6}/128`];
        return { name, kind: 'node', loopback, routes: routesToPods(name) } as const;
      }),
    ],
    links: [
      [
        { machine: 'switch', interface: 'client', bridge: 'lan' },
        { machine: 'client', interface: 'eth0', addresses: ['192.168.1.100/24'] },
      ],
      ...nodes.map(
        (name) =>
          [
            { machine: 'switch', interface: name, bridge: 'lan' },
            { machine: name, interface: 'eth0', addresses: [`${address(name)}/24`] },
          ] as const,
      ),
    ],
    pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node, ports: podPorts })),
  };
}

/** Returns the Node object of a machine of the network. */
export function nodeObject(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': name } },
    spec: { podCIDR: podNetwork(name), podCIDRs: [podNetwork(name)] },
    status: { addresses: [{ type: 'InternalIP', address: address(name) }] },
  };
}

/** Returns the address of the pod that runs on a node. */
export function podAddress(node: string): string {
  return podNetwork(node).replace('0/24', '10');
}

/** The cluster of the page: three Nodes, and a Service of somebody with a pod on each. */
const objects: readonly object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  ...nodes.map(nodeObject),
  {
    apiVersion: 'herald.dev/v1alpha1',
    kind: 'HeraldConfig',
    metadata: { name: 'default' },
    spec: { serviceCIDRs: ['10.96.0.0/12'], defaultClass: true },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'shop', name: 'web' },
    spec: { type: 'LoadBalancer', ports: [{ port: 80, targetPort: 8080 }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ port: 8080, protocol: 'TCP', name: '' }],
    endpoints: nodes.map((nodeName) => ({
      addresses: [podAddress(nodeName)],
      nodeName,
      conditions: { ready: true },
    })),
  },
];

/** Three nodes with agents behind one switch, and the reader at a machine on the same switch. */
export async function startHomeLab(): Promise<ClusterBed> {
  const bed = await ClusterBed.start({ topology: homeNetwork(), server: { machine: 'switch', address: '192.168.1.2' } });
  try {
    await bed.installDefinitions();
    await bed.kubectl(['apply', '--server-side', '-k', 'manifests/base']);
    await bed.kubectl(['create', '-f', '-'], { input: objects.map((object) => stringify(object)).join('---\n') });
    bed.lab.machine('switch').spawn([herald, 'controller', '--kubeconfig', bed.kubeconfig, '--socket', 'none'], { name: 'controller' });
    for (const node of nodes)
      bed.lab.node(node).spawn([herald, 'agent', '--node', node, '--kubeconfig', bed.kubeconfig, '--socket', 'none'], { name: 'agent' });
    const reports = async (): Promise<readonly string[]> =>
      (await bed.kubectl(['get', 'nodestates', '-o', 'name'])).stdout.trim().split('\n');
    await until('every node reports', async (note) => note(await reports()).length === nodes.length, 60_000);
    // The reader may log in to the nodes.
    writeProgram(bed.programs, 'sudo', 'exec "$@"');
    // The network plugin of a node repairs its routes to pods, which end with the link.
    const repair = nodes.flatMap((node) => routesToPods(node).map((route) => `ip -n ${bed.lab.id}-${node} route replace ${route} 2>&-`));
    const login = `node=$1; shift; ip netns exec ${bed.lab.id}-$node sh -c "$*"; status=$?`;
    writeProgram(bed.programs, 'ssh', [login, ...repair, 'exit $status'].join('\n'));
    return bed;
  } catch (error) {
    await bed.stop();
    throw error;
  }
}
