import { addBuiltInProviders } from '../../support/built-in-providers.ts';
import { isDeepStrictEqual } from 'node:util';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { jsonSchema } from '../../../scripts/generate/objects/json-schema.ts';
import { heraldApiVersion, kinds } from '../../../src/model/kinds.ts';
import type { KindDefinition } from '../../../src/model/schema/kind.ts';
import { exampleOf, outOfBounds } from '../../kinds/bent-objects.ts';

addBuiltInProviders();

interface JsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly [keyword: string]: unknown;
}

const typeOf = (value: unknown): string =>
  Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : value === null ? 'null' : typeof value;

/** Returns where a value violates a schema. Supports the keywords of draft 7 that our schemas use. */
function wrongIn(schema: JsonSchema, value: unknown, at: string): string[] {
  const known =
    '$schema title description type properties additionalProperties items required enum const default minimum maximum minLength maxLength minItems maxItems uniqueItems maxProperties format anyOf';
  for (const keyword of Object.keys(schema)) if (!known.split(' ').includes(keyword)) throw new Error(`this test does not know ${keyword}`);
  const type = typeOf(value);
  const size = typeof value === 'string' ? Array.from(value).length : Array.isArray(value) ? value.length : undefined;
  const least = (schema['minLength'] ?? schema['minItems'] ?? 0) as number;
  const most = (schema['maxLength'] ?? schema['maxItems'] ?? Infinity) as number;
  const wrong =
    (schema.type !== undefined && schema.type !== type) ||
    (schema.enum !== undefined && !schema.enum.includes(value)) ||
    ('const' in schema && schema.const !== value) ||
    (typeof value === 'number' &&
      (value < ((schema['minimum'] ?? -Infinity) as number) || value > ((schema['maximum'] ?? Infinity) as number))) ||
    (size !== undefined && (size < least || size > most)) ||
    (schema['uniqueItems'] === true &&
      Array.isArray(value) &&
      value.some((item, index) => value.slice(0, index).some((before) => isDeepStrictEqual(before, item))));
  if (wrong) return [at];
  const choices = ((schema['anyOf'] ?? []) as readonly JsonSchema[]).map((one) => wrongIn(one, value, at));
  if (choices.length > 0 && !choices.some((one) => one.length === 0)) return choices.flat();
  if (Array.isArray(value)) return value.flatMap((item, index) => wrongIn(schema.items ?? {}, item, `${at}[${index}]`));
  if (type !== 'object') return [];
  const fields = value as Readonly<Record<string, unknown>>;
  const missing = (schema.required ?? []).filter((name) => !(name in fields)).map((name) => `${at}.${name}`);
  const inner = Object.entries(fields).flatMap(([name, field]) => {
    const property = schema.properties?.[name] ?? schema.additionalProperties ?? true;
    if (property === false) return [`${at}.${name}`];
    return property === true ? [] : wrongIn(property, field, `${at}.${name}`);
  });
  return [...missing, ...inner];
}

function check(object: Readonly<Record<string, unknown>>): string[] {
  const kind = (kinds as readonly KindDefinition[]).find((one) => one.kind === object['kind']);
  if (kind === undefined) throw new Error(`there is no kind ${String(object['kind'])}`);
  return wrongIn(jsonSchema(kind), object, '').map((text) => text.slice(1));
}

describe('JSON schema', () => {
  test.each(kinds)('accepts the example of $kind', (kind) => {
    expect(check(exampleOf(kind))).toEqual([]);
  });

  test('accepts every manifest in examples', () => {
    const root = join(import.meta.dirname, '../../..');
    const objects = globSync('examples/**/*.yaml', { cwd: root })
      .flatMap((file) => parseAllDocuments(readFileSync(join(root, file), 'utf8')))
      .map((document) => document.toJS() as Record<string, unknown>)
      .filter((object) => object?.['apiVersion'] === heraldApiVersion);
    expect(objects.length).toBeGreaterThan(5);
    expect(objects.flatMap(check)).toEqual([]);
  });

  test.each(outOfBounds())('refuses a $kind whose $field $what', ({ object, field }) => {
    expect(check(object).filter((at) => at.startsWith(field))).not.toEqual([]);
  });

  test('refuses an unknown field', () => {
    const [pool] = kinds;
    expect(check({ ...exampleOf(pool), spec: { ...pool.example, autoAsign: false } })).toEqual(['spec.autoAsign']);
  });
});
