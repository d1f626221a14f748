import { isRecord } from '../../../src/lang/is-record.ts';

type Raw = Readonly<Record<string, unknown>>;

/**
 * Returns one line, with its path, for everything that an older CRD allowed and a newer one forbids or reads differently. An empty result
 * means that every stored object stays valid.
 */
export function narrowings(older: Raw, newer: Raw): string[] {
  const [a, b] = [record(older['spec']), record(newer['spec'])];
  const found: string[] = [];
  for (const name of ['group', 'scope']) if (a[name] !== b[name]) found.push(`${name} is another one`);
  for (const name of ['plural', 'kind', 'shortNames', 'categories']) {
    const gone = texts(record(a['names'])[name]).filter((text) => !texts(record(b['names'])[name]).includes(text));
    if (gone.length > 0) found.push(`names.${name} lacks ${gone.join()}`);
  }
  for (const version of records(a['versions'])) {
    const same = records(b['versions']).find(({ name }) => name === version['name']);
    // A version must be served while objects may be stored in it. Removing one needs a migration.
    if (same?.['served'] !== true) found.push(`${String(version['name'])} is not served any more`);
    else found.push(...between(schemaOf(version), schemaOf(same), ''));
  }
  return found;
}

const least = ['minimum', 'minLength', 'minItems', 'minProperties'] as const;
const most = ['maximum', 'maxLength', 'maxItems', 'maxProperties'] as const;
/** Rules that took the place of a stricter one: they accept all that it accepted. */
const wider: ReadonlySet<unknown> = new Set([
  // The prefix of a class was required.
  "self == '' || (self.matches('^([A-Za-z0-9_.-]+/)?[A-Za-z0-9_.-]+$'))",
]);
const fixed = [
  'type',
  'format',
  'pattern',
  'default',
  'nullable',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
] as const;

function between(older: Raw, newer: Raw, at: string): string[] {
  if (isListOrOne(older, newer)) return [];
  const found: string[] = [];
  const say = (what: string): void => void found.push(`${at === '' ? '.' : at}: ${what}`);
  for (const name of fixed) if (JSON.stringify(older[name]) !== JSON.stringify(newer[name])) say(`${name} is another one`);
  for (const name of least) if (number(newer[name], -Infinity) > number(older[name], -Infinity)) say(`${name} is higher`);
  for (const name of most) if (number(newer[name], Infinity) < number(older[name], Infinity)) say(`${name} is lower`);
  const choices = newer['enum'] === undefined ? undefined : texts(newer['enum']);
  if (choices !== undefined && (older['enum'] === undefined || texts(older['enum']).some((value) => !choices.includes(value))))
    say('enum has fewer values');
  const required = texts(newer['required']).filter((name) => !texts(older['required']).includes(name));
  if (required.length > 0) say(`${required.join()} is required`);
  const rules = new Set(records(older['x-kubernetes-validations']).map(({ rule }) => rule));
  for (const { rule } of records(newer['x-kubernetes-validations']))
    if (!rules.has(rule) && !wider.has(rule) && !isOfNewField(String(rule), older)) say(`has a rule more: ${String(rule)}`);
  for (const name of ['items', 'additionalProperties']) {
    if (isRecord(older[name])) found.push(...between(record(older[name]), record(newer[name]), `${at}${name === 'items' ? '[]' : '{}'}`));
  }
  for (const [name, schema] of Object.entries(record(older['properties']))) {
    const same = record(newer['properties'])[name];
    if (isRecord(same)) found.push(...between(record(schema), same, `${at}.${name}`));
    else say(`${name} is gone`);
  }
  return found;
}

const schemaOf = (version: Raw): Raw => record(record(version['schema'])['openAPIV3Schema']);
const record = (value: unknown): Raw => (isRecord(value) ? value : {});
const records = (value: unknown): Raw[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const texts = (value: unknown): string[] => [value].flat().map((one) => (typeof one === 'string' ? one : (JSON.stringify(one) ?? '')));
const number = (value: unknown, absent: number): number => (typeof value === 'number' ? value : absent);

/** True where a field that was one of some words may now be a list of them as well, or one of them as before. */
function isListOrOne(older: Raw, newer: Raw): boolean {
  const isOpen = newer['type'] === undefined && newer['x-kubernetes-preserve-unknown-fields'] === true && newer['minItems'] === undefined;
  const [, words = ''] = /^\^\(([a-z|-]+)\)\$$/.exec(String(newer['pattern'])) ?? [];
  return isOpen && older['type'] === 'string' && texts(older['enum']).every((word) => words.split('|').includes(word));
}

/** True for a rule about a field that the older version lacks: no object of that version breaks it. */
function isOfNewField(rule: string, older: Readonly<Record<string, unknown>>): boolean {
  const [, field] = /^!\(*has\(self\.(\w+)\)/.exec(rule) ?? [];
  return field !== undefined && !(field in record(older['properties']));
}
