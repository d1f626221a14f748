/**
 * The promises of a protocol as numbered assertions. They are kept with the tests because the tests prove them: a test that proves one
 * carries its label, such as `BGP-014`, at the start of its name. `npm run generate -- requirements` makes the reference.md of each library from these lists
 * and the test names, and test/unit/house/rfc.test.ts checks that all three agree.
 *
 * `met` means that a numbered test proves the assertion in full. `partly` says what is missing.
 */
export interface Requirement {
  readonly number: number;
  /** One assertion, as a sentence. */
  readonly asserts: string;
  /** RFC and sections, such as "4271 6.1". Empty when no RFC demands it but operators need it. */
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
  /** The supported part, in a few words. When absent: everything that a speaker needs that only announces. */
  readonly extent?: string;
  /** Only for an RFC that no numbered requirement cites. The others take the status of their requirements. */
  readonly status?: Status;
}

/** A sentence of an RFC that Herald does not follow to the letter. */
export interface Deviation {
  /** The number of the requirement that it concerns. */
  readonly requirement: number;
  /** RFC and section. */
  readonly source: string;
  readonly demands: string;
  readonly instead: string;
}

/** The requirements of one protocol. */
export interface Catalogue {
  /** The prefix of requirement labels: BGP, BFD or L2. */
  readonly prefix: string;
  /** The least digits of the number in a label. Default: 3. */
  readonly digits?: number;
  readonly chapters: readonly Chapter[];
  readonly requirements: readonly Requirement[];
  readonly rfcs: readonly Rfc[];
  readonly deviations?: readonly Deviation[];
}

export function label({ prefix, digits = 3 }: Catalogue, number: number): string {
  return `${prefix}-${String(number).padStart(digits, '0')}`;
}
