import { closestName } from '../../../src/lang/closest-name.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import { ownAnnotations } from '../model/service-metadata.ts';
import { balancerPrefix, heraldPrefix, type AnnotationEntry, type BalancerKind } from './entry.ts';
import { annotationTable, familyNames, type AnnotationName, type AnnotationValues } from './table.ts';

export interface ReadAnnotations {
  readonly values: AnnotationValues;
  /** All errors at once. Herald changes nothing for the Service until they are corrected. */
  readonly errors: readonly Reason[];
  readonly warnings: readonly Reason[];
}

type AnyEntry = AnnotationEntry<unknown>;

const entries: readonly (readonly [AnnotationName, AnyEntry])[] = Object.entries(annotationTable) as [AnnotationName, AnyEntry][];
const singles = new Map(entries.filter(([, { family }]) => family === undefined).map(([name, entry]) => [entry.key, { name, entry }]));
const families = entries.filter(([, { family }]) => family !== undefined).map(([name, entry]) => ({ name, entry }));
const knownKeys = entries.map(([, { key }]) => key);

/** Reads the annotations of a Service: the values for its load balancer, and all errors and warnings. */
export function readAnnotations(annotations: Readonly<Record<string, string>>, kind: BalancerKind): ReadAnnotations {
  const errors: Reason[] = [];
  const warnings: Reason[] = [];
  const values: Record<string, unknown> = Object.fromEntries(familyNames.map((name) => [name, new Map<string, unknown>()]));
  // Sorted, so that messages always come in the same order.
  for (const key of Object.keys(annotations).toSorted()) {
    const found = find(key);
    if (found === undefined) {
      warnings.push(...warningsForUnknown(key));
      continue;
    }
    const { name, entry, member } = found;
    const text = annotations[key] ?? '';
    // Templates render settings that are not set as empty values.
    if (text.trim() === '') continue;
    if (!entry.kinds.includes(kind)) {
      warnings.push(
        entry.kinds.length === 0
          ? reason('AwsAnnotationUnsupported', { key, why: entry.difference ?? '' })
          : reason('AwsAnnotationWithoutEffect', { key, kind }),
      );
      continue;
    }
    const result = entry.type.read(text);
    if (!result.ok) errors.push(reason('AwsAnnotationInvalid', { key, problem: result.problem }));
    else if (member === undefined) values[name] = result.value;
    else (values[name] as Map<string, unknown>).set(member, result.value);
  }
  return { values: values as unknown as AnnotationValues, errors, warnings };
}

interface Found {
  readonly name: AnnotationName;
  readonly entry: AnyEntry;
  /** For a key of a family: the part after the dot. */
  readonly member?: string;
}

function find(key: string): Found | undefined {
  const single = singles.get(key);
  if (single !== undefined) return single;
  const family = families.find(({ entry }) => key.startsWith(`${entry.key}.`) && key.length > entry.key.length + 1);
  return family === undefined ? undefined : { ...family, member: key.slice(family.entry.key.length + 1) };
}

/**
 * Returns warnings for an unknown key. A key without Herald's or upstream's prefix belongs to another program and is ignored; with one of
 * these prefixes it is probably a typing error.
 */
function warningsForUnknown(key: string): Reason[] {
  // Old Kubernetes documentation shows "...backend-protocol=" as the name.
  const right = key.replace(/=+$/, '');
  if (right !== key && find(right) !== undefined) return [reason('AwsAnnotationMisspelt', { key, right })];
  if (ownAnnotations.has(key) || (!key.startsWith(balancerPrefix) && !key.startsWith(heraldPrefix))) return [];
  return [reason('AwsAnnotationUnknown', { key, meant: closestName(key, knownKeys) ?? '' })];
}
