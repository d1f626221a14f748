import { execFileSync } from 'node:child_process';
import { clientAddress, inside, namespaceOf, OneNode } from '../../lab/dataplane/one-node.ts';
import { HeraldNode } from '../dataplane/herald-node.ts';
import { KubeProxyNode } from '../dataplane/kube-proxy-node.ts';
import { clusterAddress, externalAddress, target } from '../dataplane/services.ts';
import { Flood, kindsOfTraffic, leastOf, type Traffic } from './flood.ts';

export type Forwarder = 'no rules' | 'Herald' | 'kube-proxy';

/** Microseconds of a packet; the least of all turns. */
export interface ServicePackets {
  readonly by: Forwarder;
  readonly services: number;
  readonly traffic: Traffic;
  readonly to: 'pod' | 'ClusterIP' | 'load balancer address';
  readonly microseconds: number;
}

const tables = { Herald: 'herald', 'kube-proxy': 'kube-proxy' } as const;

/**
 * Measures packets through one node that has the rules of Herald and those of kube-proxy. They take turns: the tables of the other are
 * dormant. So both meet the same kernel, links and addresses. `beside`: false where there is no kube-proxy.
 */
export async function measureServices(services: number, turns: number, packets: number, beside: boolean): Promise<ServicePackets[]> {
  const lab = await OneNode.start();
  try {
    if (beside) {
      const kubeProxy = await KubeProxyNode.start();
      await kubeProxy.load(services);
      await kubeProxy.kill();
    }
    const herald = new HeraldNode('netlink', namespaceOf('node'));
    herald.putServices(0, services);
    await herald.load(herald.decideAll());
    await herald.dataplane.close();
    const flood = new Flood({
      client: namespaceOf('client'),
      gateway: inside('node', 'cat /sys/class/net/outside/address').trim(),
      pods: [namespaceOf('pod1')],
      nodes: [namespaceOf('node')],
    });
    const all: ServicePackets[] = [];
    for (let turn = 0; turn < turns; turn++) {
      for (const by of ['no rules', 'Herald', ...(beside ? ['kube-proxy' as const] : [])] as const) {
        wakeOnly(by, beside);
        for (const traffic of kindsOfTraffic)
          for (const { to, ...destination } of destinations(by)) {
            const microseconds = await flood.microseconds(traffic, { source: clientAddress(4), ...destination }, packets);
            all.push({ by, services, traffic, to, microseconds });
          }
      }
    }
    return leastOf(all, ({ by, traffic, to }) => `${by} ${traffic} ${to}`);
  } finally {
    lab.stop();
  }
}

function destinations(by: Forwarder): { readonly to: ServicePackets['to']; readonly address: string; readonly port: number }[] {
  const pod = { to: 'pod', address: target.pod, port: target.port } as const;
  if (by === 'no rules') return [pod];
  return [
    pod,
    { to: 'ClusterIP', address: clusterAddress(0), port: 80 },
    { to: 'load balancer address', address: externalAddress, port: 80 },
  ];
}

/** A dormant table keeps its rules, and the kernel runs none of them. */
function wakeOnly(by: Forwarder, beside: boolean): void {
  const script = (Object.keys(tables) as (keyof typeof tables)[])
    .filter((program) => beside || program === 'Herald')
    .flatMap((program) =>
      ['ip', 'ip6'].map((family) => `table ${family} ${tables[program]} { ${program === by ? '' : 'flags dormant;'} }\n`),
    )
    .join('');
  execFileSync('ip', ['netns', 'exec', namespaceOf('node'), 'nft', '-f', '-'], { input: script });
}
