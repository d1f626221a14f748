import { defined } from '../../../src/lang/defined.ts';
import { heraldApiVersion } from '../../../src/model/kinds.ts';
import type { KindDefinition } from '../../../src/model/schema/kind.ts';
import type { Schema } from '../../../src/model/schema/schema.ts';
import { plainText } from './plain-text.ts';

interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** Returns the JSON Schema of a manifest, draft 7, because editors support it. Strict like Herald: an unknown field is an error. */
export function jsonSchema({ kind, description, spec, status }: KindDefinition): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: kind,
    description: plainText(description),
    type: 'object',
    properties: {
      apiVersion: { const: heraldApiVersion },
      kind: { const: kind },
      metadata: { type: 'object', properties: { name: { type: 'string', minLength: 1, maxLength: 253 } }, required: ['name'] },
      ...(spec === undefined ? {} : { spec: ofSchema(spec) }),
      status: ofSchema(status),
    },
    required: ['apiVersion', 'kind', 'metadata', ...(spec?.required === undefined ? [] : ['spec'])],
    additionalProperties: false,
  };
}

function ofSchema(schema: Schema): JsonSchema {
  return {
    ...(schema.description === undefined ? {} : { description: plainText(schema.description) }),
    ...keywords(schema),
    ...('default' in schema && schema.default !== undefined ? { default: schema.default } : {}),
  };
}

function keywords(schema: Schema): JsonSchema {
  switch (schema.kind) {
    case 'text':
      return { type: 'string', maxLength: schema.maxLength, ...defined({ format: schema.format }) };
    case 'parsed':
      return { type: 'string', maxLength: schema.grammar.maxLength };
    case 'integer': {
      const minimum = schema.zeroIsUnset === true ? 0 : schema.min;
      return { type: 'integer', minimum, ...(Number.isFinite(schema.max) ? { maximum: schema.max } : {}) };
    }
    case 'boolean':
      return { type: 'boolean' };
    case 'choice':
      return { enum: schema.values };
    case 'list': {
      const list = {
        type: 'array',
        items: ofSchema(schema.items),
        maxItems: schema.maxItems,
        ...(schema.required === undefined ? {} : { minItems: 1 }),
        ...(schema.unique === true || schema.key !== undefined ? { uniqueItems: true } : {}),
      };
      if (schema.orText === undefined || schema.items.kind !== 'choice') return list;
      return { anyOf: [{ enum: [schema.orText, ...schema.items.values] }, list] };
    }
    case 'map':
      return { type: 'object', additionalProperties: ofSchema(schema.values), maxProperties: schema.maxEntries };
    case 'object': {
      const fields = Object.entries(schema.fields);
      const required = fields.flatMap(([name, field]) => (field.required === undefined ? [] : [name]));
      return {
        type: 'object',
        properties: Object.fromEntries(fields.map(([name, field]) => [name, ofSchema(field)])),
        ...(required.length === 0 ? {} : { required }),
        ...(schema.open === true ? {} : { additionalProperties: false }),
      };
    }
    case 'any':
      return {};
  }
}
