import { connectTimes, type ConnectTimes } from './client.ts';
import { namespaceOf } from '../../lab/dataplane/one-node.ts';
import { HeraldNode } from './herald-node.ts';
import { KubeProxyNode } from './kube-proxy-node.ts';
import { clusterAddress, externalAddress, target } from './services.ts';

/** How long it takes to connect with so many Services on the node between client and pod. */
export interface Connections {
  /** Undefined: no rules at all. */
  readonly by: 'Herald' | 'kube-proxy' | undefined;
  readonly services: number;
  /** To the pod's own address, past all Services. */
  readonly pod: ConnectTimes;
  readonly clusterIP?: ConnectTimes;
  readonly external?: ConnectTimes;
}

const perRun = 3_000;

export async function connectionsWithout(): Promise<Connections> {
  return { by: undefined, services: 0, pod: await connectTimes(target.pod, target.port, perRun) };
}

export async function connectionsByHerald(services: number): Promise<Connections> {
  const herald = new HeraldNode('netlink', namespaceOf('node'));
  herald.putServices(0, services);
  await herald.load(herald.decideAll());
  try {
    return { by: 'Herald', services, ...(await both()) };
  } finally {
    await herald.dataplane.cleanup();
  }
}

/** Beside the connections: the load, one change, and the memory of kube-proxy. */
export interface KubeProxyFigures {
  readonly services: number;
  /** From the first object that the API server has to an answer through the last. */
  readonly load: number;
  /** From an EndpointSlice that the API server has to an answer by the new endpoint: median. */
  readonly change: number;
  readonly memory: number;
  readonly connections: Connections;
}

export async function measureKubeProxy(services: number): Promise<KubeProxyFigures> {
  const node = await KubeProxyNode.start();
  try {
    const load = await node.load(services);
    const connections: Connections = { by: 'kube-proxy', services, ...(await both()) };
    const change = await node.change();
    return { services, load, change, memory: node.memory(), connections };
  } finally {
    await node.stop();
  }
}

async function both(): Promise<Omit<Connections, 'by' | 'services'>> {
  return {
    pod: await connectTimes(target.pod, target.port, perRun),
    clusterIP: await connectTimes(clusterAddress(0), 80, perRun),
    external: await connectTimes(externalAddress, 80, perRun),
  };
}
