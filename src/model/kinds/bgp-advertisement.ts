import { limits } from '../limits.ts';
import { choice, integer, list, object, parsed, text } from '../schema/fields.ts';
import { community } from '../schema/grammars.ts';
import { defineKind, type ObjectOfKind } from '../schema/kind.ts';
import { selectors } from '../schema/selector.ts';
import { age, conditionColumns, conditions } from '../schema/status.ts';

const maxUint32 = 2 ** 32 - 1;
const addressTypes = ['LoadBalancer', 'ClusterIP', 'ExternalIP'] as const;
export type AddressType = (typeof addressTypes)[number];

const names = (options: { readonly unset: string; readonly description: string }) =>
  list(text({ maxLength: 253 }), { ...options, maxItems: limits.names, unique: true });

/** In Mbit/s. Above that a router has no use for a weight, and the numbers stay exact. */
const mostMegabits = 1_000_000;

const linkBandwidth = object(
  {
    megabitsPerEndpoint: integer({
      min: 1,
      max: mostMegabits,
      description:
        'For each endpoint of the Service on the node that takes traffic; an endpoint whose EndpointSlice has `herald.dev/weight` counts that often. Only under policy Local: under Cluster every node forwards to all endpoints, and sends no bandwidth.',
    }),
    megabitsPerNode: integer({
      min: 1,
      max: mostMegabits,
      description:
        'For the whole node, under either policy. `nodeSelectors` of several BGPAdvertisements give groups of nodes different values.',
    }),
  },
  {
    description:
      'The bandwidth behind the route in Mbit/s, sent as the link bandwidth extended community (draft-ietf-idr-link-bandwidth), by which routers divide connections among the nodes. [Weighted ECMP](../how-to/weighted-ecmp.md).',
    relations: [
      {
        at: 'megabitsPerEndpoint',
        message: 'and megabitsPerNode exclude each other, and one of them is needed',
        fix: 'set megabitsPerEndpoint: 1 for shares by endpoints, or megabitsPerNode to the bandwidth of the nodes',
        cel: 'has(self.megabitsPerEndpoint) != has(self.megabitsPerNode)',
        holds: (_, written) => written('megabitsPerEndpoint') !== written('megabitsPerNode'),
        broken: { megabitsPerEndpoint: 1, megabitsPerNode: 1 },
      },
    ],
  },
);

const fields = {
  addressTypes: list(choice(addressTypes), {
    maxItems: addressTypes.length,
    unique: true,
    unset: '[LoadBalancer]',
    description: 'Which addresses of Services are announced. Those of type ExternalIP need an [ExternalIPPolicy](#externalippolicy).',
  }),
  ipAddressPools: names({ unset: 'all pools', description: 'Names of pools. Restricts LoadBalancer addresses only.' }),
  ipAddressPoolSelectors: selectors({ description: 'Pools selected by label, in addition to those named.' }),
  aggregationLength: integer({
    min: 1,
    max: 32,
    default: 32,
    description: 'Length of the announced IPv4 prefix; it must lie within one block of the pool.',
  }),
  aggregationLengthV6: integer({ min: 1, max: 128, default: 128, description: 'The same for IPv6.' }),
  localPref: integer({ min: 0, max: maxUint32, default: 0, description: 'LOCAL_PREF, sent on internal sessions. 0 means not set.' }),
  med: integer({ min: 0, max: maxUint32, unset: 'not sent', description: 'MULTI_EXIT_DISC.' }),
  asPathPrepend: integer({ min: 0, max: limits.asPathPrepend, default: 0, description: 'How many times our AS number is prepended.' }),
  communities: list(parsed(community), {
    maxItems: limits.communities,
    unique: true,
    description:
      '`65000:100`, `large:1:2:3`, `no-export`, `no-advertise`, `no-export-subconfed`, `no-peer`, `graceful-shutdown`, `blackhole`, `accept-own`, or an alias of a [Community](#community).',
  }),
  nodeSelectors: selectors({ unset: 'every node', description: 'Nodes that announce.' }),
  serviceSelectors: selectors({
    unset: 'every Service',
    description: 'Services that are announced. Not together with an aggregation length.',
  }),
  peers: names({ unset: 'every peer', description: 'Names of BGPPeers.' }),
  maxNextHops: integer({
    min: 1,
    max: limits.nextHops,
    unset: 'every node',
    description:
      'The most nodes that announce a prefix by this advertisement. Each prefix has an order of nodes of its own, and a node that goes moves only what it had. A node whose agent, sessions or rules fail is replaced, so for a moment there may be more or fewer. [How](../how-to/ecmp.md#limit-the-next-hops).',
  }),
  linkBandwidth,
};

/** Fields and defaults are MetalLB's (v1beta1), plus Herald's additions. */
export const bgpAdvertisement = defineKind({
  kind: 'BGPAdvertisement',
  plural: 'bgpadvertisements',
  shortNames: ['hadv'],
  description: 'Which addresses are announced to which BGP peers, from which nodes, and how.',
  spec: object(fields, {
    relations: [
      {
        at: 'serviceSelectors',
        message: 'select single Services, and an aggregate covers others too',
        fix: 'use aggregationLength 32 and aggregationLengthV6 128',
        cel: '!has(self.serviceSelectors) || self.serviceSelectors.size() == 0 || (self.aggregationLength == 32 && self.aggregationLengthV6 == 128)',
        holds: ({ serviceSelectors = [], aggregationLength = 32, aggregationLengthV6 = 128 }) =>
          serviceSelectors.length === 0 || (aggregationLength === 32 && aggregationLengthV6 === 128),
        broken: { serviceSelectors: [{}], aggregationLength: 24 },
      },
      {
        at: 'linkBandwidth',
        message: 'by endpoints is about a single Service, and an aggregate covers others too',
        fix: 'use aggregationLength 32 and aggregationLengthV6 128, or linkBandwidth.megabitsPerNode',
        cel: '!has(self.linkBandwidth) || !has(self.linkBandwidth.megabitsPerEndpoint) || (self.aggregationLength == 32 && self.aggregationLengthV6 == 128)',
        holds: ({ linkBandwidth: bandwidth, aggregationLength = 32, aggregationLengthV6 = 128 }) =>
          bandwidth?.megabitsPerEndpoint === undefined || (aggregationLength === 32 && aggregationLengthV6 === 128),
        broken: { linkBandwidth: { megabitsPerEndpoint: 1 }, aggregationLength: 24 },
      },
    ],
  }),
  status: object({ conditions }),
  columns: [
    { name: 'Address Types', type: 'string', path: '.spec.addressTypes' },
    { name: 'IPAddressPools', type: 'string', path: '.spec.ipAddressPools' },
    { name: 'Peers', type: 'string', path: '.spec.peers' },
    ...conditionColumns,
    { name: 'IPAddressPool Selectors', type: 'string', path: '.spec.ipAddressPoolSelectors', wide: true },
    { name: 'Node Selectors', type: 'string', path: '.spec.nodeSelectors', wide: true },
    age,
  ],
  example: {},
  object: ({ addressTypes, ...rest }) => ({
    ...rest,
    addressTypes: addressTypes.length === 0 ? (['LoadBalancer'] satisfies readonly AddressType[]) : addressTypes,
  }),
});

export type BGPAdvertisement = ObjectOfKind<typeof bgpAdvertisement>;
