import type { Address, Family } from '../../net/address.ts';
import type { Protocol, SlotTableSize } from '../../net/frontend.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Metadata } from './metadata.ts';

/** core/v1 Service with every default filled in: what the decisions use of it. */
export interface Service {
  readonly kind: 'Service';
  readonly metadata: Metadata;
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';
  readonly headless: boolean;
  /** Empty for headless and ExternalName. The first is the primary family's. */
  readonly clusterIPs: readonly Address[];
  /** In order of preference; never empty except for ExternalName. */
  readonly ipFamilies: readonly Family[];
  readonly ipFamilyPolicy: 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';
  readonly ports: readonly ServicePort[];
  readonly hasSelector: boolean;
  /** The selector as sorted "key=value,..." text: equal selectors have equal text. */
  readonly selectorText: string;
  readonly externalIPs: readonly Address[];
  readonly externalTrafficPolicy: 'Cluster' | 'Local';
  readonly internalTrafficPolicy: 'Cluster' | 'Local';
  /** sessionAffinity: ClientIP with this timeout. Absent: None. */
  readonly affinitySeconds?: number;
  readonly loadBalancerClass?: string;
  /** spec.loadBalancerIP or the annotation herald.dev/load-balancer-ips, without duplicates: the Service has all of them or none. */
  readonly requestedAddresses: readonly Address[];
  /** Annotation herald.dev/address-pool. */
  readonly requestedPool?: string;
  /** Annotation herald.dev/allow-shared-ip. */
  readonly sharingKey?: string;
  /** Annotation herald.dev/allow-shared-ip-namespaces: names, or "*". Its own namespace need not be there. */
  readonly sharingNamespaces: readonly string[];
  /** Annotation herald.dev/keep-addresses: while it is renumbered, both addresses are its own. */
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
  /** Annotation herald.dev/hostname: stands beside its addresses in the status. */
  readonly hostname?: string;
  /** Annotation herald.dev/drain: it keeps its addresses, and nobody announces them. */
  readonly drain?: boolean;
  /** Annotation herald.dev/advertise-cluster-ip. Absent: as HeraldConfig says. */
  readonly advertiseClusterIP?: boolean;
  /** Annotation herald.dev/advertise-external-ips. Absent: as HeraldConfig says. */
  readonly advertiseExternalIPs?: boolean;
  /** The request itself cannot be understood: no address is given until it is corrected. Nothing else is affected. */
  readonly invalidRequest?: { readonly field: string; readonly problem: string };
  /** Only a restriction where not empty; 0.0.0.0/0 and ::/0 have been resolved to "no restriction". */
  readonly loadBalancerSourceRanges: readonly Prefix[];
  readonly allocateLoadBalancerNodePorts: boolean;
  /** 0: none. */
  readonly healthCheckNodePort: number;
  /** Label service.kubernetes.io/service-proxy-name: another proxy serves it. */
  readonly serviceProxyName?: string;
  /** status.loadBalancer.ingress: the record of what was assigned. */
  readonly ingress: readonly Ingress[];
  /** On record: another Service has what it holds or asks for (condition AddressAssigned, reason AddressTaken). */
  readonly addressTaken?: true;
}

export const loadBalancings = ['consistent', 'random'] as const;
type LoadBalancing = (typeof loadBalancings)[number];

export interface ServicePort {
  /** "" where the only port has no name. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** 0: none. */
  readonly nodePort: number;
  readonly targetPort: number | string;
}

export interface Ingress {
  readonly address?: Address;
  readonly hostname?: string;
  /** KEP-1860: Proxy means that nodes must not answer the address themselves. */
  readonly ipMode: 'VIP' | 'Proxy';
}

/** The addresses of the record that nodes announce and answer. */
export function assignedAddresses(service: Service): Address[] {
  return service.ingress.flatMap(({ address, ipMode }) => (address !== undefined && ipMode === 'VIP' ? [address] : []));
}

/** Whether both ask to share their addresses with Services of one key. */
export function haveSameSharingKey(a: Pick<Service, 'sharingKey'>, b: Pick<Service, 'sharingKey'>): boolean {
  return a.sharingKey !== undefined && a.sharingKey !== '' && a.sharingKey === b.sharingKey;
}
