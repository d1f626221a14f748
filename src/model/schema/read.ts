import { isRecord } from '../../lang/is-record.ts';
import type { FieldReader } from '../reading/fields.ts';
import { invalid, type Parsed } from '../../net/parsed.ts';
import type { ObjectOf } from './fields.ts';
import type { ListSchema, ObjectSchema, ParsedSchema, Schema, ValueRule } from './schema.ts';
import type { Draft, ObjectValue } from './value.ts';

/**
 * Reads the fields of an object by its schema and fills in defaults. Problems are recorded in `fields`, and reading continues, so that one
 * pass finds them all.
 */
export function readFields<F>(schema: ObjectOf<F, boolean>, fields: FieldReader): Draft<F> {
  return readSchema(schema, fields) as Draft<F>;
}

/** Marks a draft as complete. Call it only when every field could be read. */
export function completed<F>(draft: Draft<F>): ObjectValue<F> {
  return draft as unknown as ObjectValue<F>;
}

/** Leaves out fields that are not set: types of the model have no fields with the value undefined. */
function readSchema(schema: ObjectSchema, fields: FieldReader): object {
  const entries = Object.entries(schema.fields).map(([name, field]) => [name, readField(field, fields, name)] as const);
  const draft = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  const written = (name: string): boolean => isWritten(schema.fields[name], fields.raw(name));
  for (const { at, holds, says, message, fix } of schema.relations ?? []) {
    if (!holds(draft as never, written)) fields.problem(at, says?.(draft as never) ?? message, fix);
  }
  return draft;
}

/** An empty text, and 0 in a field where MetalLB uses it for "not set", count as not set. */
function isWritten(schema: Schema | undefined, raw: unknown): boolean {
  return raw !== undefined && raw !== '' && !(raw === 0 && schema?.kind === 'integer' && schema.zeroIsUnset === true);
}

function readField(schema: Schema, fields: FieldReader, name: string): unknown {
  if (schema.required !== undefined) require(schema.required, fields, name);
  const value = readValue(schema, fields, name);
  if (value !== undefined) checkRules(schema.rules ?? [], value, fields, [name]);
  return value;
}

function require(fix: string, fields: FieldReader, name: string): void {
  const raw = fields.raw(name);
  if (Array.isArray(raw) && raw.length === 0) fields.problem(name, 'is required', fix);
  else fields.require(name, fix);
}

function readValue(schema: Schema, fields: FieldReader, name: string): unknown {
  switch (schema.kind) {
    case 'text': {
      const text = schema.secret === true ? fields.secretText(name) : fields.text(name, schema.maxLength);
      return text === undefined || text === '' ? schema.default : text;
    }
    case 'parsed':
      return readParsed(schema, fields, name);
    case 'integer': {
      const value = fields.integer(name, schema.zeroIsUnset === true ? 0 : schema.min, schema.max) ?? schema.default;
      return value === 0 && schema.zeroIsUnset === true ? undefined : value;
    }
    case 'boolean':
      return fields.boolean(name) ?? schema.default;
    case 'choice':
      return fields.oneOf(name, schema.values) ?? schema.default;
    case 'list':
      return readList(schema, fields, name);
    case 'map': {
      if (schema.values.kind === 'text') return fields.textMap(name, { maxEntries: schema.maxEntries, maxLength: schema.values.maxLength });
      const raw = fields.raw(name);
      return isRecord(raw) ? raw : {};
    }
    case 'object':
      return fields.has(name) || schema.required !== undefined ? readSchema(schema, fields.object(name)) : undefined;
    case 'any':
      return fields.raw(name);
  }
}

/**
 * Reads text with a grammar. A number instead of a text with a unit is a common mistake, so the problem also says which values are allowed.
 */
function readParsed({ grammar }: ParsedSchema, fields: FieldReader, name: string): unknown {
  const { unit } = grammar;
  if (unit === undefined) return fields.parsed(name, grammar.parse);
  const written = fields.raw(name);
  if (typeof written === 'number') {
    const example = `${name}: ${Math.max(written, unit.least)}${unit.suffix}`;
    return fields.problem(name, `must be ${unit.called}, ${unit.allowed}, not ${written}`, `write for example ${example}`);
  }
  return fields.parsed(name, (text): Parsed<unknown> => {
    const result = grammar.parse(text);
    return result.ok ? result : invalid(`${result.problem}; it must be ${unit.allowed}`);
  });
}

function readList(schema: ListSchema, fields: FieldReader, name: string): readonly unknown[] {
  const values = readItems(schema, fields, name);
  const { items, unique, key } = schema;
  const seen = new Set<string>();
  const seenKeys = new Set<string>();
  for (const [index, value] of values.entries()) {
    const at = [name, index];
    checkRules(items.rules ?? [], value, fields, at);
    if (unique === true && seen.size === seen.add(canonical(value)).size) {
      if (typeof value === 'string') fields.problem(at, `"${value}" appears twice`, 'remove one');
      else
        fields.problem(at, `is the same ${items.kind === 'object' ? (items.called ?? 'element') : 'element'} as one before`, 'remove it');
    }
    if (key === undefined) continue;
    const mine = (value as Record<string, unknown>)[key];
    if (typeof mine === 'string' && seenKeys.size === seenKeys.add(mine).size)
      fields.problem([...at, key], `"${mine}" appears twice`, 'remove one');
  }
  return values;
}

function readItems({ items, maxItems, orText }: ListSchema, fields: FieldReader, name: string): readonly unknown[] {
  switch (items.kind) {
    case 'object':
      return fields.objects(name, maxItems).map((item) => readSchema(items, item));
    case 'text':
      return fields.texts(name, maxItems, items.maxLength);
    case 'parsed':
      return fields.parsedList(name, maxItems, items.grammar.parse);
    case 'choice': {
      if (orText === undefined || typeof fields.raw(name) !== 'string') return fields.manyOf(name, items.values);
      const one = fields.oneOf(name, [orText, ...items.values]);
      return one === undefined || one === orText ? [] : [one];
    }
  }
}

function checkRules(rules: readonly ValueRule[], value: unknown, fields: FieldReader, at: readonly (string | number)[]): void {
  for (const { holds, says, message, fix } of rules)
    if (holds?.(value as never) === false) fields.problem(at, says?.(value as never) ?? message, fix);
}

/** Returns equal texts for values that mean the same: the order of fields and of elements does not count. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).sort().join(',')}]`;
  if (!isRecord(value)) return typeof value === 'bigint' ? `${value}n` : JSON.stringify(value);
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`);
  return `{${entries.sort().join(',')}}`;
}
