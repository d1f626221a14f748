import { defined } from '../../lang/defined.ts';
import { isRecord } from '../../lang/is-record.ts';
import type { Parsed } from '../../net/parsed.ts';
import { limits } from '../limits.ts';
import { closestName } from '../../lang/closest-name.ts';
import { addProblem, type FieldPath, type Findings } from './problem.ts';

interface FieldsOptions {
  /** How unknown fields are treated. Kubernetes kinds have more fields than Herald reads: those are ignored. */
  readonly unknown: 'refused' | 'warned of' | 'ignored';
  /** Messages must not contain values. */
  readonly secret?: boolean;
}

/** Where a nested object is. */
interface Place {
  readonly of: FieldReader;
  readonly field: string;
  readonly index?: number;
}

interface TextMapOptions {
  readonly keep?: (key: string) => boolean;
  readonly maxEntries?: number;
  readonly maxLength?: number;
}

/**
 * Reads the fields of one object in a manifest. Every method records problems under the field's path and returns undefined (or leaves the
 * element out), so that one pass finds all problems. `null` counts as absent, as in the API server. After everything was read, `end()`
 * reports the fields that were not read.
 */
export class FieldReader {
  readonly #raw: Readonly<Record<string, unknown>>;
  readonly #findings: Findings;
  readonly #options: FieldsOptions;
  /** Where the object is: in which other one, under which field, and the position in a list. The path is made only for a problem. */
  readonly #place: Place | undefined;
  /** Fields and nested readers that were used. Undefined when unknown fields are ignored, as in most objects of Kubernetes. */
  readonly #used: { readonly names: Set<string>; readonly children: FieldReader[] } | undefined;

  constructor(raw: Readonly<Record<string, unknown>>, findings: Findings, options: FieldsOptions, place?: Place) {
    this.#raw = raw;
    this.#findings = findings;
    this.#options = options;
    this.#place = place;
    this.#used = options.unknown === 'ignored' ? undefined : { names: new Set(), children: [] };
  }

  /** True when a problem makes the whole object unusable. */
  get unusable(): boolean {
    return this.#findings.unusable;
  }

  has(name: string): boolean {
    return this.raw(name) !== undefined;
  }

  /** Returns the value as written. Undefined when absent or null. */
  raw(name: string): unknown {
    this.#used?.names.add(name);
    return Object.hasOwn(this.#raw, name) ? (this.#raw[name] ?? undefined) : undefined;
  }

  /** Returns a reader for a nested object. An absent object reads as an empty one. */
  object(name: string): FieldReader {
    const value = this.raw(name);
    if (value !== undefined && !isRecord(value)) this.#mustBe(name, 'a mapping of fields', value);
    return this.#child(isRecord(value) ? value : {}, name);
  }

  objects(name: string, max: number): FieldReader[] {
    return this.#list(name, max).flatMap((value, index) => {
      if (isRecord(value)) return [this.#child(value, name, index)];
      this.#mustBe([name, index], 'a mapping of fields', value);
      return [];
    });
  }

  text(name: string, max: number = limits.text): string | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : this.#text([name], value, max);
  }

  /** Reads text whose value must not appear in any message. */
  secretText(name: string): string | undefined {
    const value = this.raw(name);
    if (value === undefined || typeof value === 'string') return value;
    return this.problem(name, 'must be text', 'put the value in quotes');
  }

  texts(name: string, max: number, maxLength: number = limits.text): string[] {
    return this.#list(name, max).flatMap((value, index) => this.#text([name, index], value, maxLength) ?? []);
  }

  /** Reads a mapping of text to text: labels, annotations, selectors. */
  textMap(name: string, options: TextMapOptions = {}): Record<string, string> {
    const { keep = () => true, maxEntries = limits.mapEntries, maxLength = limits.annotations } = options;
    const value = this.raw(name);
    if (value === undefined) return {};
    const result = Object.create(null) as Record<string, string>;
    if (!isRecord(value)) {
      this.#mustBe(name, 'a mapping of text to text', value);
      return {};
    }
    const entries = Object.entries(value);
    if (entries.length > maxEntries) this.problem(name, `has ${entries.length} entries; at most ${maxEntries} are read`, '');
    for (const [key, item] of entries.slice(0, maxEntries)) {
      if (!keep(key)) continue;
      const text = this.#text([name, key], item ?? '', maxLength);
      if (text !== undefined) result[key] = text;
    }
    return { ...result };
  }

  boolean(name: string): boolean | undefined {
    const value = this.raw(name);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.#mustBe(name, 'true or false', value);
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    return this.#mustBe(name, `a whole number from ${min} to ${max}`, value);
  }

  oneOf<const T extends string | number>(name: string, values: readonly T[]): T | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    const found = values.find((candidate) => candidate === value);
    if (found === undefined) this.#mustBe(name, `one of ${values.join(', ')}`, value);
    return found;
  }

  manyOf<const T extends string | number>(name: string, values: readonly T[]): T[] {
    return this.#list(name, values.length).flatMap((value, index) => {
      const found = values.find((candidate) => candidate === value);
      if (found === undefined) this.#mustBe([name, index], `one of ${values.join(', ')}`, value);
      return found ?? [];
    });
  }

  /** Reads a value with its own grammar: an address, a prefix, a duration. Empty text counts as absent, as in the API server. */
  parsed<T>(name: string, parse: (text: string) => Parsed<T>): T | undefined {
    const text = this.text(name);
    return text === undefined || text === '' ? undefined : this.#parse([name], text, parse);
  }

  parsedList<T>(name: string, max: number, parse: (text: string) => Parsed<T>): T[] {
    return this.#list(name, max).flatMap((value, index) => {
      const text = this.#text([name, index], value, limits.text);
      const result = text === undefined ? undefined : this.#parse([name, index], text, parse);
      return result === undefined ? [] : [result];
    });
  }

  /** Records a problem when the field is absent or empty text. Returns whether it is present. */
  require(name: string, fix: string): boolean {
    const value = this.raw(name);
    if (value !== undefined && value !== '') return true;
    this.problem(name, 'is required', fix);
    return false;
  }

  /** Returns undefined, which reading the field then returns. */
  problem(where: string | FieldPath, message: string, fix: string | (() => string)): undefined {
    this.#findings.unusable = true;
    addProblem(this.#findings.problems, this.#at(where), message, fix);
  }

  /** Records a problem of a part that is left out. The rest of the object is used. */
  partialProblem(where: string | FieldPath, message: string, fix: string): void {
    addProblem(this.#findings.problems, this.#at(where), message, fix);
  }

  /** Records a problem of an annotation that is left out. Call it on the outermost object. */
  annotationProblem(name: string, written: string, fix: string): undefined {
    this.partialProblem(['metadata', 'annotations', name], `is ${JSON.stringify(written.slice(0, limits.shownValue))}`, fix);
  }

  warning(where: string | FieldPath, message: string, fix: string | (() => string)): void {
    addProblem(this.#findings.warnings, this.#at(where), message, fix);
  }

  /** Reports unknown fields. Call it once, on the outermost object, after all fields were read. */
  end(): void {
    if (this.#used === undefined) return;
    const { names, children } = this.#used;
    for (const name of Object.keys(this.#raw)) {
      if (names.has(name)) continue;
      const fix = (): string => {
        const meant = closestName(name, names);
        return meant === undefined ? `known here: ${[...names].sort().join(', ')}` : `did you mean ${meant}?`;
      };
      const where = [name.slice(0, limits.shownValue)];
      if (this.#options.unknown === 'refused') this.problem(where, 'is not a field', fix);
      else this.warning(where, 'is not known to this version of Herald and is ignored', () => `upgrade, or remove it; ${fix()}`);
    }
    for (const child of children) child.end();
  }

  #child(raw: Readonly<Record<string, unknown>>, field: string, index?: number): FieldReader {
    const child = new FieldReader(raw, this.#findings, this.#options, { of: this, field, ...defined({ index }) });
    this.#used?.children.push(child);
    return child;
  }

  #list(name: string, max: number): readonly unknown[] {
    const value = this.raw(name);
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.#mustBe(name, 'a list', value);
      return [];
    }
    if (value.length > max) this.problem(name, `has ${value.length} elements; at most ${max} are allowed`, '');
    return value.slice(0, max) as readonly unknown[];
  }

  #text(where: FieldPath, value: unknown, max: number): string | undefined {
    if (typeof value !== 'string') return this.#mustBe(where, 'text', value);
    return value.length <= max ? value : this.problem(where, `is longer than ${max} characters`, '');
  }

  #parse<T>(where: FieldPath, text: string, parse: (text: string) => Parsed<T>): T | undefined {
    const result = parse(text);
    if (!result.ok) return this.problem(where, `${this.#shown(text)}: ${result.problem}`, '');
    if (result.warning !== undefined) this.warning(where, `${this.#shown(text)} ${result.warning}`, '');
    return result.value;
  }

  #mustBe(where: string | FieldPath, what: string, value: unknown): undefined {
    const quote = what === 'text' && (typeof value === 'number' || typeof value === 'boolean');
    this.problem(
      where,
      `must be ${what}, not ${isPassword(where) ? 'what is written there' : this.#shown(value)}`,
      quote ? 'put the value in quotes' : '',
    );
  }

  #shown(value: unknown): string {
    if (Array.isArray(value)) return 'a list';
    if (isRecord(value)) return 'a mapping';
    if (value === null || value === undefined) return 'nothing';
    if (this.#options.secret === true) return 'what is written there';
    const text = JSON.stringify(value);
    return text.length <= limits.shownValue ? text : `${text.slice(0, limits.shownValue)}...`;
  }

  #at(where: string | FieldPath): FieldPath {
    return [...this.#path(), ...[where].flat()];
  }

  #path(): FieldPath {
    if (this.#place === undefined) return [];
    const { of, field, index } = this.#place;
    return [...of.#path(), field, ...(index === undefined ? [] : [index])];
  }
}

/** A value in the place of a password may be the password, whatever its type, so messages must not show it. */
function isPassword(where: string | FieldPath): boolean {
  return [where].flat().some((part) => typeof part === 'string' && part.startsWith('password'));
}
