import { pathKinds } from '../../net/direct-return.ts';
import { slotTableSizes } from '../../net/frontend.ts';
import { limits } from '../limits.ts';
import { loadBalancingNames, loadBalancingOf } from '../objects/load-balancing.ts';
import { boolean, choice, integer, list, object, parsed, text, type ObjectOf } from '../schema/fields.ts';
import { cidr, interfacePattern, labelName, loadBalancerClass } from '../schema/grammars.ts';
import { defaultsOf, defineKind, type ObjectOfKind, type ReadContext } from '../schema/kind.ts';
import { age, conditionColumns, conditions } from '../schema/status.ts';
import type { ObjectValue, Value } from '../schema/value.ts';
import { compatPrograms } from '../reading/compat-programs.ts';
import { checkModes } from '../objects/node-state.ts';
import { providerTables } from '../provider-tables.ts';

/**
 * The frontends that Herald forwards. all: every one, instead of kube-proxy. external: those that clients outside the cluster use
 * (NodePorts, load balancer addresses, external IPs), beside kube-proxy. none: nothing, because another program forwards.
 */
const servicesScopes = ['all', 'external', 'none'] as const;
export type ServicesScope = (typeof servicesScopes)[number];

/** auto: l2 or else route for nodes on the same link, vxlan for other nodes. */
const directReturnModes = ['auto', ...pathKinds] as const;
export type DirectReturnMode = (typeof directReturnModes)[number];

/** withdraw: a node that cannot forward an address family withdraws its routes. report: it only reports the problem. */
const hostProblemActions = ['withdraw', 'report'] as const;

/** Differs from kube-proxy's default bit, which is 14 and was 15. Cilium and Calico use bits 8 to 11 and 16 to 31. */
const besideKubeProxyBit = 13;
const aloneBit = 14;

/** The kernel stores these as 32-bit numbers, and timeouts in hundredths of a second or less. */
const connections = { min: 0, max: 16_777_216 } as const;
const times = { min: 0, max: 2_000_000 } as const;

/** Names and defaults are those of kube-proxy. */
export const conntrack = object(
  {
    maxPerCore: integer({ ...connections, default: 32_768, description: 'Connections for each core, or `min` if that is more.' }),
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
      description:
        'How long routes carry the community GRACEFUL_SHUTDOWN before they are withdrawn, so that routers can switch to other routes.',
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

const fields = {
  services: choice(servicesScopes, {
    default: 'all',
    description:
      'What Herald forwards. `all`: everything. `external`: NodePorts, load balancer addresses and external IPs, beside kube-proxy. `none`: nothing, because another program forwards. [Beside kube-proxy](../explanation/beside-kube-proxy.md).',
  }),
  podCIDRs: cidrs({
    unset: 'the podCIDRs of all Nodes, unless there are `podInterfaces`',
    description:
      'Sources inside these prefixes are pods: their traffic to ClusterIPs is not masqueraded, and policy Local gives them every endpoint. If nothing is known about the pods of a family, no ClusterIP traffic of that family is masqueraded, as with kube-proxy.',
  }),
  podInterfaces: list(parsed(interfacePattern), {
    maxItems: limits.podInterfaces,
    description:
      "Packets that enter by one of these interfaces also come from a pod. An entry is a name (`cni0`) or a prefix with `*` (`cali*`), like kube-proxy's BridgeInterface and InterfaceNamePrefix.",
  }),
  localhostNodePorts: boolean({
    default: false,
    description:
      'TCP NodePorts are also served on 127.0.0.1 and ::1, for programs on the node itself (KEP-6032). The agent forwards these connections, so they end when it stops.',
  }),
  icmpEcho: boolean({
    default: false,
    description:
      'This node answers ICMP echo requests (ping) to load balancer addresses and external IPs while it has a backend for them, unless their Service says otherwise. It answers by translating the address to its own, the first InternalIP of the family. The addresses do not become local, so nothing else on the node can be reached through them.',
  }),
  masqueradeAll: boolean({ default: false, description: 'ClusterIP traffic is masqueraded from every source.' }),
  serviceCIDRs: cidrs({
    unset: 'none',
    description:
      'Packets to addresses inside these prefixes and those of ServiceCIDR objects are dropped when no Service owns the address.',
  }),
  nodePortAddresses: cidrs({
    unset: 'the first InternalIP of each family',
    description:
      'Node addresses inside these prefixes accept NodePort traffic, like `--nodeport-addresses` of kube-proxy. Loopback addresses never do.',
  }),
  serviceProxyName: text({
    maxLength: 63,
    unset: 'none',
    description: 'Services with this value of the label `service.kubernetes.io/service-proxy-name` are forwarded too.',
  }),
  sourceRangesEverywhere: boolean({
    default: false,
    description: '`loadBalancerSourceRanges` of a Service also restrict its NodePorts and external IPs.',
  }),
  advertiseClusterIPs: boolean({
    default: true,
    description:
      'ClusterIPs of Services that do not say otherwise (`herald.dev/advertise-cluster-ip`) are announced if a BGPAdvertisement covers them. With false, only those of Services that ask for it.',
  }),
  advertiseExternalIPs: boolean({
    default: true,
    description: 'The same for external IPs (`herald.dev/advertise-external-ips`).',
  }),
  answerOnLocalLinks: boolean({
    default: false,
    description:
      'Load balancer addresses that a BGPAdvertisement announces are also answered by ARP and NDP on the links whose network contains them, as by an L2Advertisement with the same pools, nodes and Services: machines of the network of the nodes ask the link for such an address, and not a router. One node answers for an address, among those that its BGPAdvertisement selects and that have a peer for it. An L2Advertisement for the address decides instead. [When this is needed](host.md#a-pool-inside-the-network-of-the-nodes).',
  }),
  conntrack,
  nodeDrain,
  hostProblems: choice(hostProblemActions, {
    default: 'withdraw',
    description:
      'What a node does that certainly cannot forward an address family, because a kernel setting or a filter of another program prevents it. `withdraw`: it [withdraws its routes](host.md#a-node-that-cannot-forward) of that family after 10 s, unless no other node announces the address. `report`: it only reports the problem.',
  }),
  masqueradeBit: integer({
    min: 0,
    max: 31,
    unset: `${aloneBit}; ${besideKubeProxyBit} unless \`services\` is \`all\``,
    description:
      "Bit of the packet mark that requests masquerade. Beside kube-proxy it must differ from kube-proxy's bit, which is 14 by default (MasqueradeBitShared).",
  }),
  loadBalancerClass: parsed(loadBalancerClass, { unset: '`herald.dev/herald`', description: 'Herald serves Services of this class.' }),
  defaultClass: boolean({
    unset: 'true over a directory and with `metallb` in `compat`, else false',
    description:
      'Herald also serves Services without a class. A Service that Herald no longer serves after a change of this field or `loadBalancerClass` is not announced, but keeps its address until the Service changes its type or class, or is deleted.',
  }),
  compat: list(choice(compatPrograms), {
    maxItems: compatPrograms.length,
    orText: 'none',
    unset: 'none',
    description:
      "Programs whose [annotations on Services](import.md#annotations-of-services) are read as if they were Herald's: `compat: [metallb, cilium]`. One program needs no list, and `none` is the empty list. `metallb` also reads objects of `metallb.io` ([migrating](../how-to/migrate-from-metallb.md)).",
  }),
  compatNamespace: parsed(labelName, {
    unset: 'metallb-system',
    description: 'The only namespace whose MetalLB objects are read. MetalLB also reads only its own namespace.',
  }),
  drainSeconds: integer({
    min: 0,
    max: 3600,
    default: 10,
    description: 'How long rules stay after their route was withdrawn.',
  }),
  checks: choice(checkModes, {
    default: 'passive',
    description:
      'How agents find out whether connections are answered. `passive`: they watch those of clients, and the way to each endpoint. `active`: they also open TCP connections to endpoints without traffic, which programs such as databases log. `off`: they do not look.',
  }),
  loadBalancing: choice(loadBalancingNames, {
    default: 'random',
    description:
      'How an endpoint is chosen for a new connection to Services that do not say otherwise (`herald.dev/load-balancing`), at every address and NodePort. [Load balancing](../explanation/load-balancing.md) explains the values.',
  }),
  consistentHashing: boolean({
    default: false,
    description:
      'Load balancer addresses and external IPs of Services with `externalTrafficPolicy: Cluster` that do not say otherwise use [consistent hashing](../explanation/consistent-hashing.md), whatever `loadBalancing` is.',
  }),
  hashSlots: choice(slotTableSizes, {
    default: 1021,
    description: 'Number of slots for each address and port under a hash, for Services that do not say otherwise.',
  }),
  directReturn: boolean({
    default: false,
    description: 'Services with consistent hashing that do not say otherwise use [direct server return](../explanation/direct-return.md).',
  }),
};

/** These follow the parts of providers. */
const lastFields = {
  directReturnMode: choice(directReturnModes, {
    default: 'auto',
    description:
      'How packets get from node to node. `auto`: `l2`, else `route`, between nodes on the same link, and `vxlan` between others.',
  }),
};

const ownFields = { ...fields, ...lastFields };

/** The fields of the core, and a part for each provider that brings one. */
export const heraldConfigSpec: ObjectOf<typeof ownFields, false> = {
  ...object(ownFields, { impliedDefaults: true }),
  get fields() {
    const parts = providerTables().flatMap(({ config }) => (config === undefined ? [] : [[config.name, config.schema] as const]));
    return { ...fields, ...Object.fromEntries(parts), ...lastFields };
  },
};

/** Settings that all nodes share: HeraldConfig/default, the only object of its kind. */
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
    ...conditionColumns,
    age,
  ],
  example: {},
  object: settings,
});

export type HeraldConfig = ObjectOfKind<typeof heraldConfig>;
export type ConntrackConfig = Value<typeof conntrack>;

/** Fills in the defaults that depend on other fields. */
export function settings(written: ObjectValue<typeof ownFields>, { standalone }: ReadContext) {
  const { spec, parts } = withoutParts(written);
  return {
    ...spec,
    parts,
    loadBalancing: loadBalancingOf(spec.loadBalancing) ?? 'random',
    masqueradeBit: spec.masqueradeBit ?? (spec.services === 'all' ? aloneBit : besideKubeProxyBit),
    loadBalancerClass: spec.loadBalancerClass ?? 'herald.dev/herald',
    // In a cluster a Service without a class may belong to another controller. MetalLB without --lb-class serves such Services.
    defaultClass: spec.defaultClass ?? (standalone || spec.compat.includes('metallb')),
    nodeDrain: spec.nodeDrain ?? defaultsOf(nodeDrain),
    compatNamespace: spec.compatNamespace ?? 'metallb-system',
  };
}

/** Takes the parts of providers out of what is written. */
function withoutParts<T extends object>(written: T): { readonly spec: T; readonly parts: Readonly<Record<string, unknown>> } {
  const spec = { ...written } as Record<string, unknown>;
  const parts: Record<string, unknown> = {};
  for (const { config } of providerTables()) {
    if (config === undefined) continue;
    parts[config.name] = config.read(spec[config.name]);
    delete spec[config.name];
  }
  return { spec: spec as T, parts };
}
