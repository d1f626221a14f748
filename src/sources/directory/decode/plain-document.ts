import type { Position } from './decoded-document.ts';

interface PlainDocument {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly at: Position;
  /** Where each element of the field `items` is written. Empty when the document has none, or when it is written as JSON. */
  readonly items: readonly Position[];
}

/**
 * Decodes a document that uses only the part of YAML in which `kubectl get -o yaml` and most people write manifests: block maps and lists,
 * and scalars of one line. Also decodes compact JSON. Returns undefined for every other document, also for a broken one: the full parser,
 * which takes sixteen times as long and twice the memory (ADR 54), then reads it. A document that is decoded here has the value that the full parser
 * would return, and no error.
 */
export function decodePlainDocument(text: string): PlainDocument | undefined {
  // Tabs, carriage returns, byte order marks and characters beyond ASCII have rules of their own.
  if (/[^\n -~]/.test(text) || text.includes('__proto__')) return undefined;
  const lines = linesOf(text);
  const [first] = lines;
  if (first === undefined || first.indent !== 0) return undefined;
  const at = { line: first.line, column: 1 };
  if (first.content.startsWith('{')) {
    const raw = lines.length === 1 ? compactJson(first.content) : undefined;
    return raw && { raw, at, items: [] };
  }
  const reader = new BlockReader(lines);
  const raw = reader.document();
  return raw && { raw, at, items: reader.items };
}

interface Line {
  readonly indent: number;
  /** Without indentation and without spaces at the end. */
  readonly content: string;
  readonly line: number;
}

/** Returns the lines without empty ones, comments, and the marker that begins the document. */
function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  for (let start = 0, line = 1; start <= text.length; line++) {
    let end = text.indexOf('\n', start);
    if (end === -1) end = text.length;
    let from = start;
    while (from < end && text.charCodeAt(from) === space) from++;
    let to = end;
    while (to > from && text.charCodeAt(to - 1) === space) to--;
    if (to > from && text.charCodeAt(from) !== hash) {
      const content = text.slice(from, to);
      if (lines.length > 0 || content !== '---' || from !== start) lines.push({ indent: from - start, content, line });
    }
    start = end + 1;
  }
  return lines;
}

const space = 32;
const hash = 35;
const nine = 57;

/** Bounds the nesting, because each level of it is indented more. */
const deepestIndent = 200;

/** Returns undefined for JSON that says something which its value does not show, such as a key that is written twice. */
function compactJson(text: string): Readonly<Record<string, unknown>> | undefined {
  // A merge key is not one more key to the full parser.
  if (text.includes('"<<"')) return undefined;
  try {
    const raw = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return JSON.stringify(raw) === text ? raw : undefined;
  } catch {
    return undefined;
  }
}

/** A key of the plain form, and the value behind it. */
const pair = /^([A-Za-z][\w./-]*):(?: +(.+))?$/;

/** Every method returns `other` where the document is not plain. */
const other = Symbol('not plain');

class BlockReader {
  readonly items: Position[] = [];
  readonly #lines: Line[];
  #next = 0;

  constructor(lines: Line[]) {
    this.#lines = lines;
  }

  document(): Readonly<Record<string, unknown>> | undefined {
    const map = this.#map(0, true);
    return map === other || this.#next < this.#lines.length ? undefined : (map as Readonly<Record<string, unknown>>);
  }

  /** Reads a map whose keys begin at `indent`. */
  #map(indent: number, isRoot = false): unknown {
    if (indent > deepestIndent) return other;
    const map: Record<string, unknown> = {};
    for (let line = this.#lines[this.#next]; line !== undefined && line.indent >= indent; line = this.#lines[this.#next]) {
      const [, key, text] = pair.exec(line.content) ?? [];
      if (line.indent > indent || key === undefined || Object.hasOwn(map, key)) return other;
      this.#next++;
      const value = text === undefined ? this.#below(indent, isRoot && key === 'items') : scalar(text);
      if (value === other) return other;
      map[key] = value;
    }
    return map;
  }

  /** Reads the value in the lines below a key at `indent`. */
  #below(indent: number, isItems: boolean): unknown {
    const line = this.#lines[this.#next];
    if (line === undefined || line.indent < indent) return null;
    if (isItem(line.content)) return this.#list(line.indent, isItems);
    if (line.indent === indent) return null;
    return this.#map(line.indent);
  }

  /** Reads a list whose hyphens stand at `indent`. */
  #list(indent: number, isItems: boolean): unknown {
    const list: unknown[] = [];
    for (let line = this.#lines[this.#next]; line?.indent === indent && isItem(line.content); line = this.#lines[this.#next]) {
      const content = line.content.slice(1).trimStart();
      if (content === '') return other;
      const inner = indent + line.content.length - content.length;
      if (isItems) this.items.push({ line: line.line, column: inner + 1 });
      let value: unknown;
      if (pair.test(content)) {
        this.#lines[this.#next] = { indent: inner, content, line: line.line };
        value = this.#map(inner);
      } else {
        this.#next++;
        value = scalar(content);
      }
      if (value === other) return other;
      list.push(value);
    }
    const line = this.#lines[this.#next];
    return line !== undefined && line.indent > indent ? other : list;
  }
}

function isItem(content: string): boolean {
  return content.startsWith('- ') || content === '-';
}

/** Reads a value of one line. */
function scalar(text: string): unknown {
  if (text.startsWith('"')) return /^"[^"\\]*"$/.test(text) ? text.slice(1, -1) : other;
  if (text.startsWith("'")) return /^'[^']*'$/.test(text) ? text.slice(1, -1) : other;
  if (text === '{}') return {};
  if (text === '[]') return [];
  if (!/^[A-Za-z0-9/_]/.test(text) || text.includes(': ') || text.includes(' #') || text.endsWith(':')) return other;
  if (text.charCodeAt(0) <= nine) {
    // At most 15 digits: a number that JavaScript has exactly. Other notations of numbers are left to the full parser.
    if (/^(?:0|[1-9]\d{0,14})$/.test(text)) return Number(text);
    return /^[\d.]*(?:[eE][-+]?\d+)?$|^0[ox]/.test(text) && !/\..*\./.test(text) ? other : text;
  }
  return words.has(text) ? words.get(text) : text;
}

/** The words of YAML 1.2 that are not text. */
const words = new Map<string, unknown>([
  ...['true', 'True', 'TRUE'].map((word): [string, unknown] => [word, true]),
  ...['false', 'False', 'FALSE'].map((word): [string, unknown] => [word, false]),
  ...['null', 'Null', 'NULL'].map((word): [string, unknown] => [word, null]),
]);
