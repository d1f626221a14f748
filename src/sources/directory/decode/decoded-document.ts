import type { FieldPath } from '../../../model/reading/problem.ts';

/** The place of a value in a file. Lines and columns start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface DecodedDocument {
  /** The decoded value. Not an object to use when `errors` is not empty. */
  readonly raw: unknown;
  /** Returns `raw` again. A caller that rarely needs the value holds this function, which takes less memory. */
  readonly again: () => unknown;
  readonly errors: readonly (Position & { readonly message: string })[];
  /** Returns where a field is written, or the innermost existing parent of an absent field. */
  readonly locate: (path: FieldPath) => Position;
}
