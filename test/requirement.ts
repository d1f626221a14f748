/**
 * What a protocol of ours promises, as numbered assertions. They stand among the tests because they say what those have to prove: a test that
 * proves one carries its label, such as `BGP-014`, at the start of its name. scripts/write-rfc.ts makes docs/reference/rfc.md of these lists
 * and of the names it finds, and test/unit/house/rfc.test.ts holds the three together.
 *
 * `met` is for what a numbered test proves in full. `partly` says what is missing.
 */
export interface Requirement {
  readonly number: number;
  /** One assertion. */
  readonly asserts: string;
  /** "4271 6.1": RFC and sections. Empty: no RFC demands it, but whoever operates a speaker does. */
  readonly sources: readonly string[];
  readonly status: Status;
}

export type Status = { readonly kind: 'met' } | { readonly kind: 'partly'; readonly missing: string } | { readonly kind: 'open' };

export const met: Status = { kind: 'met' };
export const partly = (missing: string): Status => ({ kind: 'partly', missing });

export function requirement(number: number, asserts: string, sources: string, status: Status = met): Requirement {
  return { number, asserts, sources: sources === '' ? [] : sources.split('; '), status };
}

export interface Chapter {
  readonly title: string;
  readonly first: number;
  readonly last: number;
}

export interface Rfc {
  readonly number: number;
  readonly title: string;
  /** What of it there is, in a few words; absent: everything that a speaker needs which only announces. */
  readonly extent?: string;
  /** For an RFC that no numbered requirement cites; the others have the status of their requirements. */
  readonly status?: Status;
}

/** The requirements of one protocol. */
export interface Catalogue {
  /** Before the digits of a number: BGP, BFD. */
  readonly prefix: string;
  readonly chapters: readonly Chapter[];
  readonly requirements: readonly Requirement[];
  readonly rfcs: readonly Rfc[];
}

export function label({ prefix }: Catalogue, number: number): string {
  return `${prefix}-${String(number).padStart(3, '0')}`;
}
