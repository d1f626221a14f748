import type { Environment } from './objects.ts';
import { placeText } from './wire.ts';
import type { Flow } from './flows.ts';

/** A case in which Herald differs from kube-proxy on purpose. */
export interface Difference {
  readonly name: string;
  readonly reason: string;
  readonly applies: (flow: Flow, environment: Environment) => boolean;
  /** Maps kube-proxy's fate of a packet to the fate that Herald must produce. */
  readonly expected: (fate: string, flow: Flow) => string;
}

/** All intended differences. Everything else must be equal. */
export const differences: readonly Difference[] = [
  {
    name: 'TCP is refused by a reset',
    reason: 'The kernel limits the rate of ICMP errors, so some of twenty refused connections would wait for a second (row 56).',
    applies: ({ protocol }) => protocol === 'TCP',
    expected: (fate) => (fate === 'icmp' ? 'reset' : fate),
  },
  {
    name: 'an external IP needs an ExternalIPPolicy that allows it',
    reason: 'Otherwise any user who may write Services could take any address: CVE-2020-8554 (row 20).',
    applies: ({ kind }, { externalIPsAllowed }) => !externalIPsAllowed && kind === 'external IP',
    expected: (_, { destination, port }) => `${placeText(destination, port)} as itself`,
  },
];
