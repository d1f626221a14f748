import { kinds } from '../../../src/model/kinds.ts';
import type { Column, KindDefinition } from '../../../src/model/schema/kind.ts';
import type { ObjectSchema, Schema } from '../../../src/model/schema/schema.ts';
import { condition } from '../../../src/model/schema/status.ts';
import { refusal } from './plain-text.ts';

const opening = `# Objects

Every field of every kind of \`herald.dev/v1alpha1\`. [Configuration](configuration.md) describes what the kinds have in common and how they work together. In a
cluster the API server checks the tables and rules below ([why, and what it cannot check](../explanation/custom-resources.md)). With a directory as source,
Herald checks them with the same messages.

\`npm run generate\` writes this page, the CRDs in \`manifests/crds\` and the JSON schemas in \`manifests/schema\` from \`src/model/kinds/\`. Edit the definitions,
not the page.
`;

/** Returns docs/reference/objects.md. */
export function referencePage(): string {
  return [opening, ...kinds.map(chapter), conditionsChapter()].join('\n');
}

function chapter({ kind, plural, shortNames, description, spec, status, columns, nameRule }: KindDefinition): string {
  const names = `\`${plural}\`, short ${shortNames.map((name) => `\`${name}\``).join(', ')}`;
  const rules = [
    ...(nameRule === undefined ? [] : [`\`metadata.name\` ${refusal(nameRule)}`]),
    ...(spec === undefined ? [] : rulesOf(spec, '')),
  ];
  return [
    `## ${kind}`,
    '',
    description,
    '',
    `Cluster-scoped. ${names}. \`kubectl get ${plural}\` shows ${shown(columns)}.`,
    '',
    ...(spec === undefined ? [] : [...table('spec', spec), '']),
    ...(rules.length === 0 ? [] : ['Values that are refused, each with its fix:', '', ...rules.map((rule) => `- ${rule}`), '']),
    ...table('status', status),
    '',
  ].join('\n');
}

function conditionsChapter(): string {
  const lines = ['## Conditions', '', 'All kinds have the same conditions (metav1.Condition).', '', ...table('a condition', condition), ''];
  return lines.join('\n');
}

function shown(columns: readonly Column[]): string {
  const named = (which: readonly Column[]): string => which.map(({ name }) => name).join(', ');
  const wide = columns.filter(({ wide }) => wide === true);
  const always = columns.filter(({ wide }) => wide !== true);
  return wide.length === 0 ? named(always) : `${named(always)}; with \`-o wide\` also ${named(wide)}`;
}

function table(part: string, schema: ObjectSchema): string[] {
  const head = [`| field of ${part} | type | default | limits | meaning |`, '|---|---|---|---|---|'];
  return [...head, ...rowsOf(schema, '')];
}

function rowsOf(schema: ObjectSchema, prefix: string): string[] {
  return Object.entries(schema.fields).flatMap(([name, field]) => {
    const inner = field.kind === 'list' ? field.items : field;
    const path = `${prefix}${name}${field.kind === 'list' && inner.kind === 'object' && inner.called === undefined ? '[]' : ''}`;
    const row = `| \`${path}\` | ${typeOf(field)} | ${defaultOf(field)} | ${limitsOf(field)} | ${cell(field.description ?? '')} |`;
    return inner.kind === 'object' && inner.called === undefined ? [row, ...rowsOf(inner, `${path}.`)] : [row];
  });
}

function typeOf(schema: Schema): string {
  switch (schema.kind) {
    case 'text':
      return 'text';
    case 'parsed':
      return cell(schema.grammar.called);
    case 'integer':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'choice':
      return schema.values.map((value) => `\`${value}\``).join(', ');
    case 'list':
      return `list of ${pluralOf(schema.items)}${schema.orText === undefined ? '' : `, or one of them, or \`${schema.orText}\``}`;
    case 'map':
      return 'mapping';
    case 'object':
      return schema.called ?? 'object';
    case 'any':
      return '';
  }
}

function pluralOf(items: Schema): string {
  if (items.kind === 'parsed') return cell(items.grammar.plural);
  if (items.kind === 'object') return `${items.called ?? 'object'}s`;
  return items.kind === 'text' ? 'texts' : typeOf(items);
}

function defaultOf(schema: Schema): string {
  if (schema.required !== undefined) return 'required';
  if (schema.unset !== undefined) return cell(schema.unset);
  if ('default' in schema && schema.default !== undefined) return `\`${schema.default}\``;
  return schema.kind === 'list' ? 'none' : '';
}

function limitsOf(schema: Schema): string {
  switch (schema.kind) {
    case 'text':
      return `${schema.maxLength} characters`;
    case 'integer':
      return Number.isFinite(schema.max) ? `${schema.min} to ${schema.max}` : '';
    case 'list':
      return `${schema.maxItems}${schema.unique === true ? ', none twice' : ''}`;
    case 'map':
      return `${schema.maxEntries}`;
    case 'parsed':
      return schema.grammar.unit?.allowed ?? '';
    case 'boolean':
    case 'choice':
    case 'object':
    case 'any':
      return '';
  }
}

function rulesOf(schema: Schema, path: string): string[] {
  const place = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const own = (schema.rules ?? []).map((rule) => `\`${path}\` ${refusal(rule)}`);
  if (schema.kind === 'list') return [...own, ...rulesOf(schema.items, `${path}[]`)];
  // configuration.md describes the rules of selectors once.
  if (schema.kind !== 'object' || schema.called !== undefined) return own;
  const relations = (schema.relations ?? []).map((relation) => `\`${place(relation.at)}\` ${refusal(relation)}`);
  return [...own, ...relations, ...Object.entries(schema.fields).flatMap(([name, field]) => rulesOf(field, place(name)))];
}

const cell = (text: string): string => text.replaceAll('|', '\\|');
