/**
 * `node test/cluster/cluster/main.ts [ipv4|ipv6|dual] [none|nftables|iptables] [MINOR]` creates a cluster, prints how to use it, and removes it at
 * Ctrl-C.
 */
import process from 'node:process';
import { defaultMinor, minors } from '../programs.ts';
import { createCluster } from './cluster.ts';
import type { ClusterDescription } from './description.ts';

const [families = 'dual', kubeProxy = 'none', version = defaultMinor] = process.argv.slice(2);
const minor = minors.find((one) => one === version);
if (
  !isOneOf(['ipv4', 'ipv6', 'dual'] as const, families) ||
  !isOneOf(['none', 'nftables', 'iptables'] as const, kubeProxy) ||
  minor === undefined
) {
  process.stderr.write(`usage: main.ts [ipv4|ipv6|dual] [none|nftables|iptables] [${minors.join('|')}]\n`);
  process.exit(2);
}
const description: ClusterDescription = { families, kubeProxy, minor };
const cluster = await createCluster(description);
process.stdout.write(
  `export KUBECONFIG=${cluster.kubeconfig}\nip netns exec ${cluster.tor.namespace} kubectl get nodes\nlogs: ${cluster.lab.directory}/logs\n`,
);
// The cluster's handlers of signals end this process.
setInterval(() => undefined, 1_000_000);

function isOneOf<T extends string>(all: readonly T[], text: string): text is T {
  return all.some((one) => one === text);
}
