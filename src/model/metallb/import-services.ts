import { isRecord } from '../../lang/is-record.ts';
import { annotations } from '../annotations.ts';
import { defined } from '../../lang/defined.ts';
import { serviceKey, type ServiceKey } from '../objects/metadata.ts';
import { metallbAnnotation, translateAnnotations } from '../reading/metallb-annotations.ts';
import type { RawInput, Remark } from './import.ts';
import { parseAnyObject } from './read.ts';
import { consent, sharedAcross, type SharedAcross } from './shared-across.ts';
import type { Service } from '../objects/service.ts';

/** A Service with MetalLB annotations, and the annotations that request the same from Herald. */
export interface ImportedService {
  readonly service: ServiceKey;
  readonly where?: string;
  /** Annotations to add beside those for MetalLB. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly remarks: readonly Remark[];
}

export interface ServiceImport {
  readonly services: readonly ImportedService[];
  /** Number of Services of type LoadBalancer by class. The key "" stands for Services without a class. */
  readonly classes: ReadonlyMap<string, number>;
}

const { allowSharedIP } = annotations;
const compat = { compat: 'metallb', namespace: '' } as const;

/** Translates what Services request from MetalLB into Herald's annotations. Pure. */
export function importServices(inputs: readonly RawInput[]): ServiceImport {
  const services: ImportedService[] = [];
  const parsed: Service[] = [];
  const classes = new Map<string, number>();
  for (const { raw, where } of inputs) {
    if (!isRecord(raw) || raw['kind'] !== 'Service' || raw['apiVersion'] !== 'v1') continue;
    const { object, problems, warnings } = parseAnyObject(raw, compat);
    if (object?.kind === 'Service' && object.type === 'LoadBalancer') {
      const name = object.loadBalancerClass ?? '';
      classes.set(name, (classes.get(name) ?? 0) + 1);
      parsed.push(object);
    }
    const metadata = isRecord(raw['metadata']) ? raw['metadata'] : {};
    const written = isRecord(metadata['annotations']) ? metadata['annotations'] : {};
    const asked = Object.keys(written).some((name) => metallbAnnotation(name)?.row?.ours !== undefined);
    const translated = translateAnnotations(written);
    if (!asked || translated === undefined) continue;
    const about = ({ path }: { readonly path: readonly (string | number)[] }): boolean =>
      metallbAnnotation(String(path.at(-1))) !== undefined;
    const added = [...translated.from.keys()].map((name) => [name, String(translated.annotations[name])] as const);
    const { name, namespace = 'default' } = metadata;
    services.push({
      service: serviceKey({ namespace: String(namespace), name: String(name) }),
      ...defined({ where }),
      annotations: Object.fromEntries(added),
      remarks: [
        ...problems.filter(about).map(({ field, message, fix }) => ({ level: 'refused' as const, field, message, fix })),
        ...warnings.filter(about).map(({ field, message, fix }) => ({ level: 'note' as const, field, message, fix })),
      ],
    });
  }
  const across = new Map(sharedAcross(parsed).map((one) => [one.service, one]));
  return { services: services.map((one) => withConsent(one, across.get(one.service))), classes };
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
