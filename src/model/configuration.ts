import type { Address } from '../net/address.ts';
import type { SlotTableSize } from '../net/frontend.ts';
import { passingWays } from '../net/direct-return.ts';
import type { Prefix } from '../net/prefix.ts';
import type { AddressRange } from '../net/range.ts';
import type { Metadata, NamespacedName, ServiceKey } from './metadata.ts';
import type { LabelSelector } from './selector.ts';

/** Herald's own kinds, herald.dev/v1alpha1, validated and with defaults. Field names are MetalLB's where it has them. */

export interface IPAddressPool {
  readonly kind: 'IPAddressPool';
  readonly metadata: Metadata;
  /** In the order written. */
  readonly addresses: readonly AddressRange[];
  readonly autoAssign: boolean;
  readonly avoidBuggyIPs: boolean;
  readonly serviceAllocation?: ServiceAllocation;
  /** It gives nothing new; what was given stays. */
  readonly draining: boolean;
  /** Addresses of the pool that only the named Services get. No address twice. */
  readonly reservations: readonly Reservation[];
  /** How long what a Service held is kept for it after it let go. 0: not at all. */
  readonly keepReleasedSeconds: number;
  /** A namespace that several select may hold the least of what they say. */
  readonly quota: readonly Quota[];
}

export interface Reservation {
  /** Need not exist. */
  readonly service: ServiceKey;
  readonly address: Address;
}

export interface Quota {
  readonly namespaceSelector: LabelSelector;
  /** Of the pool, that each of these namespaces may hold, both families together. */
  readonly addresses: number;
}

export interface ServiceAllocation {
  /** Lower is better; 0 means unset and is worst. */
  readonly priority: number;
  readonly namespaces: readonly string[];
  readonly namespaceSelectors: readonly LabelSelector[];
  readonly serviceSelectors: readonly LabelSelector[];
}

export interface BGPPeer {
  readonly kind: 'BGPPeer';
  readonly metadata: Metadata;
  readonly myASN: number;
  /** Exactly one of peerASN and dynamicASN is there. */
  readonly peerASN?: number;
  readonly dynamicASN?: 'internal' | 'external';
  /** What this peer takes us for in place of myASN, in OPEN and in AS_PATH. */
  readonly localASN?: number;
  /** Absent: the router that advertises itself on `interface` (unnumbered). One of the two is there. */
  readonly peerAddress?: Address;
  /** The session uses this network interface only. A link-local peerAddress has it. */
  readonly interface?: string;
  readonly peerPort: number;
  readonly sourceAddress?: Address;
  /** Seconds. 0: neither hold timer nor keepalives (RFC 4271 4.2). */
  readonly holdTimeSeconds: number;
  readonly keepaliveTimeSeconds: number;
  readonly connectTimeSeconds?: number;
  readonly routerID?: Address;
  readonly nodeSelectors: readonly LabelSelector[];
  readonly password?: string;
  readonly passwordSecret?: NamespacedName;
  readonly ebgpMultiHop: boolean;
  /** RFC 5082: the peer is this many hops away at most. Never together with ebgpMultiHop. */
  readonly ttlSecurityHops?: number;
  readonly enableGracefulRestart: boolean;
  /** Both families over this session; else only the family of peerAddress. Without a peerAddress it is both in any case. */
  readonly dualStackAddressFamily: boolean;
  readonly passive: boolean;
  readonly adminDown: boolean;
  readonly shutdownMessage?: string;
}

export type AddressType = 'LoadBalancer' | 'ClusterIP' | 'ExternalIP';

export interface BGPAdvertisement {
  readonly kind: 'BGPAdvertisement';
  readonly metadata: Metadata;
  /** Default [LoadBalancer]. */
  readonly addressTypes: readonly AddressType[];
  /** Names and selectors are alternatives; both empty: all pools. They restrict LoadBalancer addresses only. */
  readonly ipAddressPools: readonly string[];
  readonly ipAddressPoolSelectors: readonly LabelSelector[];
  readonly aggregationLength: number;
  readonly aggregationLengthV6: number;
  /** Sent on internal sessions only; 0 is the field's default and means "not set". */
  readonly localPref: number;
  readonly med?: number;
  readonly asPathPrepend: number;
  /** As written: "65000:100", "large:1:2:3", a well-known name, or the name of an alias in a Community object. */
  readonly communities: readonly string[];
  readonly nodeSelectors: readonly LabelSelector[];
  readonly serviceSelectors: readonly LabelSelector[];
  /** Names of BGPPeers; empty: all. */
  readonly peers: readonly string[];
}

export interface Community {
  readonly kind: 'Community';
  readonly metadata: Metadata;
  readonly communities: readonly { readonly name: string; readonly value: string }[];
}

/** externalIPs are forwarded and announced only where one of these allows it (CVE-2020-8554). */
export interface ExternalIPPolicy {
  readonly kind: 'ExternalIPPolicy';
  readonly metadata: Metadata;
  readonly namespaceSelector: LabelSelector;
  readonly cidrs: readonly Prefix[];
}

/**
 * What Herald forwards: everything, as there is no kube-proxy; what clients outside of the cluster use (NodePorts, load
 * balancer addresses, external IPs), beside a kube-proxy; or nothing, as another program does.
 */
export type ServicesScope = 'all' | 'external' | 'none';

/** Settings of connection tracking, under the names of kube-proxy's. 0: as the host has it. */
export interface ConntrackConfig {
  /** Connections; those of all cores together, or `min` where that is more. */
  readonly maxPerCore: number;
  readonly min: number;
  readonly tcpEstablishedSeconds: number;
  readonly tcpCloseWaitSeconds: number;
  readonly udpSeconds: number;
  readonly udpStreamSeconds: number;
}

/** The settings that all nodes share: HeraldConfig/default. */
export interface HeraldConfig {
  readonly kind: 'HeraldConfig';
  readonly metadata: Metadata;
  readonly services: ServicesScope;
  /** Sources inside are pods. Empty, and without podInterfaces: the union of the Nodes' podCIDRs. */
  readonly podCIDRs: readonly Prefix[];
  /** What comes in by one of these is from a pod: names of interfaces, or with a "*" at the end how they begin. */
  readonly podInterfaces: readonly string[];
  /** ClusterIP traffic is masqueraded whoever sent it. */
  readonly masqueradeAll: boolean;
  /** External addresses answer ICMP echo requests where they have a backend, unless their Service says otherwise. */
  readonly icmpEcho: boolean;
  /** Packets to addresses inside that no Service owns are dropped. */
  readonly serviceCIDRs: readonly Prefix[];
  /** Addresses of nodes inside take NodePort traffic. Empty: the primary address of each family. */
  readonly nodePortAddresses: readonly Prefix[];
  /** NodePorts of TCP are answered on the loopback addresses as well. */
  readonly localhostNodePorts: boolean;
  /** Services with this value of the label service.kubernetes.io/service-proxy-name are served as well. Absent: none. */
  readonly serviceProxyName?: string;
  /** loadBalancerSourceRanges guard the NodePorts and external IPs of a Service as well. */
  readonly sourceRangesEverywhere: boolean;
  /** Not kube-proxy's where Herald forwards beside it. */
  readonly masqueradeBit: number;
  /** Absent: kube-proxy's values where Herald takes its place (services: all), else nothing is set. */
  readonly conntrack?: ConntrackConfig;
  /** Services with externalTrafficPolicy Cluster that do not say otherwise use consistent hashing. */
  readonly consistentHashing: boolean;
  /** Slots of Services that do not say otherwise. */
  readonly hashSlots: SlotTableSize;
  /** Services of this class are ours. */
  readonly loadBalancerClass: string;
  /** Whether Services without a class are ours too. Standalone: true, as there is nobody else. */
  readonly defaultClass: boolean;
  /** metallb: objects and annotations of MetalLB are read as if they were ours, and `defaultClass` is true unless it is written. */
  readonly compat: Compat;
  /** The only namespace whose MetalLB objects count, as MetalLB itself reads only its own. */
  readonly compatNamespace: string;
  /** How long rules stay after the route that led to them was withdrawn. */
  readonly drainSeconds: number;
  /** Services with consistent hashing that do not say otherwise use direct server return. */
  readonly directReturn: boolean;
  readonly directReturnMode: DirectReturnMode;
}

export const compats = ['none', 'metallb'] as const;
export type Compat = (typeof compats)[number];

/** auto: l2, else route, for nodes on the same link; vxlan for the others. */
export const directReturnModes = ['auto', ...passingWays] as const;
export type DirectReturnMode = (typeof directReturnModes)[number];
