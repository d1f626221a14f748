import { join } from 'node:path';
import { release } from 'node:os';
import { run } from '../../lab/command.ts';
import { inNamespace } from '../../lab/namespace.ts';
import { createCluster, type Cluster } from '../cluster/cluster.ts';
import type { ClusterDescription } from '../cluster/description.ts';
import { heraldImage, type HeraldImage } from '../images/index.ts';
import { kubernetesVersion, type Minor } from '../programs.ts';
import { runGinkgo } from './ginkgo.ts';
import { installHerald } from './herald.ts';
import { mergeResults, type SetUpName, type TestResult } from './results.ts';
import type { Selection } from './selection.ts';

const kubeProxyIn: Readonly<Record<SetUpName, ClusterDescription['kubeProxy']>> = {
  'in-place': 'none',
  'beside-nftables': 'nftables',
  'beside-iptables': 'iptables',
  'kube-proxy': 'nftables',
};

export interface E2eOptions {
  readonly setUp: SetUpName;
  readonly minor: Minor;
  readonly selections: readonly Selection[];
  /** Gets logs and Ginkgo's reports. */
  readonly directory: string;
  /** The results of each selection are merged into this file as soon as it ends. */
  readonly resultsFile: string;
  readonly signal?: AbortSignal;
}

/**
 * Creates dual-stack clusters of as many nodes as the selections want, one after the other, installs Herald and runs Kubernetes' tests. Resolves
 * with the results after the last cluster is removed.
 */
export async function runE2e(options: E2eOptions, progress: (line: string) => void): Promise<TestResult[]> {
  const image = await heraldImage();
  const results = new Map<string, TestResult>();
  for (const [nodes, selections] of Map.groupBy(options.selections, (selection) => selection.nodes)) {
    if (options.signal?.aborted === true) break;
    // A test that skipped itself in the first cluster may run in a larger one.
    for (const test of await runInCluster({ ...options, selections }, nodes, image, progress)) results.set(test.name, test);
  }
  return [...results.values()];
}

async function runInCluster(
  options: E2eOptions,
  nodes: number,
  image: HeraldImage,
  progress: (line: string) => void,
): Promise<TestResult[]> {
  const { setUp, minor, selections, directory, resultsFile, signal } = options;
  const description: ClusterDescription = { families: 'dual', kubeProxy: kubeProxyIn[setUp], minor, nodes };
  // At SIGINT the tests end first, so that their results are kept.
  const signals = ['SIGHUP', 'SIGTERM'] as const;
  await using cluster = await createCluster(description, { images: [image], signals, progress });
  await hashByAddress(cluster);
  await installHerald(cluster, setUp, image);
  progress('Herald runs on every node');
  const results: TestResult[] = [];
  for (const selection of selections) {
    if (signal?.aborted === true) break;
    const namespace = cluster.lab.machine('client').namespace;
    const settings = { minor, kubeconfig: cluster.kubeconfig, namespace, directory, ...(signal && { signal }) };
    const tests = await runGinkgo(selection, settings, progress);
    const date = new Date().toISOString().slice(0, 10);
    mergeResults(resultsFile, { kubernetes: kubernetesVersion(minor), kernel: release().replace(/-.*/, ''), date, tests });
    results.push(...tests);
    for (const { name, reason } of tests.filter(({ result }) => result === 'failed')) progress(`failed: ${name}: ${reason}`);
  }
  await keepLogs(cluster, directory);
  return results;
}

/** Each node has a session affinity of its own, so that the tests of affinity need a router that sends a client to one node. */
async function hashByAddress(cluster: Cluster): Promise<void> {
  const settings = ['net.ipv4.fib_multipath_hash_policy=0', 'net.ipv6.fib_multipath_hash_policy=0'];
  await run(inNamespace(cluster.tor.namespace, ['sysctl', '-q', '-w', ...settings]));
}

/** Writes the logs of Herald's pods, for failed tests. */
async function keepLogs(cluster: Cluster, directory: string): Promise<void> {
  for (const component of ['agent', 'controller']) {
    const selector = `-l=app.kubernetes.io/component=${component}`;
    const { stdout } = await cluster.kubectl(['-n', 'herald-system', 'logs', selector, '--prefix', '--tail=-1'], { check: false });
    await run(['tee', join(directory, `${component}.log`)], { input: stdout });
  }
}
