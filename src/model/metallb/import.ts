import { isRecord } from '../../lang/is-record.ts';
import { originText, type TranslatedFrom } from '../objects/metadata.ts';
import { parseObject } from '../parse.ts';
import { fieldText, type FieldProblem } from '../reading/problem.ts';
import { metallbGroup } from '../parse/metallb-group.ts';
import { metallbKinds } from './kinds.ts';
import { translateObject, type Translation } from './translate.ts';

export interface Remark extends Pick<FieldProblem, 'field' | 'message' | 'fix'> {
  readonly level: 'refused' | 'differs' | 'note';
}

/** The result of importing one MetalLB object. */
export interface Imported {
  /** The object, such as "IPAddressPool.metallb.io/metallb-system/main". */
  readonly object: string;
  /** File and line of the object. Absent: it came from an API server. */
  readonly where?: string;
  readonly verdict: 'exact' | 'differs' | 'refused';
  readonly remarks: readonly Remark[];
  /** The manifest for Herald. Absent when the object is refused, or when Herald needs none. */
  readonly manifest?: Readonly<Record<string, unknown>>;
}

export interface RawInput {
  readonly raw: unknown;
  readonly where?: string;
}

/** Metadata fields that an API server writes. */
const serverFields = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'generation',
  'deletionTimestamp',
  'selfLink',
  'ownerReferences',
  'finalizers',
]);

/** The ConfigMap by which MetalLB's speakers leave out interfaces. MetalLB's manifests include it. */
export const excludedInterfacesName = 'metallb-excludel2';

/** Other ConfigMaps that configure MetalLB. */
const configMaps: Readonly<Record<string, { readonly message: string; readonly fix: string }>> = {
  bgpextras: { message: 'is configuration of FRR, which Herald does not use', fix: 'check which of its settings Herald has a field for' },
};

/**
 * Translates MetalLB objects into Herald manifests and lists what differs for each object. `namespace` is MetalLB's namespace. By default
 * it is the namespace of the objects if they share one, else metallb-system. Objects of other programs are left out. Pure.
 */
export function importObjects(inputs: readonly RawInput[], namespace: string = namespaceOf(inputs)): Imported[] {
  const seen = new Set<string>();
  return inputs.flatMap(({ raw, where }) => {
    const found = importOne(raw, namespace, seen);
    return found === undefined ? [] : [where === undefined ? found : { ...found, where }];
  });
}

function importOne(raw: unknown, namespace: string, seen: Set<string>): Imported | undefined {
  const translation = translateObject(raw, namespace);
  switch (translation.is) {
    case 'report':
      return undefined;
    case 'foreign':
      return configMap(raw, namespace);
    case 'refused': {
      const { field, message, fix } = translation;
      return refused(objectText(raw, namespace), field, message, fix);
    }
    case 'translated':
      return importTranslated(translation, namespace, seen);
  }
}

function importTranslated(
  { raw, origin, findings }: Extract<Translation, { is: 'translated' }>,
  namespace: string,
  seen: Set<string>,
): Imported {
  const object = originText(origin);
  if (origin.namespace !== namespace) {
    const fix = `use --namespace ${origin.namespace} if MetalLB runs there`;
    return refused(
      object,
      'metadata.namespace',
      `is ${origin.namespace}, and MetalLB reads only its own namespace, which is ${namespace}`,
      fix,
    );
  }
  const name = `${origin.kind}/${origin.name}`;
  if (seen.has(name)) return refused(object, 'metadata.name', 'appears twice: the first one is used', 'remove one of the two');
  seen.add(name);
  const { problems, warnings } = parseObject(raw);
  const remarks: Remark[] = [
    ...problems.map(({ field, message, fix }) => ({ level: 'refused' as const, field, message, fix })),
    ...warnings.map(({ field, message, fix }) => ({ level: 'differs' as const, field, message, fix })),
    ...findings.map(({ level, path, message, fix }) => ({ level, field: fieldText(path), message, fix })),
    ...secretRemark(raw, origin),
  ];
  const verdict = (['refused', 'differs'] as const).find((level) => remarks.some((remark) => remark.level === level)) ?? 'exact';
  if (verdict === 'refused') return { object, verdict, remarks };
  return { object, verdict, remarks, manifest: asManifest(raw) };
}

/** Reminds the user that reading the Secret needs a Role, because the Secret stays in its namespace. */
function secretRemark(raw: Readonly<Record<string, unknown>>, { kind, namespace }: TranslatedFrom): Remark[] {
  const spec = isRecord(raw['spec']) ? raw['spec'] : {};
  if (kind !== 'BGPPeer' || !isRecord(spec['passwordSecret'])) return [];
  return [
    {
      level: 'note',
      field: 'spec.passwordSecret',
      message: `is in namespace ${namespace}, where controller and agents of Herald need a Role to read it`,
      fix: 'apply manifests/components/metallb, or copy the Secret to herald-system and name that namespace',
    },
  ];
}

function asManifest({ apiVersion, kind, metadata, spec }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.entries(isRecord(metadata) ? metadata : {}).filter(([name]) => !serverFields.has(name));
  return { apiVersion, kind, metadata: Object.fromEntries(kept), spec: spec ?? {} };
}

function configMap(raw: unknown, namespace: string): Imported | undefined {
  if (!isRecord(raw) || raw['kind'] !== 'ConfigMap' || !isRecord(raw['metadata'])) return undefined;
  const { name, namespace: written = namespace } = raw['metadata'];
  const known = typeof name === 'string' && Object.hasOwn(configMaps, name) ? configMaps[name] : undefined;
  const data = isRecord(raw['data']) ? Object.keys(raw['data']) : [];
  if (name === excludedInterfacesName && written === namespace) {
    const message =
      'is not needed: a node announces on the interface whose network contains the address, or on those that the L2Advertisement names';
    return { object: `ConfigMap/${namespace}/${name}`, verdict: 'exact', remarks: [{ level: 'note', field: 'data', message, fix: '' }] };
  }
  if (known === undefined || written !== namespace || data.length === 0) return undefined;
  return refused(`ConfigMap/${namespace}/${String(name)}`, 'data', known.message, known.fix);
}

function refused(object: string, field: string, message: string, fix: string): Imported {
  return { object, verdict: 'refused', remarks: [{ level: 'refused', field, message, fix }] };
}

function objectText(raw: unknown, namespace: string): string {
  const { kind, metadata } = isRecord(raw) ? raw : {};
  const { name, namespace: written = namespace } = isRecord(metadata) ? metadata : {};
  return `${String(kind).slice(0, 63)}.${metallbGroup}/${String(written)}/${String(name)}`;
}

function namespaceOf(inputs: readonly RawInput[]): string {
  const namespaces = new Set<string>();
  for (const { raw } of inputs) {
    if (!isRecord(raw) || !isRecord(raw['metadata']) || !metallbKinds.some(({ kind }) => kind === raw['kind'])) continue;
    const { namespace } = raw['metadata'];
    if (String(raw['apiVersion']).startsWith(`${metallbGroup}/`) && typeof namespace === 'string' && namespace !== '')
      namespaces.add(namespace);
  }
  const [only, ...others] = namespaces;
  return only === undefined || others.length > 0 ? 'metallb-system' : only;
}
