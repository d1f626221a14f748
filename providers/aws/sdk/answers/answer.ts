/** The SDK declares every field of an answer as optional. These functions convert answers to types with the fields that AWS guarantees. */

/** An answer of AWS lacks a field that AWS guarantees. */
class IncompleteAnswerError extends Error {
  readonly code = 'incomplete-answer';

  constructor(field: string) {
    super(`the answer has no ${field}`);
    this.name = 'IncompleteAnswerError';
  }
}

export function required<T>(value: T | undefined, field: string): T {
  if (value === undefined) throw new IncompleteAnswerError(field);
  return value;
}

/** Copies fields that AWS guarantees. */
export function guaranteed<T extends object, Name extends keyof T & string>(
  answer: T,
  ...names: readonly Name[]
): { [N in Name]-?: Exclude<T[N], undefined> } {
  return Object.fromEntries(names.map((name) => [name, required(answer[name], name)])) as { [N in Name]-?: Exclude<T[N], undefined> };
}

export function list<T>(values: readonly T[] | undefined): readonly T[] {
  return values ?? [];
}

type OptionalKeys<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T];
type Present<T> = Omit<T, OptionalKeys<T>> & { [K in OptionalKeys<T>]?: Exclude<T[K], undefined> };

/** Removes fields that are undefined. */
export function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>;
}

/** The SDK's types ask for mutable arrays, but the SDK does not change them. */
type Changeable<T> = T extends readonly (infer Item)[]
  ? Changeable<Item>[]
  : T extends object
    ? { -readonly [K in keyof T]: Changeable<T[K]> }
    : T;

export function changeable<T>(input: T): Changeable<T> {
  return input as Changeable<T>;
}
