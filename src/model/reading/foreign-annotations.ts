import { annotations } from '../annotations.ts';
import { loadBalancingOf, loadBalancings } from '../objects/load-balancing.ts';

/** An annotation by which a Service asks another load balancer for something. Those that the other program writes are not here. */
export interface ForeignAnnotation {
  readonly name: string;
  /** The program that reads it. */
  readonly tool: string;
  /** Herald's annotation with the same meaning. Absent: there is none. */
  readonly ours?: string;
  /** Returns the value for `ours`. Undefined: this value has no equivalent. Absent: the value is the same. */
  readonly translate?: (value: string) => string | undefined;
  /** Says what the owner of the Service does where Herald has no equivalent. */
  readonly fix: string;
}

const { loadBalancerIPs, addressPool, allowSharedIP, allowSharedIPNamespaces } = annotations;

/** kube-vip takes an address of a Service from a DHCP server where one of these is in the list. */
const asksForLease = (value: string): boolean => value.split(',').some((one) => ['0.0.0.0', '::'].includes(one.trim()));

const same = (tool: string, ours: string, names: readonly string[]): ForeignAnnotation[] =>
  names.map((name) => ({ name, tool, ours, fix: '' }));
const none = (tool: string, name: string, fix: string): ForeignAnnotation => ({ name, tool, fix });

/** By the documentation of each program. */
export const foreignAnnotations: readonly ForeignAnnotation[] = [
  ...same('Cilium', loadBalancerIPs, ['lbipam.cilium.io/ips', 'io.cilium/lb-ipam-ips']),
  ...same('Cilium', allowSharedIP, ['lbipam.cilium.io/sharing-key', 'io.cilium/lb-ipam-sharing-key']),
  ...same('Cilium', allowSharedIPNamespaces, ['lbipam.cilium.io/sharing-cross-namespace', 'io.cilium/lb-ipam-sharing-cross-namespace']),
  {
    name: 'projectcalico.org/loadBalancerIPs',
    tool: 'Calico',
    ours: loadBalancerIPs,
    translate: (value) => jsonList(value)?.join(','),
    fix: `write ${loadBalancerIPs} with the addresses, separated by commas`,
  },
  ...['projectcalico.org/ipv4pools', 'projectcalico.org/ipv6pools'].map((name): ForeignAnnotation => ({
    name,
    tool: 'Calico',
    ours: addressPool,
    translate: (value) => {
      const [pool, ...others] = jsonList(value) ?? [];
      return pool === undefined || others.length > 0 || pool.includes('/') ? undefined : pool;
    },
    fix: `write ${addressPool} with the name of one pool`,
  })),
  {
    name: 'kube-vip.io/loadbalancerIPs',
    tool: 'kube-vip',
    ours: loadBalancerIPs,
    translate: (value) => (asksForLease(value) ? undefined : value),
    fix: `0.0.0.0 means an address from a DHCP server, which Herald does not ask: write ${loadBalancerIPs} with a fixed address, or remove it to get one of a pool`,
  },
  none('kube-vip', 'kube-vip.io/ignore', 'give the Service the loadBalancerClass of the program that serves it'),
  none('kube-vip', 'kube-vip.io/serviceInterface', 'write an L2Advertisement with interfaces, and serviceSelectors for this Service'),
  none('kube-vip', 'kube-vip.io/serviceVLAN', 'write an L2Advertisement with interfaces, and serviceSelectors for this Service'),
  none('kube-vip', 'kube-vip.io/hwaddr', 'it is about DHCP, which Herald does not ask: remove it'),
  none('kube-vip', 'kube-vip.io/requestedIP', `it is about DHCP, which Herald does not ask: write ${loadBalancerIPs}`),
  none('kube-vip', 'kube-vip.io/loadbalancerHostname', 'write the host name in the DNS'),
  none('kube-vip', 'kube-vip.io/ddns', 'write the host name in the DNS'),
  none('kube-vip', 'kube-vip.io/egress', "Herald has no egress: keep kube-vip for it, or use the network plugin's"),
  none('kube-vip', 'kube-vip.io/forwardUPNP', 'forward the ports in the router'),
  ...same('PureLB', loadBalancerIPs, ['purelb.io/addresses']),
  {
    name: 'purelb.io/service-group',
    tool: 'PureLB',
    ours: addressPool,
    translate: (value) => value.slice(value.lastIndexOf('/') + 1),
    fix: `write ${addressPool} with the name of the pool`,
  },
  ...same('PureLB', allowSharedIP, ['purelb.io/allow-shared-ip']),
  none('PureLB', 'purelb.io/allow-local', 'write externalTrafficPolicy: Local'),
  ...['clusterip', 'externalip', 'loadbalancerip'].map((kind) =>
    none(
      'kube-router',
      `kube-router.io/service.advertise.${kind}`,
      'write a BGPAdvertisement with addressTypes, and serviceSelectors for this Service',
    ),
  ),
  none('kube-router', 'kube-router.io/service.local', 'write externalTrafficPolicy: Local'),
  {
    name: 'kube-router.io/service.scheduler',
    tool: 'kube-router',
    ours: annotations.loadBalancing,
    translate: loadBalancingOf,
    fix: `write ${annotations.loadBalancing} with one of ${loadBalancings.join(', ')}`,
  },
  none('kube-router', 'kube-router.io/service.dsr', 'see direct server return, docs/explanation/direct-return.md'),
  ...same('OpenELB', addressPool, ['eip.openelb.kubesphere.io/v1alpha2']),
  none('OpenELB', 'lb.kubesphere.io/v1alpha1', 'set loadBalancerClass of the Service, or defaultClass in HeraldConfig'),
  none('OpenELB', 'protocol.openelb.kubesphere.io/v1alpha1', 'write a BGPAdvertisement or an L2Advertisement of the pool'),
];

const byName = new Map(foreignAnnotations.map((one) => [one.name, one]));

/** Finds an annotation of another load balancer that asks for something. MetalLB's have a table of their own. */
export const foreignAnnotation = (name: string, value: unknown): ForeignAnnotation | undefined =>
  typeof value === 'string' && value.trim() !== '' ? byName.get(name) : undefined;

/** Returns the value for Herald's annotation, or undefined with the fix when there is no equivalent. */
export function translateForeign(annotation: ForeignAnnotation, value: string): string | undefined {
  if (annotation.ours === undefined) return undefined;
  return annotation.translate === undefined ? value : annotation.translate(value);
}

/** Says that the annotation is not read, and what to do. */
export function foreignWarning(annotation: ForeignAnnotation, value: string): { readonly message: string; readonly fix: string } {
  const translated = translateForeign(annotation, value);
  const message = `is an annotation of ${annotation.tool} and is not read`;
  return {
    message,
    fix: translated === undefined ? annotation.fix : `write ${annotation.ours ?? ''}: ${JSON.stringify(translated.slice(0, 200))}`,
  };
}

function jsonList(value: string): string[] | undefined {
  try {
    const list: unknown = JSON.parse(value);
    return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : undefined;
  } catch {
    return undefined;
  }
}
