import type { Environment } from './objects.ts';
import type { Flow } from './flows.ts';
import { nodeAddresses } from './stand.ts';
import { familyOf } from './wire.ts';

/** Where Herald does something else than kube-proxy, on purpose. */
export interface Difference {
  readonly name: string;
  readonly reason: string;
  readonly applies: (flow: Flow, environment: Environment) => boolean;
  /** From what kube-proxy does with a packet to what Herald must do with it. */
  readonly expected: (fate: string, flow: Flow) => string;
}

/** All of them; in everything else the two must agree. Affinity per frontend and not per Service (row 47) is beyond what one packet shows. */
export const differences: readonly Difference[] = [
  {
    name: 'TCP is refused by a reset',
    reason: 'The kernel limits the rate of ICMP errors, so that some of twenty refused connections would wait for a second (row 56).',
    applies: ({ protocol }) => protocol === 'TCP',
    expected: (fate) => (fate === 'icmp' ? 'reset' : fate),
  },
  {
    name: 'without known pods, traffic to a ClusterIP is masqueraded',
    reason: 'A client outside of the pod network would get no answer otherwise; kube-proxy masquerades nothing then (row 49).',
    applies: ({ kind }, { podsKnown }) => !podsKnown && kind === 'cluster IP',
    expected: (fate, { destination, entry, source }) => {
      const node = nodeAddresses[familyOf(destination)][0];
      // What comes from elsewhere and stays on the node does not pass the place where sources are translated.
      const passes = entry === 'node' || !isTo(fate, node);
      return passes && source !== node ? fate.replace(/ as itself$/, ` as ${node}`) : fate;
    },
  },
  {
    name: 'external IPs only where an ExternalIPPolicy allows them',
    reason: 'Whoever may write Services could take any address otherwise: CVE-2020-8554 (row 20).',
    applies: ({ kind }, { externalIPsAllowed }) => !externalIPsAllowed && kind === 'external IP',
    expected: (_, { destination, port }) => `${bracketed(destination)}:${port} as itself`,
  },
];

function isTo(fate: string, address: string): boolean {
  return fate.startsWith(`${bracketed(address)}:`);
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
