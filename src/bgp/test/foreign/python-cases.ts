import { ForeignSuiteError } from './foreign-case.ts';

/** A value that may stand in a table of cases. A name that is no constant of the file stays as its text. */
export type PythonValue = string | number | null | readonly PythonValue[] | { readonly name: string };

/** A call `Case(...)`: its arguments in order, and those with a name. */
export interface PythonCall {
  readonly line: number;
  readonly positional: readonly PythonValue[];
  readonly named: Readonly<Record<string, PythonValue>>;
}

interface Token {
  readonly text: string;
  readonly line: number;
}

const tokenPattern = /#[^\n]*|"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|\n|[^\s]/g;

/**
 * Reads a table of cases in Python without running it: the calls of `Case`, whose arguments are literals, and the dictionary
 * EXPECTED_NOTIFICATION. Throws ForeignSuiteError for anything else in them.
 */
export class PythonCases {
  readonly #file: string;
  readonly #tokens: readonly Token[];
  readonly #constants = new Map<string, number>();
  #at = 0;

  constructor(file: string, text: string) {
    this.#file = file;
    this.#tokens = tokensOf(text);
    for (const [, name = '', value] of text.matchAll(/^([A-Z_]+) = (\d+)$/gm)) this.#constants.set(name, Number(value));
  }

  /** The calls of `Case`, in the order of the file. */
  calls(): PythonCall[] {
    const calls: PythonCall[] = [];
    for (this.#at = 0; this.#at < this.#tokens.length;) {
      const { line } = this.#take();
      if (this.#tokens[this.#at - 1]?.text === 'Case' && this.#peek() === '(') calls.push(this.#call(line));
    }
    return calls;
  }

  /** Code and subcode by the name of a case. Empty without such a dictionary. */
  notifications(): Map<string, readonly [number, number]> {
    const found = new Map<string, readonly [number, number]>();
    this.#at = this.#tokens.findIndex(({ text }, index) => text === 'EXPECTED_NOTIFICATION' && this.#tokens[index + 1]?.text === '=');
    if (this.#at < 0) return found;
    this.#at += 2;
    this.#expect('{');
    while (this.#peek() !== '}') {
      const name = this.#value();
      this.#expect(':');
      const numbers = this.#value();
      if (typeof name !== 'string' || !Array.isArray(numbers)) throw this.#error('a name with two numbers was expected');
      const [code, subcode] = numbers as PythonValue[];
      if (typeof code !== 'number' || typeof subcode !== 'number') throw this.#error(`"${name}" has no two numbers`);
      found.set(name, [code, subcode]);
      if (this.#peek() === ',') this.#take();
    }
    return found;
  }

  #call(line: number): PythonCall {
    this.#expect('(');
    const positional: PythonValue[] = [];
    const named: Record<string, PythonValue> = {};
    while (this.#peek() !== ')') {
      const value = this.#value();
      if (this.#peek() === '=' && isName(value)) {
        this.#take();
        named[value.name] = this.#value();
      } else positional.push(value);
      if (this.#peek() === ',') this.#take();
    }
    this.#take();
    return { line, positional, named };
  }

  #value(): PythonValue {
    const { text } = this.#take();
    if (text === '(' || text === '[') {
      const closing = text === '(' ? ')' : ']';
      const items: PythonValue[] = [];
      while (this.#peek() !== closing) {
        items.push(this.#value());
        if (this.#peek() === ',') this.#take();
      }
      this.#take();
      return items;
    }
    if (/^["']/.test(text)) {
      let joined = unquoted(text);
      while (/^["']/.test(this.#peek())) joined += unquoted(this.#take().text);
      return joined;
    }
    if (/^\d/.test(text)) return Number(text);
    if (text === 'None') return null;
    if (/^[A-Za-z_]/.test(text)) return this.#constants.get(text) ?? { name: text };
    throw this.#error(`"${text}" is no value`);
  }

  #peek(): string {
    return this.#tokens[this.#at]?.text ?? '';
  }

  #take(): Token {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw this.#error('the file ends in the middle of a table');
    return token;
  }

  #expect(text: string): void {
    const token = this.#take();
    if (token.text !== text) throw this.#error(`"${token.text}" is in the place of "${text}"`);
  }

  #error(problem: string): ForeignSuiteError {
    return new ForeignSuiteError(`${this.#file}:${this.#tokens[this.#at - 1]?.line ?? 0}`, problem);
  }
}

const isName = (value: PythonValue): value is { readonly name: string } => typeof value === 'object' && value !== null && 'name' in value;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  for (const [found] of text.matchAll(tokenPattern)) {
    if (found !== '\n' && !found.startsWith('#') && !found.startsWith('"""')) tokens.push({ text: found, line });
    line += found.split('\n').length - 1;
  }
  return tokens;
}

const unquoted = (text: string): string => text.slice(1, -1);
