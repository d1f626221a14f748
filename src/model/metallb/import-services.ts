import { isRecord } from '../../lang/is-record.ts';
import { annotations } from '../annotations.ts';
import { defined } from '../../lang/defined.ts';
import { parseAddressLeniently, sameAddress } from '../../net/address.ts';
import { serviceKey, type ServiceKey } from '../objects/metadata.ts';
import { foreignAnnotation, translateForeign } from '../reading/foreign-annotations.ts';
import { metallbAnnotation, translateAnnotations } from '../reading/metallb-annotations.ts';
import type { RawInput, Remark } from './import.ts';
import { parseAnyObject } from './read.ts';
import { consent, sharedAcross, type SharedAcross } from './shared-across.ts';
import type { Service } from '../objects/service.ts';

/** A Service with annotations of another load balancer, and the annotations that request the same from Herald. */
export interface ImportedService {
  readonly service: ServiceKey;
  readonly where?: string;
  /** Annotations to add beside those that are there. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The annotations replace spec.loadBalancerIP: Herald refuses a Service with both. */
  readonly withoutField?: true;
  readonly remarks: readonly Remark[];
}

export interface ServiceImport {
  readonly services: readonly ImportedService[];
  /** Number of Services of type LoadBalancer by class. The key "" stands for Services without a class. */
  readonly classes: ReadonlyMap<string, number>;
}

const { allowSharedIP, loadBalancerIPs } = annotations;
const compat = { compat: ['metallb'], namespace: '' } as const;
/** Files have no fields that an API server fills in. */
const leftOpen = { unchosen: 'left open' } as const;

/** Translates what Services request from MetalLB and other load balancers into Herald's annotations. Pure. */
export function importServices(inputs: readonly RawInput[]): ServiceImport {
  const services: ImportedService[] = [];
  const parsed: Service[] = [];
  const classes = new Map<string, number>();
  for (const { raw, where } of inputs) {
    if (!isRecord(raw) || raw['kind'] !== 'Service' || raw['apiVersion'] !== 'v1') continue;
    const metadata = isRecord(raw['metadata']) ? raw['metadata'] : {};
    const own = isRecord(metadata['annotations']) ? metadata['annotations'] : {};
    const { loadBalancerIP, ...otherFields } = isRecord(raw['spec']) ? raw['spec'] : {};
    const foreign = requestsOfOthers(own, loadBalancerIP);
    const spec = foreign.withoutField ? otherFields : raw['spec'];
    const written: Readonly<Record<string, unknown>> = { ...own, ...Object.fromEntries(foreign.added) };
    const { object, problems, warnings } = parseAnyObject(
      { ...raw, metadata: { ...metadata, annotations: written }, spec },
      compat,
      leftOpen,
    );
    if (isRecord(raw['spec']) && raw['spec']['type'] === 'LoadBalancer') {
      const { loadBalancerClass } = raw['spec'];
      const name = typeof loadBalancerClass === 'string' ? loadBalancerClass : '';
      classes.set(name, (classes.get(name) ?? 0) + 1);
    }
    if (object?.kind === 'Service' && object.type === 'LoadBalancer') parsed.push(object);
    const asked = Object.keys(written).some((name) => metallbAnnotation(name)?.row?.ours !== undefined);
    const translated = translateAnnotations(written);
    if (!asked && foreign.remarks.length === 0 && foreign.added.size === 0) continue;
    const isOfMetalLB = ({ path }: Located): boolean => metallbAnnotation(String(path.at(-1))) !== undefined;
    const isAdded = ({ path }: Located): boolean => foreign.added.has(String(path.at(-1)));
    const added = asked ? [...(translated?.from.keys() ?? [])].map((name) => [name, String(translated?.annotations[name])] as const) : [];
    const { name, namespace = 'default' } = metadata;
    services.push({
      service: serviceKey({ namespace: String(namespace), name: String(name) }),
      ...defined({ where }),
      annotations: { ...Object.fromEntries(foreign.added), ...Object.fromEntries(added) },
      ...(foreign.withoutField ? { withoutField: true } : {}),
      remarks: [
        ...problems
          .filter((one) => isOfMetalLB(one) || isAdded(one))
          .map(({ field, message, fix }) => ({ level: 'refused' as const, field, message, fix })),
        ...foreign.remarks,
        ...warnings.filter(isOfMetalLB).map(({ field, message, fix }) => ({ level: 'note' as const, field, message, fix })),
      ],
    });
  }
  const across = new Map(sharedAcross(parsed).map((one) => [one.service, one]));
  return { services: services.map((one) => withConsent(one, across.get(one.service))), classes };
}

type Located = { readonly path: readonly (string | number)[] };

/** kube-vip takes an address of a DHCP server for a Service with this spec.loadBalancerIP. */
const leased: Remark = {
  level: 'differs',
  field: 'spec.loadBalancerIP',
  message: 'is 0.0.0.0, by which kube-vip takes an address from a DHCP server: Herald assigns from pools only',
  fix: 'write a fixed address, or remove it to get one of a pool',
};

/** Translates annotations of other load balancers than MetalLB. One of Herald's own stays as it is. */
function requestsOfOthers(
  written: Readonly<Record<string, unknown>>,
  loadBalancerIP: unknown,
): { readonly added: ReadonlyMap<string, string>; readonly remarks: readonly Remark[]; readonly withoutField: boolean } {
  const added = new Map<string, string>();
  let withoutField = false;
  const remarks: Remark[] = loadBalancerIP === '0.0.0.0' || loadBalancerIP === '::' ? [leased] : [];
  for (const [name, value] of Object.entries(written)) {
    const annotation = foreignAnnotation(name, value);
    if (annotation === undefined || typeof value !== 'string') continue;
    const field = `metadata.annotations["${name}"]`;
    const { tool, ours } = annotation;
    const translated = translateForeign(annotation, value);
    if (translated === undefined || ours === undefined)
      remarks.push({ level: 'differs', field, message: `of ${tool} has no equivalent`, fix: annotation.fix });
    else if (ours === loadBalancerIPs && isAddress(loadBalancerIP) && !Object.hasOwn(written, ours) && !added.has(ours)) {
      const list = listWithField(tool, translated, loadBalancerIP);
      if (list === undefined) continue;
      added.set(ours, list);
      withoutField = true;
      const message = `has ${loadBalancerIP} beside the annotation of ${tool}, and Herald reads one of the two`;
      remarks.push({ level: 'note', field: 'spec.loadBalancerIP', message, fix: 'the command removes it' });
    } else if (!Object.hasOwn(written, ours) && (added.get(ours) ?? translated) === translated) added.set(ours, translated);
    else if ((written[ours] ?? added.get(ours)) !== translated)
      remarks.push({ level: 'differs', field, message: `of ${tool} is not used: ${ours} has another value`, fix: 'remove one of the two' });
  }
  return { added, remarks, withoutField };
}

const isAddress = (value: unknown): value is string => typeof value === 'string' && parseAddressLeniently(value).ok;

/**
 * Returns the addresses of a Service with both. Undefined: the field has them all. Cilium gives the address of the field too; in kube-vip,
 * whose cloud provider writes the first address of the list into the field, in PureLB and Calico the annotation counts alone.
 */
function listWithField(tool: string, list: string, single: string): string | undefined {
  const asked = list.split(',').map((text) => text.trim());
  if (asked.every((text) => sameText(text, single))) return undefined;
  return tool === 'Cilium' && !asked.some((text) => sameText(text, single)) ? `${single},${list}` : list;
}

function sameText(one: string, other: string): boolean {
  const [a, b] = [parseAddressLeniently(one), parseAddressLeniently(other)];
  return a.ok && b.ok && sameAddress(a.value, b.value);
}

/** Adds what a shared address needs: the annotation that admits the other namespaces, when Services of several share it. */
function withConsent(one: ImportedService, across: SharedAcross | undefined): ImportedService {
  if (!Object.hasOwn(one.annotations, allowSharedIP)) return one;
  const field = `metadata.annotations["${allowSharedIP}"]`;
  if (across === undefined) {
    const message = 'shares an address with Services of its own namespace only, unless each admits the namespace of the other';
    const fix = `write ${consent} on both where they are in different namespaces`;
    return { ...one, remarks: [...one.remarks, { level: 'note', field, message, fix }] };
  }
  const message = `shares ${across.addresses.join(' and ')} with ${across.others.join(', ')} by the key alone, which Herald does not accept across namespaces`;
  const fix = `the command adds ${consent}=${across.admitted}`;
  const added = { ...one.annotations, [consent]: across.admitted };
  return { ...one, annotations: added, remarks: [...one.remarks, { level: 'differs', field, message, fix }] };
}
