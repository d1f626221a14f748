import { isRecord } from '../../lang/is-record.ts';
import { heraldApiVersion } from '../parse.ts';
import type { TranslatedFrom } from '../objects/metadata.ts';
import { metallbGroup } from '../parse/metallb-group.ts';
import { metallbKinds, operatorKinds, reportKinds } from './kinds.ts';
import { translateFields, type Finding } from './rows.ts';

/** The result of translating an object. */
export type Translation =
  /** The object does not belong to MetalLB. */
  | { readonly is: 'foreign' }
  /** The object configures no addresses: MetalLB writes it to report its state, or its operator reads it. */
  | { readonly is: 'report' }
  | { readonly is: 'refused'; readonly field: string; readonly message: string; readonly fix: string }
  | {
      readonly is: 'translated';
      readonly raw: Readonly<Record<string, unknown>>;
      readonly origin: TranslatedFrom;
      readonly findings: readonly Finding[];
    };

/** kubectl stores the whole previous manifest in this annotation. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Translates an object of metallb.io into the herald.dev object with the same meaning. It does not validate: the parser reads the result as
 * if it were written by hand. `namespace` applies to an object that names none.
 */
export function translateObject(raw: unknown, namespace: string): Translation {
  if (!isRecord(raw)) return { is: 'foreign' };
  const { apiVersion, kind } = raw;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !apiVersion.startsWith(`${metallbGroup}/`)) return { is: 'foreign' };
  if (reportKinds.includes(kind) || operatorKinds.includes(kind)) return { is: 'report' };
  const ofKind = metallbKinds.filter((candidate) => candidate.kind === kind);
  const [first] = ofKind;
  if (first === undefined) return refused('kind', `${kind.slice(0, 63)} is not a kind of MetalLB that Herald knows`, 'remove the object');
  if (first.refused !== undefined) return refused('kind', first.refused.message, first.refused.fix);
  const version = ofKind.find((candidate) => `${metallbGroup}/${candidate.version}` === apiVersion);
  if (version === undefined) {
    const known = ofKind.map((candidate) => `${metallbGroup}/${candidate.version}`).join(' or ');
    return refused('apiVersion', `${kind} is not read in version ${apiVersion.slice(0, 63)}`, `write ${known}`);
  }
  const metadata = isRecord(raw['metadata']) ? raw['metadata'] : {};
  const origin = { apiVersion, kind, namespace: textOr(metadata['namespace'], namespace), name: textOr(metadata['name'], '') };
  const findings: Finding[] = [];
  const spec = isRecord(raw['spec']) ? translateFields(version.rows, raw['spec'], { namespace: origin.namespace }, findings) : raw['spec'];
  const translated = { apiVersion: heraldApiVersion, kind, metadata: translateMetadata(metadata), spec };
  return { is: 'translated', raw: translated, origin, findings };
}

function refused(field: string, message: string, fix: string): Translation {
  return { is: 'refused', field, message, fix };
}

/** Removes the namespace: MetalLB's kinds are namespaced, Herald's are cluster-scoped. */
function translateMetadata(metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { annotations } = metadata;
  const kept = Object.entries(metadata).filter(([name]) => name !== 'namespace' && name !== 'managedFields' && name !== 'annotations');
  if (!isRecord(annotations)) return Object.fromEntries(kept);
  const without = Object.entries(annotations).filter(([name]) => name !== lastApplied);
  return Object.fromEntries([...kept, ...(without.length === 0 ? [] : [['annotations', Object.fromEntries(without)] as const])]);
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise;
}
