import { parseAddress, type Address } from '../../../src/net/address.ts';
import { parsed, invalid, type Parsed } from '../../../src/net/parsed.ts';
import { parsePrefixLeniently, type Prefix } from '../../../src/net/prefix.ts';
import { limits } from './limits.ts';

/** Turns the text of an annotation into a value. */
export interface ValueType<T> {
  /** Shown on the reference page, for example "boolean" or "list of ARNs". */
  readonly name: string;
  readonly read: (text: string) => Parsed<T>;
}

const truths = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const untruths = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Accepts the texts that Go's strconv.ParseBool accepts, as upstream does. */
export const boolean: ValueType<boolean> = {
  name: 'boolean',
  read(text) {
    if (truths.has(text)) return parsed(true);
    return untruths.has(text) ? parsed(false) : invalid('is neither true nor false');
  },
};

export function integer(min: number, max: number): ValueType<number> {
  return {
    name: `${min} to ${max}`,
    read(text) {
      const value = Number(text);
      if (!/^[0-9]{1,10}$/.test(text)) return invalid('is not a whole number');
      return value >= min && value <= max ? parsed(value) : invalid(`is not from ${min} to ${max}`);
    },
  };
}

export const text: ValueType<string> = { name: 'text', read: (text) => (text.trim() === '' ? invalid('is empty') : parsed(text.trim())) };

/** A text without surrounding space that matches the pattern. `problem` completes the sentence "The text ..." otherwise. */
export function matching(name: string, pattern: RegExp, problem: string): ValueType<string> {
  return { name, read: (text) => (pattern.test(text.trim()) ? parsed(text.trim()) : invalid(problem)) };
}

/** One of the given words, in upper or lower case. */
export function word<const T extends string>(...words: readonly T[]): ValueType<T> {
  return {
    name: words.map((word) => `\`${word}\``).join(', '),
    read(text) {
      const found = words.find((word) => word.toLowerCase() === text.trim().toLowerCase());
      return found === undefined ? invalid(`is not one of ${words.join(', ')}`) : parsed(found);
    },
  };
}

/** Comma-separated items, trimmed. Empty items are ignored. At least one item is required. */
export function list<T>(what: string, item: (text: string) => Parsed<T>): ValueType<readonly T[]> {
  return {
    name: `list of ${what}`,
    read(text) {
      const items = splitList(text);
      if (items.length === 0) return invalid('is an empty list');
      if (items.length > limits.listItems) return invalid(`has ${items.length} items, and at most ${limits.listItems} are allowed`);
      const values: T[] = [];
      for (const text of items) {
        const result = item(text);
        if (!result.ok) return invalid(`has ${JSON.stringify(text)}, which ${result.problem}`);
        values.push(result.value);
      }
      return parsed(values);
    },
  };
}

export const texts = (what: string): ValueType<readonly string[]> => list(what, parsed);

export const cidrs: ValueType<readonly Prefix[]> = list('CIDRs', (text) => {
  const result = parsePrefixLeniently(text);
  return result.ok ? result : invalid(`is ${result.problem}`);
});

export const addresses = (family: 4 | 6): ValueType<readonly Address[]> =>
  list(`IPv${family} addresses`, (text) => {
    const result = parseAddress(text);
    return result.ok && result.value.family === family ? result : invalid(`is not an IPv${family} address`);
  });

/** ARNs of server certificates in ACM or IAM. */
export const certificates: ValueType<readonly string[]> = list('ARNs', (text) =>
  /^arn:[\w-]+:(?:acm:[\w-]+:\d{12}:certificate|iam::\d{12}:server-certificate)\/\S+$/.test(text)
    ? parsed(text)
    : invalid('is not the ARN of a certificate of ACM or IAM'),
);

/**
 * Reads "k=v,k2=v2" as upstream does. The first "=" separates key and value, "\" escapes the next character, and text after a comma without
 * a later "=" belongs to the previous value.
 */
export const map: ValueType<Readonly<Record<string, string>>> = { name: 'key=value list', read: (text) => readMap(splitMap(text)) };

/** Reads the same for attributes of AWS, whose values have no commas: each part between commas must be key=value. */
export const attributeMap: ValueType<Readonly<Record<string, string>>> = {
  name: map.name,
  read: (text) => readMap(splitAtCommas(charactersOf(text))),
};

function readMap(parts: readonly Character[][]): Parsed<Readonly<Record<string, string>>> {
  const result: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const part of parts) {
    const at = part.findIndex(({ char, plain }) => char === '=' && plain);
    if (at <= 0) return invalid(`has ${JSON.stringify(asText(part).trim())}, which is not key=value`);
    const key = asText(part.slice(0, at)).trim();
    if (key === '') return invalid('has a key that is empty');
    result[key] = asText(part.slice(at + 1)).trim();
  }
  return Object.keys(result).length === 0 ? invalid('is empty') : parsed({ ...result });
}

/** Reads "k=v,k2" as node labels, as the cloud provider AWS does. A key without a value means that the label must be present. */
export const labels: ValueType<Readonly<Record<string, string>>> = {
  name: 'list of labels, key=value or key',
  read(text) {
    const items = splitList(text).map((item): [string, string] => {
      const [key = '', ...value] = item.split('=');
      return [key.trim(), value.join('=').trim()];
    });
    if (items.length === 0) return invalid('is empty');
    return items.some(([key]) => key === '') ? invalid('has a key that is empty') : parsed(Object.fromEntries(items));
  },
};

interface Character {
  readonly char: string;
  /** False when the character was escaped. */
  readonly plain: boolean;
}

function charactersOf(text: string): Character[] {
  const characters: Character[] = [];
  for (let at = 0; at < text.length; at++) {
    const escaped = text[at] === '\\' && at + 1 < text.length;
    if (escaped) at++;
    characters.push({ char: text.charAt(at), plain: !escaped });
  }
  return characters;
}

function splitMap(text: string): Character[][] {
  const characters = charactersOf(text);
  return splitAtCommas(
    characters,
    characters.findLastIndex(({ char, plain }) => char === '=' && plain),
  );
}

/** Splits at commas before the index. */
function splitAtCommas(characters: readonly Character[], before = Infinity): Character[][] {
  const parts: Character[][] = [[]];
  for (const [index, character] of characters.entries()) {
    if (character.char === ',' && character.plain && index < before) parts.push([]);
    else parts.at(-1)?.push(character);
  }
  return parts.filter((part) => asText(part).trim() !== '');
}

function asText(characters: readonly Character[]): string {
  return characters.map(({ char }) => char).join('');
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
