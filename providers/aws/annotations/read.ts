import { closestName } from '../../../src/lang/closest-name.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import { Issues } from '../model/issues.ts';
import { ownAnnotations } from '../model/service-metadata.ts';
import { balancerPrefix, heraldPrefix, type AnnotationEntry, type BalancerKind } from './entry.ts';
import { limits } from './limits.ts';
import { annotationTable, familyNames, type AnnotationName, type AnnotationValues } from './table.ts';

export interface ReadAnnotations {
  readonly values: AnnotationValues;
  /** The first errors, together. Herald changes nothing for the Service until they are corrected. */
  readonly errors: readonly Reason[];
  readonly warnings: readonly Reason[];
}

type AnyEntry = AnnotationEntry<unknown>;

const entries: readonly (readonly [AnnotationName, AnyEntry])[] = Object.entries(annotationTable) as [AnnotationName, AnyEntry][];
const singles = new Map(entries.filter(([, { family }]) => family === undefined).map(([name, entry]) => [entry.key, { name, entry }]));
const families = entries.filter(([, { family }]) => family !== undefined).map(([name, entry]) => ({ name, entry }));

/** Reads the annotations of a Service: the values for its load balancer, and the first errors and warnings. */
export function readAnnotations(annotations: Readonly<Record<string, string>>, kind: BalancerKind): ReadAnnotations {
  const issues = new Issues();
  const values: Record<string, unknown> = Object.fromEntries(familyNames.map((name) => [name, new Map<string, unknown>()]));
  // Sorted, so that messages always come in the same order.
  for (const key of Object.keys(annotations).toSorted()) {
    const found = find(key);
    if (found === undefined) {
      if (issues.hasRoomForWarnings) for (const warning of warningsForUnknown(key)) issues.warn(warning);
      continue;
    }
    const { name, entry, member } = found;
    const text = annotations[key] ?? '';
    // Templates render settings that are not set as empty values.
    if (text.trim() === '') continue;
    if (text.length > limits.annotation) {
      issues.invalid(key, `has ${text.length} characters, and at most ${limits.annotation} are allowed`);
      continue;
    }
    if (!entry.kinds.includes(kind)) {
      issues.warn(
        entry.kinds.length === 0
          ? reason('AwsAnnotationUnsupported', { key, why: entry.difference ?? '' })
          : reason('AwsAnnotationWithoutEffect', { key, kind }),
      );
      continue;
    }
    const result = entry.type.read(text);
    if (!result.ok) issues.invalid(key, result.problem);
    else if (member === undefined) values[name] = result.value;
    else (values[name] as Map<string, unknown>).set(member, result.value);
  }
  return { values: values as unknown as AnnotationValues, errors: issues.errors, warnings: issues.warnings };
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
  return [reason('AwsAnnotationUnknown', { key, meant: meantBy(key) ?? '' })];
}

/**
 * Returns the known key that an unknown one probably means: the only one that ends with it, or the closest. The prefix that all have is left
 * out: it is longer than what follows, so that every two keys would seem close.
 */
function meantBy(key: string): string | undefined {
  const prefix = [balancerPrefix, heraldPrefix].find((one) => key.startsWith(one)) ?? '';
  const rests = entries.flatMap(([, entry]) => (entry.key.startsWith(prefix) ? [entry.key.slice(prefix.length)] : []));
  const rest = key.slice(prefix.length);
  const [longer, second] = rests.filter((one) => one.endsWith(`-${rest}`));
  const meant = second === undefined && longer !== undefined ? longer : closestName(rest, rests);
  return meant === undefined ? undefined : `${prefix}${meant}`;
}
