import { addBuiltInProviders } from '../support/built-in-providers.ts';
import { heraldApiVersion, kinds } from '../../src/model/kinds.ts';
import type { KindDefinition } from '../../src/model/schema/kind.ts';
import type { ObjectSchema, Relation, Schema, ValueRule } from '../../src/model/schema/schema.ts';
import { refusal } from '../../scripts/generate/objects/plain-text.ts';

addBuiltInProviders();

/** An object that breaks one rule or bound, and the field at fault. */
export interface BentObject {
  readonly kind: string;
  /** Path of the field, such as "spec.passwordSecret.name". */
  readonly field: string;
  readonly what: string;
  readonly object: Readonly<Record<string, unknown>>;
}

export interface BrokenRule extends BentObject {
  /** The message that the API server must return. */
  readonly message: string;
  /** The message that our reader must return. Undefined when the message comes from a grammar. */
  readonly said?: string;
}

type Path = readonly (string | 0)[];

export function exampleOf(kind: KindDefinition): Record<string, unknown> {
  const metadata = { name: kind.nameRule === undefined ? 'main' : 'default' };
  return { apiVersion: heraldApiVersion, kind: kind.kind, metadata, ...(kind.spec === undefined ? {} : { spec: kind.example }) };
}

/** Returns for each rule of each kind an object that breaks it. */
export function brokenRules(): BrokenRule[] {
  return (kinds as readonly KindDefinition[]).flatMap((kind) => [
    ...(kind.nameRule === undefined ? [] : [brokenName(kind, kind.nameRule)]),
    ...(kind.spec === undefined ? [] : walk(kind.spec, []).flatMap(({ schema, path }) => brokenAt(kind, schema, path))),
  ]);
}

/** Returns for each bound and type of each spec field an object that violates it. */
export function outOfBounds(): BentObject[] {
  return (kinds as readonly KindDefinition[]).flatMap((kind) =>
    kind.spec === undefined
      ? []
      : walk(kind.spec, []).flatMap(({ schema, path }) =>
          wrongValues(schema).map(({ what, value }) => ({
            kind: kind.kind,
            field: fieldText(path),
            what,
            object: withSpec(kind, placed(kind, path, value)),
          })),
        ),
  );
}

interface Found {
  readonly schema: Schema;
  readonly path: Path;
}

function walk(schema: Schema, path: Path): Found[] {
  const inner =
    schema.kind === 'list'
      ? walk(schema.items, [...path, 0])
      : schema.kind === 'object'
        ? Object.entries(schema.fields).flatMap(([name, field]) => walk(field, [...path, name]))
        : [];
  return [{ schema, path }, ...inner];
}

function brokenName(kind: KindDefinition, rule: ValueRule): BrokenRule {
  const object = { ...exampleOf(kind), metadata: { name: rule.broken } };
  const said = rule.says?.(rule.broken as never) ?? rule.message;
  return { kind: kind.kind, field: 'metadata.name', what: rule.message, object, message: refusal(rule), said };
}

function brokenAt(kind: KindDefinition, schema: Schema, path: Path): BrokenRule[] {
  const values = [...(schema.kind === 'parsed' ? schema.grammar.rules : []), ...(schema.rules ?? [])].map((rule): BrokenRule => {
    const object = withSpec(kind, placed(kind, path, rule.broken));
    const said = rule.holds === undefined || rule.says !== undefined ? {} : { said: rule.message };
    return { kind: kind.kind, field: fieldText(path), what: rule.message, object, message: refusal(rule), ...said };
  });
  const relations = (schema.kind === 'object' ? (schema.relations ?? []) : []).map((relation: Relation): BrokenRule => {
    const object = withSpec(kind, placed(kind, path, { ...valueAt(kind, path), ...relation.broken }));
    const said = relation.says === undefined ? { said: relation.message } : {};
    return {
      kind: kind.kind,
      field: fieldText([...path, relation.at]),
      what: relation.message,
      object,
      message: refusal(relation),
      ...said,
    };
  });
  return [...values, ...relations];
}

interface WrongValue {
  readonly what: string;
  readonly value: unknown;
}

function wrongValues(schema: Schema): WrongValue[] {
  const missing = schema.required === undefined ? [] : [{ what: 'is not there', value: undefined }];
  switch (schema.kind) {
    case 'text':
      return [...missing, { what: 'is too long', value: 'a'.repeat(schema.maxLength + 1) }, { what: 'is a number', value: 7 }];
    case 'parsed':
      return [...missing, { what: 'is a list', value: [] }];
    case 'integer': {
      const least = schema.zeroIsUnset === true ? 0 : schema.min;
      return [
        ...missing,
        { what: 'is too large', value: schema.max + 1 },
        { what: 'is too small', value: least - 1 },
        { what: 'is a text', value: String(schema.min) },
        { what: 'is no whole number', value: schema.min + 0.5 },
      ];
    }
    case 'boolean':
      return [...missing, { what: 'is a text', value: 'true' }];
    case 'choice':
      return [...missing, { what: 'is another word', value: 'nonsense' }];
    case 'list': {
      const sample = sampleOf(schema.items);
      const distinct = schema.items.kind === 'text' ? (index: number) => `a${index}` : () => sample;
      const many = Array.from({ length: schema.maxItems + 1 }, (_, index) => distinct(index));
      return [
        ...missing,
        ...(schema.required === undefined ? [] : [{ what: 'is empty', value: [] }]),
        { what: 'has too many elements', value: many },
        { what: 'is no list', value: 'a' },
        ...(schema.unique === true && schema.items.kind !== 'object' ? [{ what: 'has one twice', value: [sample, sample] }] : []),
        ...(schema.key === undefined ? [] : [{ what: 'has one twice', value: [sample, sample] }]),
      ];
    }
    case 'map':
      return [...missing, { what: 'is a list', value: [] }];
    case 'object':
      return [...missing, { what: 'is a text', value: 'a' }];
    case 'any':
      return [];
  }
}

/** Returns a valid value for a schema. */
function sampleOf(schema: Schema): unknown {
  switch (schema.kind) {
    case 'parsed':
      return schema.grammar.example;
    case 'integer':
      return schema.min;
    case 'boolean':
      return false;
    case 'choice':
      return schema.values[0];
    case 'list':
      return [sampleOf(schema.items)];
    case 'object':
      return requiredOf(schema);
    case 'text':
      return 'a';
    case 'map':
    case 'any':
      return {};
  }
}

function requiredOf(schema: ObjectSchema): object {
  const required = Object.entries(schema.fields).filter(([, field]) => field.required !== undefined);
  return Object.fromEntries(required.map(([name, field]) => [name, sampleOf(field)]));
}

/** Returns the example with this value at this path, with required neighbours filled in. */
function placed(kind: KindDefinition, path: Path, value: unknown): unknown {
  const place = (schema: Schema, around: unknown, [step, ...rest]: Path): unknown => {
    if (step === undefined) return value;
    if (schema.kind === 'list') return [place(schema.items, undefined, rest)];
    if (schema.kind !== 'object' || step === 0) throw new Error(`${fieldText(path)} is not in ${kind.kind}`);
    const field = schema.fields[step];
    if (field === undefined) throw new Error(`${fieldText(path)} is not in ${kind.kind}`);
    const fields = { ...requiredOf(schema), ...(around as Record<string, unknown> | undefined) };
    return { ...fields, [step]: place(field, (around as Record<string, unknown> | undefined)?.[step], rest) };
  };
  if (kind.spec === undefined) throw new Error(`${kind.kind} has no spec`);
  return place(kind.spec, kind.example, path);
}

function valueAt(kind: KindDefinition, path: Path): object {
  return path.length === 0 ? kind.example : {};
}

/** Converts through JSON, as an object is sent, which drops undefined fields. */
function withSpec(kind: KindDefinition, spec: unknown): Record<string, unknown> {
  return JSON.parse(JSON.stringify({ ...exampleOf(kind), spec })) as Record<string, unknown>;
}

function fieldText(path: Path): string {
  return ['spec', ...path].map((step, index) => (step === 0 ? '[0]' : index === 0 ? step : `.${step}`)).join('');
}
