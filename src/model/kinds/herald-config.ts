import { pathKinds } from '../../net/direct-return.ts';
import { slotTableSizes } from '../../net/frontend.ts';
import { limits } from '../limits.ts';
import { boolean, choice, integer, list, object, parsed, text } from '../schema/fields.ts';
import { cidr, interfacePattern, labelName, loadBalancerClass } from '../schema/grammars.ts';
import { defaultsOf, defineKind, type ObjectOfKind, type ReadContext } from '../schema/kind.ts';
import { accepted, age, conditions, ready, reason } from '../schema/status.ts';
import type { ObjectValue, Value } from '../schema/value.ts';

/**
 * What Herald forwards: everything, as there is no kube-proxy; what clients outside of the cluster use (NodePorts, load
 * balancer addresses, external IPs), beside a kube-proxy; or nothing, as another program does.
 */
const servicesScopes = ['all', 'external', 'none'] as const;
export type ServicesScope = (typeof servicesScopes)[number];

/** auto: l2, else route, for nodes on the same link; vxlan for the others. */
const directReturnModes = ['auto', ...pathKinds] as const;
export type DirectReturnMode = (typeof directReturnModes)[number];

const compats = ['none', 'metallb'] as const;
export type Compat = (typeof compats)[number];

/** Not kube-proxy's, which has 14 unless it is told otherwise, and had 15. Cilium uses 8 to 11 and 16 to 31, as Calico does. */
const besideKubeProxyBit = 13;
const aloneBit = 14;

/** The kernel's numbers are 32 bits, and times of a table are kept in hundredths of a second and less. */
const connections = { min: 0, max: 16_777_216 } as const;
const times = { min: 0, max: 2_000_000 } as const;

/** Under the names of kube-proxy's, with its defaults. */
export const conntrack = object(
  {
    maxPerCore: integer({ ...connections, default: 32_768, description: 'Connections for each core, or `min` where that is more.' }),
    min: integer({ ...connections, default: 131_072, description: 'Connections of all cores together, at least.' }),
    tcpEstablishedSeconds: integer({ ...times, default: 86_400, description: 'How long an idle TCP connection is remembered.' }),
    tcpCloseWaitSeconds: integer({ ...times, default: 3600, description: 'The same in CLOSE_WAIT.' }),
    udpSeconds: integer({ ...times, default: 0, description: 'How long a UDP flow without an answer is remembered.' }),
    udpStreamSeconds: integer({ ...times, default: 0, description: 'How long a UDP flow with answers is remembered.' }),
  },
  {
    impliedDefaults: true,
    unset: 'these with `services: all`, else nothing is set',
    description: "[Settings](host.md) of connection tracking, as kube-proxy's; 0 leaves one as the host has it.",
  },
);

export const nodeDrain = object(
  {
    taint: text({
      maxLength: 253,
      unset: 'none',
      description: 'Nodes with a taint of this key are drained, as if they had the annotation `herald.dev/drain: "true"`.',
    }),
    settleSeconds: integer({
      min: 0,
      max: 3600,
      default: 10,
      description: 'How long routes carry the community GRACEFUL_SHUTDOWN before they go: routers find other ways meanwhile.',
    }),
    deadlineSeconds: integer({
      min: 0,
      max: 86_400,
      default: 300,
      description: 'After this time without routes the node counts as drained, even if connections are left.',
    }),
  },
  {
    impliedDefaults: true,
    unset: 'these',
    description: 'How a node is [drained](../how-to/drain.md) that has the annotation `herald.dev/drain`.',
  },
);

const cidrs = (options: { readonly unset: string; readonly description: string }) =>
  list(parsed(cidr), { ...options, maxItems: limits.cidrs });

const heraldConfigFields = {
  services: choice(servicesScopes, {
    default: 'all',
    description:
      'What Herald forwards: everything; NodePorts, load balancer addresses and external IPs beside a kube-proxy; nothing, as another program does. [Beside kube-proxy](../explanation/beside-kube-proxy.md).',
  }),
  podCIDRs: cidrs({
    unset: 'the podCIDRs of all Nodes, unless there are `podInterfaces`',
    description:
      "Sources inside are pods: their traffic to ClusterIPs is not masqueraded, and policy Local gives them every endpoint. Where nothing is known of the pods of a family, nobody's ClusterIP traffic is masqueraded, as with kube-proxy.",
  }),
  podInterfaces: list(parsed(interfacePattern), {
    maxItems: limits.podInterfaces,
    description:
      "What comes in by one of these interfaces is from a pod as well: a name (`cni0`), or with a `*` how it begins (`cali*`); kube-proxy's BridgeInterface and InterfaceNamePrefix.",
  }),
  localhostNodePorts: boolean({
    default: false,
    description:
      'NodePorts of TCP are answered on 127.0.0.1 and ::1, too, for programs of the node itself (KEP-6032). The agent passes such connections on, so they end with it.',
  }),
  icmpEcho: boolean({
    default: false,
    description:
      'This node answers ICMP echo requests (ping) to load balancer addresses and external IPs while it has a backend for them, unless their Service says otherwise. It answers with its own address, the first InternalIP of the family, put in the place of theirs: they are not made local, so nothing else on the node is reached by them.',
  }),
  masqueradeAll: boolean({ default: false, description: 'ClusterIP traffic is masqueraded whoever sent it.' }),
  serviceCIDRs: cidrs({
    unset: 'none',
    description: 'With those of ServiceCIDR objects: packets to addresses inside that no Service owns are dropped.',
  }),
  nodePortAddresses: cidrs({
    unset: 'the first InternalIP of each family',
    description: 'Addresses of nodes that take NodePort traffic, as `--nodeport-addresses` of kube-proxy. Loopback addresses never do.',
  }),
  serviceProxyName: text({
    maxLength: 63,
    unset: 'none',
    description: 'Services with this value of the label `service.kubernetes.io/service-proxy-name` are served as well.',
  }),
  sourceRangesEverywhere: boolean({
    default: false,
    description: '`loadBalancerSourceRanges` of a Service guard its NodePorts and external IPs as well.',
  }),
  advertiseClusterIPs: boolean({
    default: true,
    description:
      'ClusterIPs of Services that do not say otherwise (`herald.dev/advertise-cluster-ip`) are announced where a BGPAdvertisement covers them. false: only those of Services that ask for it.',
  }),
  advertiseExternalIPs: boolean({
    default: true,
    description: 'The same for external IPs (`herald.dev/advertise-external-ips`).',
  }),
  conntrack,
  nodeDrain,
  masqueradeBit: integer({
    min: 0,
    max: 31,
    unset: `${aloneBit}; ${besideKubeProxyBit} unless \`services\` is \`all\``,
    description:
      "Bit of the packet mark that asks for masquerade. Beside a kube-proxy it must not be kube-proxy's, which is 14 by default (MasqueradeBitShared).",
  }),
  loadBalancerClass: parsed(loadBalancerClass, { unset: '`herald.dev/herald`', description: 'Services of this class are ours.' }),
  defaultClass: boolean({
    unset: 'true over a directory and with `compat: metallb`, else false',
    description:
      'Services without a class are ours, too. A Service that ceases to be ours by this field or `loadBalancerClass` is not announced, but keeps its address until the Service itself changes its type or class, or goes.',
  }),
  compat: choice(compats, {
    default: 'none',
    description:
      'metallb: objects of `metallb.io` and annotations of MetalLB are read as if they were ours ([migrating](../how-to/migrate-from-metallb.md)).',
  }),
  compatNamespace: parsed(labelName, {
    unset: 'metallb-system',
    description: 'The only namespace whose MetalLB objects are read, as MetalLB reads only its own.',
  }),
  drainSeconds: integer({
    min: 0,
    max: 3600,
    default: 10,
    description: 'How long rules stay after their route was withdrawn.',
  }),
  consistentHashing: boolean({
    default: false,
    description:
      'Services with `externalTrafficPolicy: Cluster` that do not say otherwise use [consistent hashing](../explanation/consistent-hashing.md).',
  }),
  hashSlots: choice(slotTableSizes, {
    default: 1021,
    description: 'Slots of the Services that do not say otherwise, for each address and port.',
  }),
  directReturn: boolean({
    default: false,
    description: 'Services with consistent hashing that do not say otherwise use [direct server return](../explanation/direct-return.md).',
  }),
  directReturnMode: choice(directReturnModes, {
    default: 'auto',
    description:
      'How packets get from node to node. `auto`: `l2`, else `route`, between nodes on the same link, and `vxlan` between others.',
  }),
};

export const heraldConfigSpec = object(heraldConfigFields, { impliedDefaults: true });

/** The settings that all nodes share: HeraldConfig/default, the one object of its kind. */
export const heraldConfig = defineKind({
  kind: 'HeraldConfig',
  plural: 'heraldconfigs',
  shortNames: ['hconfig'],
  description: 'Settings that all nodes share. There is one object of this kind, `metadata.name: default`.',
  spec: heraldConfigSpec,
  status: object({ conditions }),
  nameRule: {
    cel: "self.metadata.name == 'default'",
    message: 'is not read: only HeraldConfig/default is',
    says: (name: string) => `is "${name}", and only HeraldConfig/default is read`,
    fix: 'set metadata.name: default',
    holds: (name: string) => name === 'default',
    broken: 'other',
  },
  columns: [
    { name: 'Services', type: 'string', path: '.spec.services' },
    { name: 'Class', type: 'string', path: '.spec.loadBalancerClass' },
    { name: 'Default Class', type: 'boolean', path: '.spec.defaultClass' },
    accepted,
    ready,
    reason,
    age,
  ],
  example: {},
  object: settings,
});

export type HeraldConfig = ObjectOfKind<typeof heraldConfig>;
export type ConntrackConfig = Value<typeof conntrack>;

/** The settings, with those defaults that depend on others. */
export function settings(spec: ObjectValue<typeof heraldConfigFields>, { standalone }: ReadContext) {
  return {
    ...spec,
    masqueradeBit: spec.masqueradeBit ?? (spec.services === 'all' ? aloneBit : besideKubeProxyBit),
    loadBalancerClass: spec.loadBalancerClass ?? 'herald.dev/herald',
    // In a cluster a Service without a class may be another controller's; MetalLB without --lb-class serves those.
    defaultClass: spec.defaultClass ?? (standalone || spec.compat === 'metallb'),
    nodeDrain: spec.nodeDrain ?? defaultsOf(nodeDrain),
    compatNamespace: spec.compatNamespace ?? 'metallb-system',
  };
}
