import { limits } from '../../../../limits.ts';

/** One requirement of a label selector of Kubernetes. */
interface Requirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
}

/** Any of the inner lists, each of which needs all its requirements. */
type Alternatives = readonly (readonly Requirement[])[];

export type SelectorResult =
  | { readonly ok: true; /** Empty: everything. */ readonly selectors: readonly object[] }
  | { readonly ok: false; readonly problem: string };

/**
 * Translates a selector of Calico (`rack == '1' && !has(x) || all()`) into label selectors, any of which selects. Operators that compare
 * parts of values (contains, starts with, ends with) have no equivalent. Source: the selector language of Calico's documentation.
 */
export function labelSelectors(text: string): SelectorResult {
  const tokens = tokensOf(text);
  if (tokens === undefined) return { ok: false, problem: 'cannot be read' };
  if (tokens.length === 0) return { ok: true, selectors: [] };
  try {
    const parser = new Parser(tokens);
    const alternatives = parser.parse();
    if (alternatives.some((one) => one.length === 0)) return { ok: true, selectors: [] };
    if (alternatives.length === 0) return { ok: false, problem: 'selects nothing' };
    return { ok: true, selectors: alternatives.map((matchExpressions) => ({ matchExpressions })) };
  } catch (error) {
    if (error instanceof Unsupported) return { ok: false, problem: error.message };
    throw error;
  }
}

class Unsupported extends Error {}

const longest = 4096;

function tokensOf(text: string): string[] | undefined {
  if (text.length > longest) return undefined;
  const tokens: string[] = [];
  const pattern = /\s*(?:('[^']*'|"[^"]*")|(&&|\|\||==|!=|[!(){},])|([A-Za-z0-9_./-]+))/y;
  while (pattern.lastIndex < text.trimEnd().length) {
    const found = pattern.exec(text);
    if (found === null) return undefined;
    tokens.push(found[0].trim());
  }
  return tokens;
}

/** `isNegated` moves every "!" down to the requirements, so that no result is negated. */
class Parser {
  readonly #tokens: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  parse(): Alternatives {
    const result = this.#either(false);
    if (this.#at < this.#tokens.length) throw new Unsupported(`has ${this.#peek()}, which cannot be read there`);
    return result;
  }

  #peek(): string {
    return this.#tokens[this.#at] ?? '';
  }

  #accept(token: string): boolean {
    if (this.#peek() !== token) return false;
    this.#at++;
    return true;
  }

  #expect(token: string): void {
    if (!this.#accept(token)) throw new Unsupported(`lacks ${token}`);
  }

  #either(isNegated: boolean): Alternatives {
    let result = this.#both(isNegated);
    while (this.#accept('||')) result = isNegated ? and(result, this.#both(true)) : or(result, this.#both(false));
    return result;
  }

  #both(isNegated: boolean): Alternatives {
    let result = this.#one(isNegated);
    while (this.#accept('&&')) result = isNegated ? or(result, this.#one(true)) : and(result, this.#one(false));
    return result;
  }

  #one(isNegated: boolean): Alternatives {
    if (++this.#depth > longest / 64) throw new Unsupported('is nested too deeply');
    try {
      if (this.#accept('!')) return this.#one(!isNegated);
      if (!this.#accept('(')) return this.#requirement(isNegated);
      const inner = this.#either(isNegated);
      this.#expect(')');
      return inner;
    } finally {
      this.#depth--;
    }
  }

  #requirement(isNegated: boolean): Alternatives {
    const key = this.#peek();
    this.#at++;
    if ((key === 'all' || key === 'global') && this.#accept('(')) {
      this.#expect(')');
      return isNegated ? [] : [[]];
    }
    if (key === 'has' && this.#accept('(')) {
      const label = this.#peek();
      this.#at++;
      this.#expect(')');
      return [[{ key: label, operator: isNegated ? 'DoesNotExist' : 'Exists' }]];
    }
    if (!/^[A-Za-z0-9]/.test(key)) throw new Unsupported(`has ${key === '' ? 'no label' : key} where a label is expected`);
    return [[this.#comparison(key, isNegated)]];
  }

  #comparison(key: string, isNegated: boolean): Requirement {
    const operator = this.#peek();
    this.#at++;
    const inOrNot = (isIn: boolean, values: readonly string[]): Requirement => ({
      key,
      operator: isIn === isNegated ? 'NotIn' : 'In',
      values,
    });
    if (operator === '==') return inOrNot(true, [this.#text()]);
    if (operator === '!=') return inOrNot(false, [this.#text()]);
    if (operator === 'in') return inOrNot(true, this.#set());
    if (operator === 'not' && this.#accept('in')) return inOrNot(false, this.#set());
    const word = ['starts', 'ends'].includes(operator) ? `${operator} with` : operator;
    throw new Unsupported(`compares by ${word === '' ? 'nothing' : word}, which a label selector cannot`);
  }

  #text(): string {
    const token = this.#peek();
    if (!/^['"]/.test(token)) throw new Unsupported(`has ${token === '' ? 'no value' : token} where a value in quotes is expected`);
    this.#at++;
    return token.slice(1, -1);
  }

  #set(): string[] {
    this.#expect('{');
    const values = [this.#text()];
    while (this.#accept(',')) values.push(this.#text());
    this.#expect('}');
    return values;
  }
}

const or = (a: Alternatives, b: Alternatives): Alternatives => bounded([...a, ...b]);
const and = (a: Alternatives, b: Alternatives): Alternatives => {
  if (a.length * b.length > limits.importSelectors) throw new Unsupported(`becomes more than ${limits.importSelectors} label selectors`);
  return a.flatMap((one) => b.map((other) => [...one, ...other]));
};

function bounded(alternatives: Alternatives): Alternatives {
  if (alternatives.length > limits.importSelectors) throw new Unsupported(`becomes more than ${limits.importSelectors} label selectors`);
  return alternatives;
}
