import { isRecord } from '../../lang/is-record.ts';
import { limits } from '../limits.ts';
import { closestName } from '../../lang/closest-name.ts';
import type { FieldPath } from '../reading/problem.ts';

/** A difference found when one object was translated. */
export interface Finding {
  /** differs: Herald behaves differently from MetalLB. note: it behaves the same, but the user should know. */
  readonly level: 'differs' | 'note';
  /** Path in the MetalLB object. */
  readonly path: FieldPath;
  readonly message: string;
  readonly fix: string;
}

/** The object that the translated field belongs to. */
export interface FieldContext {
  readonly namespace: string;
}

/** The result of translating a value. Without `value` the field is left out. */
export interface TranslatedValue {
  readonly value?: unknown;
  readonly findings?: readonly Omit<Finding, 'path'>[];
}

/**
 * One field of a MetalLB kind: its translation and its text on the reference page. Both are in one row so that the page and the translator
 * cannot differ.
 */
export interface FieldRow {
  /** Path below `spec`, such as "serviceAllocation.priority". */
  readonly field: string;
  readonly does: 'same' | 'differs' | 'no';
  /** The difference, or why the field is not supported. "" when there is nothing to say. */
  readonly text: string;
  /** Absent: the value is copied unchanged, and Herald's parser checks it. */
  readonly translate?: (value: unknown, context: FieldContext) => TranslatedValue;
}

/** Translates fields by their rows. A field without a row is left out and reported, because a newer MetalLB may have more fields. */
export function translateFields(
  rows: readonly FieldRow[],
  spec: Readonly<Record<string, unknown>>,
  context: FieldContext,
  findings: Finding[],
  parent = '',
): Record<string, unknown> {
  const translated: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(spec)) {
    if (value === null || value === undefined) continue;
    const field = `${parent}${name}`;
    const path = ['spec', ...field.split('.')];
    const row = rows.find((candidate) => candidate.field === field);
    if (row === undefined) {
      const nested = rows.some((candidate) => candidate.field.startsWith(`${field}.`));
      if (nested && isRecord(value)) translated[name] = translateFields(rows, value, context, findings, `${field}.`);
      else if (nested) translated[name] = value;
      else findings.push(unknownField(rows, path, parent, name));
      continue;
    }
    const result = row.translate === undefined ? { value } : row.translate(value, context);
    for (const finding of result.findings ?? []) findings.push({ ...finding, path });
    if (result.value !== undefined) translated[name] = result.value;
  }
  return translated;
}

function unknownField(rows: readonly FieldRow[], path: FieldPath, parent: string, name: string): Finding {
  const siblings = rows.filter(({ field }) => field.startsWith(parent)).map(({ field }) => field.slice(parent.length).split('.')[0] ?? '');
  const meant = closestName(name.slice(0, limits.shownValue), new Set(siblings));
  return {
    level: 'differs',
    path,
    message: 'is not a field of MetalLB that Herald knows: it is left out',
    fix: meant === undefined ? '' : `did you mean ${meant}?`,
  };
}

export const differs = (message: string, fix: string): Omit<Finding, 'path'> => ({ level: 'differs', message, fix });
export const note = (message: string, fix: string): Omit<Finding, 'path'> => ({ level: 'note', message, fix });
