import { defined } from '../../lang/defined.ts';
import { annotations } from '../annotations.ts';
import type { CompatProgram } from './compat-programs.ts';
import { loadBalancingOf, loadBalancings } from '../objects/load-balancing.ts';

/** An annotation by which a Service asks another load balancer for something. Those that the other program writes are not here. */
export interface ForeignAnnotation {
  readonly name: string;
  /** The program that reads it. */
  readonly tool: string;
  /** The word in `compat` of HeraldConfig with which Herald reads it. Absent: Herald never does. */
  readonly compat?: Exclude<CompatProgram, 'metallb'>;
  /** Herald's annotation with the same meaning. Absent: there is none. */
  readonly ours?: string;
  /** Returns the value for `ours`. Undefined: this value has no equivalent. Absent: the value is the same. */
  readonly translate?: (value: string) => string | undefined;
  /** Says why a value has no equivalent. Only where `compat` and `translate` are. */
  readonly problem?: string;
  /** Says what the owner of the Service does where Herald has no equivalent. */
  readonly fix: string;
}

const { loadBalancerIPs, addressPool, allowSharedIP, allowSharedIPNamespaces } = annotations;

/** kube-vip takes an address of a Service from a DHCP server where one of these is in the list. */
export const asksForLease = (value: string): boolean => value.split(',').some((one) => ['0.0.0.0', '::'].includes(one.trim()));

/** An annotation of one program before the program is known. */
type Row = Omit<ForeignAnnotation, 'tool' | 'compat'>;

const same = (ours: string, ...names: readonly string[]): Row[] => names.map((name) => ({ name, ours, fix: '' }));
const none = (name: string, fix: string): Row => ({ name, fix });
const of = (tool: string, rows: readonly Row[], compat?: ForeignAnnotation['compat']): ForeignAnnotation[] =>
  rows.map((row) => ({ ...row, tool, ...defined({ compat }) }));

/** Of two names of one request the first counts, as in Cilium. */
const cilium: readonly Row[] = [
  ...same(loadBalancerIPs, 'lbipam.cilium.io/ips', 'io.cilium/lb-ipam-ips'),
  ...same(allowSharedIP, 'lbipam.cilium.io/sharing-key', 'io.cilium/lb-ipam-sharing-key'),
  ...same(allowSharedIPNamespaces, 'lbipam.cilium.io/sharing-cross-namespace', 'io.cilium/lb-ipam-sharing-cross-namespace'),
];

const calico: readonly Row[] = [
  {
    name: 'projectcalico.org/loadBalancerIPs',
    ours: loadBalancerIPs,
    translate: (value) => jsonList(value)?.join(','),
    fix: `write ${loadBalancerIPs} with the addresses, separated by commas`,
  },
  ...['projectcalico.org/ipv4pools', 'projectcalico.org/ipv6pools'].map((name): Row => ({
    name,
    ours: addressPool,
    translate: (value) => {
      const [pool, ...others] = jsonList(value) ?? [];
      return pool === undefined || others.length > 0 || pool.includes('/') ? undefined : pool;
    },
    fix: `write ${addressPool} with the name of one pool`,
  })),
];

const onInterface = 'write an L2Advertisement with interfaces, and serviceSelectors for this Service';

const kubeVip: readonly Row[] = [
  {
    name: 'kube-vip.io/loadbalancerIPs',
    ours: loadBalancerIPs,
    translate: (value) => (asksForLease(value) ? undefined : value),
    problem: 'asks for an address from a DHCP server (0.0.0.0 or ::), and Herald assigns from pools only',
    fix: `0.0.0.0 means an address from a DHCP server, which Herald does not ask: write ${loadBalancerIPs} with a fixed address, or remove it to get one of a pool`,
  },
  none('kube-vip.io/ignore', 'give the Service the loadBalancerClass of the program that serves it'),
  none('kube-vip.io/serviceInterface', onInterface),
  none('kube-vip.io/serviceVLAN', onInterface),
  none('kube-vip.io/hwaddr', 'it is about DHCP, which Herald does not ask: remove it'),
  none('kube-vip.io/requestedIP', `it is about DHCP, which Herald does not ask: write ${loadBalancerIPs}`),
  none('kube-vip.io/loadbalancerHostname', 'write the host name in the DNS'),
  none('kube-vip.io/ddns', 'write the host name in the DNS'),
  none('kube-vip.io/egress', "Herald has no egress: keep kube-vip for it, or use the network plugin's"),
  none('kube-vip.io/forwardUPNP', 'forward the ports in the router'),
];

const purelb: readonly Row[] = [
  ...same(loadBalancerIPs, 'purelb.io/addresses'),
  {
    name: 'purelb.io/service-group',
    ours: addressPool,
    translate: (value) => value.slice(value.lastIndexOf('/') + 1),
    fix: `write ${addressPool} with the name of the pool`,
  },
  ...same(allowSharedIP, 'purelb.io/allow-shared-ip'),
  none('purelb.io/allow-local', 'write externalTrafficPolicy: Local'),
];

const kubeRouter: readonly Row[] = [
  ...['clusterip', 'externalip', 'loadbalancerip'].map((kind) =>
    none(`kube-router.io/service.advertise.${kind}`, 'write a BGPAdvertisement with addressTypes, and serviceSelectors for this Service'),
  ),
  none('kube-router.io/service.local', 'write externalTrafficPolicy: Local'),
  {
    name: 'kube-router.io/service.scheduler',
    ours: annotations.loadBalancing,
    // kube-router's mh hashes the client's address alone, unless service.schedflags has flag-2.
    translate: (value) => (value.trim() === 'mh' ? 'source-hash' : loadBalancingOf(value.trim())),
    fix: `write ${annotations.loadBalancing} with one of ${loadBalancings.join(', ')}`,
  },
  none(
    'kube-router.io/service.schedflags',
    `with flag-2 the scheduler mh is ${annotations.loadBalancing}: consistent, and without it source-hash; the other flags have no equivalent`,
  ),
  none('kube-router.io/service.skiplbips', 'give the Service the loadBalancerClass of the program that serves it'),
  none('kube-router.io/service.dsr', 'see direct server return, docs/explanation/direct-return.md'),
];

const openelb: readonly Row[] = [
  ...same(addressPool, 'eip.openelb.kubesphere.io/v1alpha2'),
  none('lb.kubesphere.io/v1alpha1', 'set loadBalancerClass of the Service, or defaultClass in HeraldConfig'),
  none('protocol.openelb.kubesphere.io/v1alpha1', 'write a BGPAdvertisement or an L2Advertisement of the pool'),
];

/** By the documentation of each program. */
export const foreignAnnotations: readonly ForeignAnnotation[] = [
  ...of('Cilium', cilium, 'cilium'),
  ...of('Calico', calico),
  ...of('kube-vip', kubeVip, 'kube-vip'),
  ...of('PureLB', purelb, 'purelb'),
  ...of('kube-router', kubeRouter),
  ...of('OpenELB', openelb),
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
  const { tool, compat, ours = '', fix } = annotation;
  const translated = translateForeign(annotation, value);
  const message = `is an annotation of ${tool} and is not read`;
  if (translated === undefined) return { message, fix };
  const orRead = compat === undefined ? '' : `, or add ${compat} to compat in HeraldConfig`;
  return { message, fix: `write ${ours}: ${JSON.stringify(translated.slice(0, 200))}${orRead}` };
}

function jsonList(value: string): string[] | undefined {
  try {
    const list: unknown = JSON.parse(value);
    return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : undefined;
  } catch {
    return undefined;
  }
}
