import { parseDuration } from '../../../../../model/reading/duration.ts';
import type { Fields } from '../reading/fields.ts';
import { flagOfField } from './settings.ts';

/** Where a setting stands: the fields that have it, and its name there. */
interface Place {
  readonly fields: Fields;
  readonly name: string;
}

/** Reads settings by their names in KubeProxyConfiguration, from such an object or from flags. */
export class SettingsReader {
  readonly #fields: Fields;
  readonly #from: 'configuration' | 'flags';
  readonly #read = new Set<string>();

  constructor(fields: Fields, from: 'configuration' | 'flags') {
    this.#fields = fields;
    this.#from = from;
  }

  text(field: string): string | undefined {
    const place = this.#place(field);
    return place?.fields.text(place.name);
  }

  number(field: string): number | undefined {
    const place = this.#place(field);
    return place?.fields.number(place.name);
  }

  flag(field: string): boolean | undefined {
    const place = this.#place(field);
    return place?.fields.flag(place.name);
  }

  /** Returns a list, which a flag has between commas. */
  list(field: string): readonly string[] {
    const place = this.#place(field);
    if (place === undefined) return [];
    const { fields, name } = place;
    const written = this.#from === 'flags' ? (fields.text(name) ?? '').split(',') : fields.texts(name);
    return written.map((one) => one.trim()).filter((one) => one !== '');
  }

  /** Returns whole seconds, rounded up. Undefined: not set, or 0 where `zero` is not meant. Refuses a text that is no duration of Go. */
  seconds(field: string, zero: 'means unset' | 'is a value'): number | undefined {
    const text = this.text(field);
    if (text === undefined) return undefined;
    const duration = parseDuration(text);
    if (!duration.ok) {
      this.refuse(field, `is ${duration.problem}`, 'write a duration of Go, such as 1h0m0s');
      return undefined;
    }
    return duration.value === 0 && zero === 'means unset' ? undefined : Math.ceil(duration.value);
  }

  lose(field: string, message: string, fix: string): void {
    this.#remark('lose', field, message, fix);
  }

  note(field: string, message: string, fix = ''): void {
    this.#remark('note', field, message, fix);
  }

  refuse(field: string, message: string, fix: string): void {
    this.#remark('refuse', field, message, fix);
  }

  /** Notes each of these fields that has a value and was not read otherwise. */
  unused(why: string, ...fields: readonly string[]): void {
    for (const field of fields) {
      const place = this.#read.has(this.#nameOf(field) ?? '') ? undefined : this.#place(field);
      const value = place?.fields.value(place.name);
      if (value !== undefined && value !== false && value !== '' && value !== 'false' && value !== '0s') this.note(field, why);
    }
  }

  #nameOf(field: string): string | undefined {
    return this.#from === 'configuration' ? field : flagOfField.get(field);
  }

  #place(field: string): Place | undefined {
    const path = this.#nameOf(field);
    if (path === undefined) return undefined;
    this.#read.add(path);
    const names = this.#from === 'flags' ? [path] : path.split('.');
    const fields = names.slice(0, -1).reduce((at, name) => at.within(name), this.#fields);
    return { fields, name: names.at(-1) ?? '' };
  }

  /** A remark about a field without a flag is about the whole of the flags. */
  #remark(level: 'lose' | 'note' | 'refuse', field: string, message: string, fix: string): void {
    const { fields, name } = this.#place(field) ?? { fields: this.#fields, name: '' };
    fields[level](name, message, fix);
  }
}
