import type { WireSession } from '../../wire/message.ts';

/** The treatment that a suite expects: `valid` without any fault, or one of RFC 7606, with the code and subcode of the NOTIFICATION if known. */
export interface Expectation {
  readonly treatment: 'valid' | 'discard' | 'withdraw' | 'reset';
  readonly notification?: readonly [code: number, subcode: number];
}

/** The contents of a message in words: one text for each route and attribute, so that two descriptions can be compared. */
export type Contents = ReadonlySet<string>;

/** One message of a public suite. */
export interface ForeignCase {
  readonly suite: string;
  /** The place in the checkout. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly session: WireSession;
  readonly expected: Expectation;
  /** The section that the suite names. Empty: none. */
  readonly section: string;
  /** What the suite reads in the message, as far as this codec decodes it. */
  readonly contents?: Contents;
  /** The attribute that is wrong, and the message without it. */
  readonly attribute?: { readonly type: number; readonly flags: number; readonly without: Uint8Array };
}

/** A suite that cannot be read. */
export class ForeignSuiteError extends Error {
  readonly code = 'ERR_FOREIGN_SUITE';

  constructor(where: string, problem: string) {
    super(`${where}: ${problem}`);
    this.name = 'ForeignSuiteError';
  }
}

/** Reads hexadecimal digits. Throws ForeignSuiteError. */
export function octetsOfHex(text: string, where: string): Uint8Array {
  if (!/^(?:[0-9a-f]{2})*$/i.test(text)) throw new ForeignSuiteError(where, 'is no even number of hexadecimal digits');
  return Uint8Array.from(Buffer.from(text, 'hex'));
}
