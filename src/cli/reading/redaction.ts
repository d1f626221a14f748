import { isRecord } from '../../lang/is-record.ts';
import { providerTables } from '../../model/provider-tables.ts';

/** Replaces a secret. */
const removed = 'REMOVED';

/**
 * Matches fields whose values are secrets, including misspelled names. The second pattern matches similar names that only say where a
 * secret is.
 */
const secretKey = /pas+w|pwd|psk|md5|passphrase|secret|token|credential|api-?key|access-?key|private-?key|authorization/i;
const harmlessKey = /(?:name|names|namespace|ref|file|path|seconds|type|kind)$/i;

/** Shorter secrets would also match inside words. They are removed by the name of their field alone. */
const shortestToFind = 4;

/**
 * Removes secrets from everything that goes into a bundle: by field names, by the shape of URLs, headers, keys and assignments, and
 * wherever a known secret value appears again. It rather removes too much than too little.
 */
export class Redaction {
  readonly #known = new Set<string>();
  #pattern: RegExp | undefined;

  /** Remembers all secrets of an object, so that they are recognized elsewhere. All values of a Kubernetes Secret are secrets. */
  learn(raw: unknown): void {
    for (const secret of secretsIn(raw, false)) this.#remember(secret);
  }

  /** Returns an object without its secrets; undefined when the object is a secret itself. */
  object(raw: unknown): unknown {
    return isRecord(raw) && raw['kind'] === 'Secret' ? undefined : this.#value(raw);
  }

  text(text: string): string {
    const known = this.#knownPattern();
    const without = known === undefined ? text : text.replace(known, removed);
    const ofProviders = providerTables().flatMap(({ secrets = [] }) => secrets);
    const unsigned = ofProviders.reduce((result, pattern) => result.replace(pattern, removed), without);
    return shapes.reduce((result, { pattern, by }) => result.replace(pattern, by), unsigned);
  }

  #value(value: unknown): unknown {
    if (typeof value === 'string') return this.#string(value);
    if (Array.isArray(value)) return this.#array(value);
    if (!isRecord(value)) return value;
    const fields = Object.entries(value).filter(([key]) => key !== 'managedFields');
    return Object.fromEntries(fields.map(([key, field]) => [key, this.#field(key, field)]));
  }

  #field(key: string, value: unknown): unknown {
    if (isSecretKey(key) && isText(value)) return removed;
    if (key === 'env' && Array.isArray(value)) return value.map((one) => this.#variable(one));
    return this.#value(value);
  }

  /** An environment variable of a container: keeps where its value comes from, never the value. */
  #variable(variable: unknown): unknown {
    return isRecord(variable) && 'value' in variable ? { ...variable, value: removed } : this.#value(variable);
  }

  /** The word after an option that takes a secret is a secret. */
  #array(values: readonly unknown[]): unknown[] {
    return values.map((value, index) => {
      const before = values[index - 1];
      const isArgument = typeof before === 'string' && /^--?[\w-]+$/.test(before) && isSecretKey(before);
      return isArgument && isText(value) ? removed : this.#value(value);
    });
  }

  /** Text that contains JSON is redacted as an object, such as kubectl's last-applied-configuration annotation. */
  #string(text: string): string {
    if (!/^\s*[{[]/.test(text)) return this.text(text);
    try {
      return JSON.stringify(this.#value(JSON.parse(text)));
    } catch {
      return this.text(text);
    }
  }

  #remember(secret: string): void {
    if (secret.length < shortestToFind) return;
    const base64 = Buffer.from(secret).toString('base64');
    for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), base64]) this.#known.add(form);
    this.#pattern = undefined;
  }

  #knownPattern(): RegExp | undefined {
    if (this.#known.size === 0) return undefined;
    const longestFirst = [...this.#known].toSorted((a, b) => b.length - a.length);
    return (this.#pattern ??= new RegExp(longestFirst.map((text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|'), 'g'));
  }
}

const isSecretKey = (key: string): boolean => secretKey.test(key) && !harmlessKey.test(key);
const isText = (value: unknown): value is string | number => (typeof value === 'string' && value !== '') || typeof value === 'number';

/** The shapes of secrets in any text. Each pattern is bounded, so that matching takes linear time. */
const shapes: readonly { readonly pattern: RegExp; readonly by: string }[] = [
  { pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{1,20000}?-----END [A-Z ]*PRIVATE KEY-----/g, by: removed },
  // The user part of a URL: "https://user:password@host".
  { pattern: /\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@"'<>]{1,512}@/gi, by: `$1${removed}@` },
  { pattern: /\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, by: `$1 ${removed}` },
  // A JSON Web Token.
  { pattern: /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, by: removed },
  // password=..., "token": "...", --api-key=...
  {
    pattern:
      /((?:pas+w|pwd|psk|md5|passphrase|secret|token|credential|api-?key|access-?key|private-?key)[\w.-]{0,64}(?<!name|names|namespace|ref|file|path|seconds|type|kind)\\?["']?\s*[=:]\s*)("(?:[^"\\]|\\.)+"|'[^']+'|[^\s"',;{}[\]\\]+)/gi,
    by: `$1${removed}`,
  },
];

function* secretsIn(value: unknown, isSecret: boolean): Generator<string> {
  if (typeof value === 'string' && isSecret) yield value;
  else if (typeof value === 'string' && /^\s*[{[]/.test(value)) yield* secretsInText(value);
  else if (Array.isArray(value)) for (const one of value) yield* secretsIn(one, isSecret);
  else if (isRecord(value)) {
    const { kind, data, stringData } = value;
    if (kind === 'Secret') {
      for (const one of Object.values(isRecord(stringData) ? stringData : {})) if (typeof one === 'string') yield one;
      for (const one of Object.values(isRecord(data) ? data : {}))
        if (typeof one === 'string') yield Buffer.from(one, 'base64').toString('utf8');
    }
    for (const [key, field] of Object.entries(value)) {
      if (isSecretKey(key) && isText(field)) yield String(field);
      else yield* secretsIn(field, false);
    }
  }
}

function* secretsInText(text: string): Generator<string> {
  try {
    yield* secretsIn(JSON.parse(text), false);
  } catch {
    // Not JSON, so only the shapes apply.
  }
}
