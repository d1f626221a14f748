/** Builds parts of CEL expressions. `self` is the object that the rule belongs to. */

/** Reserved words of CEL, which the API server escapes when they are field names. */
const reserved = new Set(['namespace', 'in', 'as', 'const', 'for', 'if', 'import', 'package', 'return', 'var']);

/** Refers to a field of `self`. */
export const field = (name: string): string => `self.${reserved.has(name) ? `__${name}__` : name}`;

/** True when the text field is set and not empty. */
export const hasText = (name: string): string => `(has(${field(name)}) && ${field(name)} != '')`;

/** True when the number is set and not 0, which is MetalLB's value for "not set". */
export const hasNumber = (name: string): string => `(has(${field(name)}) && ${field(name)} != 0)`;

export const isTrue = (name: string): string => `(has(${field(name)}) && ${field(name)})`;

/** Quotes a text for CEL. */
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

export const matches = (value: string, pattern: string): string => `${value}.matches(${quoted(pattern)})`;
