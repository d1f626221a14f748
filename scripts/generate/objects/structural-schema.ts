import { defined } from '../../../src/lang/defined.ts';
import type { ListSchema, ObjectSchema, ParsedSchema, Relation, Schema, ValueRule } from '../../../src/model/schema/schema.ts';
import { plainText, refusal } from './plain-text.ts';

/** A structural schema of apiextensions.k8s.io/v1, as plain data. */
export interface StructuralSchema {
  readonly [keyword: string]: unknown;
}

interface Place {
  /** True for elements of lists and required fields, where an empty text is not the same as an absent one. */
  readonly needed: boolean;
  /** True when defaults are written into stored objects. */
  readonly storeDefaults: boolean;
}

/** Returns the part of a schema that the API server enforces. Undefined for a field that is not in the CRD. */
export function structuralSchema(schema: Schema, place: Place = { needed: false, storeDefaults: true }): StructuralSchema {
  const keywords = keywordsOf(schema, place);
  const rules = rulesOf(schema, place);
  return {
    ...(schema.description === undefined ? {} : { description: plainText(schema.description) }),
    ...keywords,
    ...(rules.length === 0 ? {} : { 'x-kubernetes-validations': rules }),
  };
}

function keywordsOf(schema: Schema, place: Place): StructuralSchema {
  switch (schema.kind) {
    case 'text':
      return {
        type: 'string',
        ...(place.needed && schema.required !== undefined ? { minLength: 1 } : {}),
        maxLength: schema.maxLength,
        ...defined({ format: schema.format }),
        ...defaultOf(schema.default, place),
      };
    case 'parsed':
      return { type: 'string', maxLength: schema.grammar.maxLength };
    case 'integer':
      return {
        type: 'integer',
        format: schema.max < 2 ** 31 ? 'int32' : 'int64',
        minimum: schema.zeroIsUnset === true ? 0 : schema.min,
        ...(Number.isFinite(schema.max) ? { maximum: schema.max } : {}),
        ...defaultOf(schema.default, place),
      };
    case 'boolean':
      return { type: 'boolean', ...defaultOf(schema.default, place) };
    case 'choice':
      return {
        type: typeof schema.values[0] === 'number' ? 'integer' : 'string',
        enum: schema.values,
        ...defaultOf(schema.default, place),
      };
    case 'list':
      return listKeywords(schema, place);
    case 'map':
      return {
        type: 'object',
        additionalProperties: structuralSchema(schema.values, { ...place, needed: false }),
        maxProperties: schema.maxEntries,
      };
    case 'object':
      return objectKeywords(schema, place);
    case 'any':
      return { 'x-kubernetes-preserve-unknown-fields': true };
  }
}

function listKeywords({ items, maxItems, required, unique, key, orText }: ListSchema, place: Place): StructuralSchema {
  if (orText !== undefined && items.kind === 'choice')
    return {
      // A structural schema has one type or none. Each keyword binds only values of its own type, and the reader refuses all other types.
      'x-kubernetes-preserve-unknown-fields': true,
      pattern: `^(${[orText, ...items.values].join('|')})$`,
      items: structuralSchema(items, { ...place, needed: true }),
      maxItems,
    };
  const type = key !== undefined ? 'map' : unique === true && items.kind !== 'object' ? 'set' : 'atomic';
  return {
    type: 'array',
    items: structuralSchema(items, { ...place, needed: true }),
    ...(required === undefined ? {} : { minItems: 1 }),
    maxItems,
    'x-kubernetes-list-type': type,
    ...(key === undefined ? {} : { 'x-kubernetes-list-map-keys': [key] }),
  };
}

function objectKeywords(schema: ObjectSchema, place: Place): StructuralSchema {
  const storeDefaults = place.storeDefaults && schema.impliedDefaults !== true;
  const properties = Object.entries(schema.fields).map(
    ([name, field]) => [name, structuralSchema(field, { needed: field.required !== undefined, storeDefaults })] as const,
  );
  const required = Object.entries(schema.fields).flatMap(([name, field]) => (field.required === undefined ? [] : [name]));
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    ...(schema.open === true ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    // Selectors are replaced as a whole, as everywhere in Kubernetes: a merged one would select other objects.
    ...(schema.called === 'selector' ? { 'x-kubernetes-map-type': 'atomic' } : {}),
  };
}

const defaultOf = (value: unknown, { storeDefaults }: Place): StructuralSchema =>
  value === undefined || !storeDefaults ? {} : { default: value };

/** A validation rule of the API server with its message. */
export interface StructuralRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

function rulesOf(schema: Schema, { needed }: Place): readonly StructuralRule[] {
  const own = (schema.rules ?? []).map((rule) => valueRule(rule, schema, needed));
  if (schema.kind === 'parsed') return [...schema.grammar.rules.map((rule) => valueRule(rule, schema, needed)), ...own];
  return schema.kind === 'object' ? [...own, ...(schema.relations ?? []).map(relationRule)] : own;
}

/** Accepts an empty text in a field that may be absent, because it means the same as absent. */
function valueRule(rule: ValueRule, schema: Schema | ParsedSchema, needed: boolean): StructuralRule {
  const mayBeEmpty = !needed && (schema.kind === 'parsed' || schema.kind === 'text');
  return { rule: mayBeEmpty ? `self == '' || (${rule.cel})` : rule.cel, message: refusal(rule) };
}

function relationRule(relation: Relation): StructuralRule {
  return { rule: relation.cel, message: refusal(relation), fieldPath: `.${relation.at}` };
}
