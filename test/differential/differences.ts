import type { Environment } from './objects.ts';
import { placeText } from './wire.ts';
import type { Flow } from './flows.ts';

/** Where Herald does something else than kube-proxy, on purpose. */
export interface Difference {
  readonly name: string;
  readonly reason: string;
  readonly applies: (flow: Flow, environment: Environment) => boolean;
  /** From what kube-proxy does with a packet to what Herald must do with it. */
  readonly expected: (fate: string, flow: Flow) => string;
}

/** All of them; in everything else the two must agree. */
export const differences: readonly Difference[] = [
  {
    name: 'TCP is refused by a reset',
    reason: 'The kernel limits the rate of ICMP errors, so that some of twenty refused connections would wait for a second (row 56).',
    applies: ({ protocol }) => protocol === 'TCP',
    expected: (fate) => (fate === 'icmp' ? 'reset' : fate),
  },
  {
    name: 'external IPs only where an ExternalIPPolicy allows them',
    reason: 'Whoever may write Services could take any address otherwise: CVE-2020-8554 (row 20).',
    applies: ({ kind }, { externalIPsAllowed }) => !externalIPsAllowed && kind === 'external IP',
    expected: (_, { destination, port }) => `${placeText(destination, port)} as itself`,
  },
];
