import { existsSync } from 'node:fs';
import type { SetUpName } from './results.ts';

/** Tests with a reason for their result. */
export interface Exclusion {
  /** Text in the names of the tests. */
  readonly text: string;
  readonly reason: string;
}

const internet = 'needs the Internet, which the cluster does not have';

/** The kernel has SCTP when this path exists. */
const sctpOfKernel = '/proc/net/sctp';
const sctp: Exclusion = { text: '[Feature:SCTPConnectivity]', reason: 'needs SCTP in the kernel; runs where the kernel has it' };

/** Tests that do not run in any set-up. */
export const exclusions: readonly Exclusion[] = [
  sctp,
  { text: '[Feature:NetworkPolicy]', reason: 'needs a network plugin with network policies; the bridge plugin has none' },
  { text: '[Feature:Networking-IPv4]', reason: internet },
  { text: '[Feature:Networking-IPv6]', reason: internet },
  { text: '[Feature:Networking-DNS]', reason: internet },
  { text: '[Provider:GCE]', reason: internet },
  { text: 'DNS configMap nameserver', reason: 'changes the configuration of CoreDNS, which the cluster does not have' },
  { text: '[Feature:PerformanceDNS]', reason: 'measures CoreDNS, which the cluster does not have' },
  { text: '[Feature:KubeProxyNFAcct]', reason: 'asks kube-proxy in mode iptables for a metric of its own' },
];

/** Returns the exclusions on this machine. */
export function exclusionsHere(): readonly Exclusion[] {
  return exclusions.filter((one) => one !== sctp || !existsSync(sctpOfKernel));
}

export interface ExpectedFailure extends Exclusion {
  /** All by default. */
  readonly setUps?: readonly SetUpName[];
}

/** Tests whose failure is expected. They run, and a failure counts neither as passed nor as failed. */
export const expectedFailures: readonly ExpectedFailure[] = [
  {
    text: 'should only target nodes with endpoints',
    setUps: ['beside-nftables', 'beside-iptables', 'kube-proxy'],
    reason:
      'kube-proxy serves the health-check node port of an IPv4 Service on IPv4 only, and the test asks every InternalIP of a dual-stack node',
  },
  {
    text: 'should handle load balancer cleanup finalizer',
    reason: 'Services with an address from a pool have no finalizer: [ADR 35](../adr/0035-pools-need-no-finalizer.md)',
  },
  {
    text: 'should be able to switch session affinity for LoadBalancer service with Local traffic policy',
    reason:
      'A router hashes all Services alike, and with policy Local a node uses only its own endpoints. So without affinity a client reaches several endpoints only if its node has several, which depends on the scheduler ([affinity](../how-to/ecmp.md#affinity))',
  },
];

export function isExpectedToFail(name: string, setUp: SetUpName): boolean {
  return expectedFailures.some(({ text, setUps }) => name.includes(text) && setUps?.includes(setUp) !== false);
}

/** Tests that one run of Ginkgo executes. Both are regular expressions of Go. */
export interface Selection {
  readonly name: string;
  readonly focus: string;
  readonly skip: string;
  /** Processes that run tests at the same time. */
  readonly processes: number;
  /** Of the cluster, in three zones. */
  readonly nodes: number;
}

const alone = String.raw`\[Serial\]|\[Disruptive\]`;

/** Tests that skip themselves in zones of one node. */
const twoNodesInAZone = ['between pods on multiple nodes', 'on the same node or fall back to same zone'];

/** Returns the selections of a whole run: the tests that may run beside each other, the others, and those that need a larger cluster. */
export function wholeSuite(focus = ''): readonly Selection[] {
  const excluded = exclusionsHere().map(({ text }) => quoted(text));
  const all = String.raw`\[sig-network\].*(${focus})`;
  return [
    { name: 'parallel', focus: all, skip: [alone, ...excluded].join('|'), processes: 6, nodes: 3 },
    {
      name: 'serial',
      focus: String.raw`\[sig-network\].*((${alone}).*(${focus})|(${focus}).*(${alone}))`,
      skip: excluded.join('|'),
      processes: 1,
      nodes: 3,
    },
    { name: 'six-nodes', focus: `${all}.*(${twoNodesInAZone.join('|')})`, skip: alone, processes: 3, nodes: 6 },
  ];
}

/** About ten minutes: all of [Conformance], and tests of what Herald does besides. */
export function shortList(): readonly Selection[] {
  const further = [
    String.raw`\[Conformance\]`,
    'ExternalTrafficPolicy: Local',
    'conntrack entries when UDP service target port changes',
    'server pod cycles for a NodePort service',
    'should be rejected when no endpoints exist',
    'internalTrafficPolicy=Local Pod to Pod',
    'fallback to terminating endpoints',
    'secondary range',
    'Secondary IP Family .* should function for (node|endpoint)-Service',
  ];
  const skip = [alone, ...exclusionsHere().map(({ text }) => quoted(text))].join('|');
  return [{ name: 'short', focus: String.raw`\[sig-network\].*(${further.join('|')})`, skip, processes: 6, nodes: 3 }];
}

const quoted = (text: string): string => text.replaceAll(/[[\](){}.*+?^$|\\]/g, String.raw`\$&`);
