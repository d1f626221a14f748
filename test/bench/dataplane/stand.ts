import { createInterface } from 'node:readline';
import { namespaceOf, OneNode } from '../../lab/dataplane/one-node.ts';
import { endTogether } from '../../lab/ends-together.ts';
import { connectTimes, type ConnectTimes } from './client.ts';
import { HeraldNode } from './herald-node.ts';
import { KubeProxyNode } from './kube-proxy-node.ts';
import { clusterAddress, externalAddress, target } from './services.ts';

/** The program that forwards on a stand's node. nobody: the node has no rules. */
export type Forwarder = 'nobody' | 'Herald' | 'kube-proxy';

/** Connection times from a client through the node. */
export interface Connections {
  /** To the pod's own address, without a Service. */
  readonly pod: ConnectTimes;
  readonly clusterIP?: ConnectTimes;
  readonly external?: ConnectTimes;
}

/**
 * A process with its own client, node and pods, and a number of Services on the node. It prints a line when they are ready. For each line
 * that it then reads, it prints the result of a round of connections.
 */
const [forwarder = 'nobody', services = '0', perRound = '300'] = process.argv.slice(2);

async function connections(): Promise<Connections> {
  const count = Number(perRound);
  const pod = await connectTimes(target.pod, target.port, count);
  if (forwarder === 'nobody') return { pod };
  const clusterIP = await connectTimes(clusterAddress(0), 80, count);
  return { pod, clusterIP, external: await connectTimes(externalAddress, 80, count) };
}

/** Resolves to a function that ends the stand. */
async function load(): Promise<() => Promise<void>> {
  if (forwarder === 'nobody') return () => Promise.resolve();
  if (forwarder === 'kube-proxy') {
    const node = await KubeProxyNode.start();
    await node.load(Number(services));
    return () => node.stop();
  }
  const herald = new HeraldNode('netlink', namespaceOf('node'));
  herald.putServices(0, Number(services));
  await herald.load(herald.decideAll());
  return () => herald.dataplane.close();
}

endTogether();
const lab = await OneNode.start();
try {
  const stop = await load();
  console.log('"ready"');
  for await (const line of createInterface({ input: process.stdin }))
    if (line === 'connect') console.log(JSON.stringify(await connections()));
  await stop();
} finally {
  lab.stop();
}
process.exit();
