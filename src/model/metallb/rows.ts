import { isRecord } from '../../lang/is-record.ts';
import { limits } from '../limits.ts';
import { closestName } from '../parse/closest-name.ts';
import type { FieldPath } from '../parse/problem.ts';

/** What is not the same in the translation of one object. */
export interface Finding {
  /** differs: Herald behaves in another way than MetalLB. note: it does not, and is worth knowing all the same. */
  readonly level: 'differs' | 'note';
  /** In the object of MetalLB. */
  readonly path: FieldPath;
  readonly message: string;
  readonly fix: string;
}

/** Where the value of a field is translated. */
export interface FieldContext {
  /** The namespace of the object. */
  readonly namespace: string;
}

/** What becomes of a value. Without `value` the field is left out. */
export interface TranslatedValue {
  readonly value?: unknown;
  readonly findings?: readonly Omit<Finding, 'path'>[];
}

/**
 * One field of a kind of MetalLB: how it is translated, and what the reference page says of it. The two are one row, so that the page
 * cannot promise what the translator does not do.
 */
export interface FieldRow {
  /** Below `spec`: "serviceAllocation.priority". */
  readonly field: string;
  readonly does: 'same' | 'differs' | 'no';
  /** How it differs, or why not. "" where there is nothing to say. */
  readonly text: string;
  /** Absent: the value is taken as it is, and the parser of Herald judges it. */
  readonly translate?: (value: unknown, context: FieldContext) => TranslatedValue;
}

/** Fields without a row are left out and reported: a newer MetalLB has fields that this version of Herald does not know. */
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
