import { formatAddress, type Address, type Family } from '../../net/address.ts';
import type { SlotTableSize } from '../../net/frontend.ts';
import type { LoadBalancing } from './load-balancing.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { EndpointPort } from './endpoint-slice.ts';
import type { Metadata } from './metadata.ts';
import type { RecordedPool } from './pool-record.ts';

/** core/v1 Service with every default filled in: the fields that decisions use. */
export interface Service {
  readonly kind: 'Service';
  readonly metadata: Metadata;
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';
  readonly headless: boolean;
  /** Empty for headless Services and ExternalName. The first is of the primary family. */
  readonly clusterIPs: readonly Address[];
  /** In order of preference. Empty only for ExternalName. */
  readonly ipFamilies: readonly Family[];
  readonly ipFamilyPolicy: 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';
  readonly ports: readonly ServicePort[];
  readonly hasSelector: boolean;
  /** The selector as sorted "key=value,..." text. Equal selectors have equal text. */
  readonly selectorText: string;
  readonly externalIPs: readonly Address[];
  readonly externalTrafficPolicy: 'Cluster' | 'Local';
  readonly internalTrafficPolicy: 'Cluster' | 'Local';
  /** Timeout of sessionAffinity: ClientIP. Absent: sessionAffinity is None. */
  readonly affinitySeconds?: number;
  readonly loadBalancerClass?: string;
  /** spec.loadBalancerIP or the annotation herald.dev/load-balancer-ips, without duplicates. The Service gets all of them or none. */
  readonly requestedAddresses: readonly Address[];
  /** Annotation herald.dev/address-pool. */
  readonly requestedPool?: string;
  /** The annotations of another program that name addresses or pool. Absent: they are Herald's, or there are none. */
  readonly requestedBy?: readonly string[];
  /** Annotation herald.dev/allow-shared-ip. */
  readonly sharingKey?: string;
  /** Annotation herald.dev/allow-shared-ip-namespaces: names, or "*". It need not contain the Service's own namespace. */
  readonly sharingNamespaces: readonly string[];
  /** Annotation herald.dev/keep-addresses: while the Service is renumbered it holds both its old and its new address. */
  readonly keepsAddresses: boolean;
  /** Annotation herald.dev/load-balancing. Absent: as HeraldConfig says. */
  readonly loadBalancing?: LoadBalancing;
  /** Annotation herald.dev/hash-slots. Absent: as HeraldConfig says. */
  readonly hashSlots?: SlotTableSize;
  /** Annotation herald.dev/direct-return. Absent: as HeraldConfig says. */
  readonly directReturn?: boolean;
  /** Annotation herald.dev/reset-on-removal. */
  readonly resetOnRemoval?: boolean;
  /** Annotation herald.dev/icmp-echo. Absent: as HeraldConfig says. */
  readonly icmpEcho?: boolean;
  /** Annotation herald.dev/hostname: the host name written beside the addresses in the status. */
  readonly hostname?: string;
  /** Annotation herald.dev/drain: the Service keeps its addresses, but no node announces them. */
  readonly drain?: boolean;
  /** Annotation herald.dev/advertise-cluster-ip. Absent: as HeraldConfig says. */
  readonly advertiseClusterIP?: boolean;
  /** Annotation herald.dev/advertise-external-ips. Absent: as HeraldConfig says. */
  readonly advertiseExternalIPs?: boolean;
  /** The request for an address is not valid. The Service gets no address until it is corrected. Forwarding is not affected. */
  readonly invalidRequest?: { readonly field: string; readonly problem: string };
  /** Allowed sources. Empty means no restriction; 0.0.0.0/0 and ::/0 were already resolved to that. */
  readonly loadBalancerSourceRanges: readonly Prefix[];
  readonly allocateLoadBalancerNodePorts: boolean;
  /** 0 when not set. */
  readonly healthCheckNodePort: number;
  /** Label service.kubernetes.io/service-proxy-name: another proxy forwards the Service. */
  readonly serviceProxyName?: string;
  /** status.loadBalancer.ingress: the record of the assigned addresses. */
  readonly ingress: readonly Ingress[];
  /**
   * The record says that another Service holds an address that this one holds or requests (condition AddressAssigned, reason AddressTaken).
   */
  readonly addressTaken?: true;
  /** The terms of sharing for which the controller decided on the addresses on record. Absent: the Service did not share, or not known. */
  readonly recordedTerms?: string;
  /** The pools of the addresses on record. Absent: not known. An address that no pool contains any more is announced as one of its recorded pool. */
  readonly recordedPools?: readonly RecordedPool[];
}

/** The name is "" when the Service has one port without a name. */
export interface ServicePort extends EndpointPort {
  /** 0 when not set. */
  readonly nodePort: number;
  readonly targetPort: number | string;
}

export interface Ingress {
  readonly address?: Address;
  readonly hostname?: string;
  /** KEP-1860: with Proxy, nodes must not answer the address themselves. */
  readonly ipMode: 'VIP' | 'Proxy';
}

/** Returns the recorded addresses and host names as text. */
export function ingressTexts({ ingress }: Pick<Service, 'ingress'>): string[] {
  return ingress.map(({ address, hostname = '' }) => (address === undefined ? hostname : formatAddress(address)));
}

/** Returns the recorded addresses that nodes announce and answer. */
export function assignedAddresses(service: Service): Address[] {
  return service.ingress.flatMap(({ address, ipMode }) => (address !== undefined && ipMode === 'VIP' ? [address] : []));
}
