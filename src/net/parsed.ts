/**
 * The result of reading one value from text. `warning` is set for text that was understood but should be written differently. `problem`
 * says what is wrong and what to write instead, without naming the object.
 */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T; readonly warning?: string }
  | { readonly ok: false; readonly problem: string };

export const parsed = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const invalid = (problem: string): Parsed<never> => ({ ok: false, problem });
