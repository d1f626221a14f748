import { limits } from '../limits.ts';
import { boolean, choice, integer, list, object, parsed, text } from '../schema/fields.ts';
import { matches } from '../schema/cel.ts';
import { durationPattern, interfaceName, seconds } from '../schema/grammars.ts';
import { defaultsOf, defineKind, type ObjectOfKind } from '../schema/kind.ts';
import { selector, selectors } from '../schema/selector.ts';
import { age, conditionColumns, conditions } from '../schema/status.ts';
import type { ObjectValue, Value } from '../schema/value.ts';

/** Reaction to a host outside of the cluster that uses the address too (RFC 5227 section 2.4). */
const conflictPolicies = ['defend', 'withdraw'] as const;
/** When a better node that returns takes its addresses back. */
const failbackPolicies = ['immediate', 'after', 'never'] as const;

const refreshTimes = '0s, or from 5s to 3600s';
/** RFC 9131 and RFC 5227 give no period. One minute is well below the 300 s after which switches forget a port. */
const defaultRefresh = 60;

const nodePreference = object({
  weight: integer({
    required: 'write a weight from 1 to 100',
    min: 1,
    max: 100,
    description: 'Added to the weight of every node that `preference` selects.',
  }),
  preference: selector({ required: 'write {} for every node', description: 'The nodes that are preferred.' }),
});

const fields = {
  ipAddressPools: list(text({ maxLength: 253 }), {
    unset: 'all pools',
    maxItems: limits.names,
    unique: true,
    description: 'Names of pools.',
  }),
  ipAddressPoolSelectors: selectors({ description: 'Pools selected by label, in addition to those named.' }),
  nodeSelectors: selectors({ unset: 'every node', description: 'Nodes that may announce.' }),
  interfaces: list(parsed(interfaceName), {
    unset: 'the interface whose network contains the address',
    maxItems: limits.names,
    unique: true,
    description:
      'Names of the interfaces on which nodes announce, without patterns. A node that has none of them does not announce, and another one does.',
  }),
  serviceSelectors: selectors({ unset: 'every Service', description: 'Services that are announced.' }),
  preferredNodeSelectors: list(nodePreference, {
    maxItems: limits.selectors,
    description:
      'Nodes that announce rather than others. The weights of all entries that select a node add up, also those of several L2Advertisements. They never let a node announce that `nodeSelectors` leaves out.',
  }),
  onConflict: choice(conflictPolicies, {
    default: 'defend',
    description:
      'What a node does when a host outside of the cluster uses the address too. `defend`: announce it again, at most once in 10 s, and go on. `withdraw`: stop until the other host is silent. Either way the Service says so, with the link-layer address of the other host.',
  }),
  failback: choice(failbackPolicies, {
    default: 'immediate',
    description:
      'When a node that is better placed takes the address back after it was away. `after`: when it has been there for `failbackSeconds`. `never`: only when the present node fails or drains.',
  }),
  failbackSeconds: integer({ min: 1, max: 86_400, default: 300, description: 'Read only with `failback: after`.' }),
  refreshInterval: parsed(seconds(refreshTimes, 5), {
    unset: `${defaultRefresh}s`,
    rules: [
      {
        cel: `!${matches('self', durationPattern)} || duration(self) == duration('0s') || (duration(self) >= duration('5s') && duration(self) <= duration('3600s'))`,
        message: `must be ${refreshTimes}`,
        fix: '',
        holds: (time: number) => time === 0 || (time >= 5 && time <= 3600),
        broken: '1s',
      },
    ],
    description:
      'Pause between announcements that nobody asked for. They keep switches from forgetting the port of the node. Whole seconds; 0s means never.',
  }),
  promiscuous: boolean({
    default: false,
    description:
      'Receive every frame of the interface. Needed on Wi-Fi and other links that deliver broadcasts to an interface only in promiscuous mode.',
  }),
};

const spec = object(fields);
const settings = ({ refreshInterval = defaultRefresh, ...rest }: ObjectValue<typeof fields>) => ({ ...rest, refreshInterval });

/** What an L2Advertisement without a field says. */
export const l2AdvertisementDefaults = settings(defaultsOf(spec));

/** Fields of MetalLB's L2Advertisement (v1beta1) with its names and defaults, plus Herald's additions. */
export const l2Advertisement = defineKind({
  kind: 'L2Advertisement',
  plural: 'l2advertisements',
  shortNames: ['hl2adv'],
  description:
    'Which addresses nodes announce on their own link by ARP and NDP. One node answers for an address at a time; others take over when it fails. A pool may have BGPAdvertisements as well.',
  spec,
  status: object({ conditions }),
  columns: [
    { name: 'IPAddressPools', type: 'string', path: '.spec.ipAddressPools' },
    { name: 'Interfaces', type: 'string', path: '.spec.interfaces' },
    ...conditionColumns,
    { name: 'IPAddressPool Selectors', type: 'string', path: '.spec.ipAddressPoolSelectors', wide: true },
    { name: 'Node Selectors', type: 'string', path: '.spec.nodeSelectors', wide: true },
    age,
  ],
  example: {},
  object: settings,
});

export type L2Advertisement = ObjectOfKind<typeof l2Advertisement>;
export type NodePreference = Value<typeof nodePreference>;
export type ConflictPolicy = (typeof conflictPolicies)[number];
export type FailbackPolicy = (typeof failbackPolicies)[number];
