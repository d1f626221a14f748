/** Pieces of CEL that rules are made of. `self` is the object that the rule stands on. */

/** Words of CEL that cannot be the name of a field as they are (the API server's escaping). */
const reserved = new Set(['namespace', 'in', 'as', 'const', 'for', 'if', 'import', 'package', 'return', 'var']);

/** A field of `self`. */
export const field = (name: string): string => `self.${reserved.has(name) ? `__${name}__` : name}`;

/** A text that is not empty. */
export const hasText = (name: string): string => `(has(${field(name)}) && ${field(name)} != '')`;

/** A number that is not MetalLB's zero for "not written". */
export const hasNumber = (name: string): string => `(has(${field(name)}) && ${field(name)} != 0)`;

export const isTrue = (name: string): string => `(has(${field(name)}) && ${field(name)})`;

/** A text in CEL's quotes. */
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

export const matches = (value: string, pattern: string): string => `${value}.matches(${quoted(pattern)})`;
