import assert from 'node:assert/strict';
import { closestName } from '../../../../../lang/closest-name.ts';
import { isRecord } from '../../../../../lang/is-record.ts';
import type { Remark } from '../../../../../model/metallb/import.ts';
import { limits } from '../../../../limits.ts';
import type { SourceField, SourceKind } from './source-kind.ts';

interface Shared {
  readonly kind: SourceKind;
  readonly root: unknown;
  /** Paths of the values that a translator has read. */
  readonly taken: Set<string>;
  readonly remarks: Remark[];
}

/**
 * Reads the fields of an object of another program. A translator can read only fields that the table of the kind has as translated, and
 * `remarks` reports each written field that was not read, so that no field is dropped without a word.
 */
export class Fields {
  readonly #shared: Shared;
  readonly #value: Readonly<Record<string, unknown>>;
  /** Path of `#value`: "" or "blocks[0].". */
  readonly #at: string;

  private constructor(shared: Shared, value: unknown, at: string) {
    this.#shared = shared;
    this.#value = isRecord(value) ? value : {};
    this.#at = at;
  }

  /** `root` is the value that the paths of the table begin at, such as the spec. */
  static of(kind: SourceKind, root: unknown): Fields {
    return new Fields({ kind, root, taken: new Set(), remarks: [] }, root, '');
  }

  /** Names of the fields that are written, with a value. */
  names(): string[] {
    return Object.keys(this.#value).filter((name) => this.#value[name] !== null && this.#value[name] !== undefined);
  }

  /** Returns the value of a field as written. Undefined when it is absent or null. */
  value(name: string): unknown {
    const path = this.#at + name;
    const row = rowOf(this.#shared.kind, path);
    assert.equal(row?.does, 'translated', `${this.#shared.kind.kind} has no translated field ${path}`);
    this.#shared.taken.add(path);
    return Object.hasOwn(this.#value, name) ? (this.#value[name] ?? undefined) : undefined;
  }

  /** Returns a text, or a number as text. Refuses any other value. */
  text(name: string): string | undefined {
    const value = this.value(name);
    if (typeof value === 'string' || value === undefined) return value === '' ? undefined : value;
    if (typeof value === 'number') return String(value);
    this.refuse(name, 'is no text', 'write a text');
    return undefined;
  }

  /** Returns a whole number, also one that is written as text. */
  number(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined || /^[0-9]{1,10}$/.test(value)) return value === undefined ? undefined : Number(value);
    this.refuse(name, 'is no whole number', 'write a whole number');
    return undefined;
  }

  /** Returns a truth value, also one that is written as text. */
  flag(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'boolean') return value;
    if (value === 'true' || value === 'false') return value === 'true';
    this.refuse(name, 'is neither true nor false', 'write true or false');
    return undefined;
  }

  /** Returns a list of texts, without the elements that are none. */
  texts(name: string): string[] {
    const value = this.value(name);
    if (value === undefined) return [];
    if (!Array.isArray(value)) this.refuse(name, 'is no list', 'write a list');
    const list: readonly unknown[] = Array.isArray(value) ? value : [];
    if (list.some((one) => typeof one !== 'string' && typeof one !== 'number')) this.refuse(name, 'has an item that is no text', '');
    return list.filter((one) => typeof one === 'string' || typeof one === 'number').map(String);
  }

  /** Returns the fields of each object of a list. */
  items(name: string): Fields[] {
    const value = this.#value[name];
    if (!Array.isArray(value)) return [];
    return value.slice(0, limits.importItems).map((item, index) => new Fields(this.#shared, item, `${this.#at}${name}[${index}].`));
  }

  /** Returns the fields of an object inside of this one. */
  within(name: string): Fields {
    return new Fields(this.#shared, this.#value[name], `${this.#at}${name}.`);
  }

  /** Reports what is lost of a field that was read. */
  lose(name: string, message: string, fix: string): void {
    this.#remark('differs', name, message, fix);
  }

  note(name: string, message: string, fix = ''): void {
    this.#remark('note', name, message, fix);
  }

  /** Reports why nothing is written for the object. */
  refuse(name: string, message: string, fix: string): void {
    this.#remark('refused', name, message, fix);
  }

  #remark(level: Remark['level'], name: string, message: string, fix: string): void {
    const field = `${this.#shared.kind.root}${this.#at}${name}`;
    this.#shared.remarks.push({ level, field: name === '' ? field.replace(/\.$/, '') : field, message, fix });
  }

  /** Returns what the translator reported, and every written field that it did not read. */
  remarks(): Remark[] {
    const kept: string[] = [];
    const found = [...this.#shared.remarks, ...unread(this.#shared, this.#shared.root, '', kept)];
    if (kept.length === 0) return found;
    const field = this.#shared.kind.root.replace(/\.$/, '');
    return [...found, { level: 'note', field, message: `has ${kept.join(', ')}, for which Herald needs nothing`, fix: '' }];
  }
}

/** `kept` receives the paths of fields that need no equivalent and no action. */
function unread(shared: Shared, value: unknown, path: string, kept: string[]): Remark[] {
  if (value === null || value === undefined || shared.taken.has(path)) return [];
  const row = path === '' ? undefined : rowOf(shared.kind, path);
  const at = (message: string, fix: string, level: Remark['level'] = 'differs'): Remark[] => [
    { level, field: shared.kind.root + path, message, fix },
  ];
  if (row?.does === 'kept' && isOff(value)) return [];
  if (row?.does === 'kept' && row.fix === '') {
    kept.push(path);
    return [];
  }
  if (row?.does === 'kept') return at(row.text, row.fix, 'note');
  if (row?.does === 'lost') return isOff(value) ? [] : at(row.text, row.fix);
  if (row !== undefined) return isOff(value) ? [] : at('has no effect here, and is left out', '');
  const pattern = patternOf(path);
  const inside = (separator: string): boolean => shared.kind.fields.some(({ field }) => field.startsWith(pattern + separator));
  if (isRecord(value) && (path === '' || inside('.')))
    return Object.entries(value).flatMap(([name, one]) => unread(shared, one, path === '' ? name : `${path}.${name}`, kept));
  if (Array.isArray(value) && inside('[]')) {
    const read = value.slice(0, limits.importItems).flatMap((one, index) => unread(shared, one, `${path}[${index}]`, kept));
    return value.length <= limits.importItems
      ? read
      : [...read, ...at(`has more than ${limits.importItems} items: further ones are left out`, 'split the object')];
  }
  if (isOff(value) && (inside('.') || inside('[]'))) return [];
  if (inside('[]')) return at('is no list', 'write a list', 'refused');
  if (inside('.')) return at('is no mapping of fields', 'write a mapping', 'refused');
  const meant = closestName(
    path.slice(0, 63),
    shared.kind.fields.map(({ field }) => field),
  );
  const fix = meant === undefined ? 'check whether Herald has a field for it' : `did you mean ${meant}?`;
  return at(`is not a field of ${shared.kind.kind} that Herald knows: it is left out`, fix);
}

/** True for values that mean the same as no value. */
function isOff(value: unknown): boolean {
  if (value === false || value === '' || value === 0 || value === 'false' || value === '0s') return true;
  return Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;
}

const patternOf = (path: string): string => path.replaceAll(/\[\d+\]/g, '[]');

function rowOf(kind: SourceKind, path: string): SourceField | undefined {
  const pattern = patternOf(path);
  const exact = kind.fields.find(({ field }) => field === pattern);
  return exact ?? kind.fields.find(({ field }) => field.endsWith('*') && pattern.startsWith(field.slice(0, -1)));
}
