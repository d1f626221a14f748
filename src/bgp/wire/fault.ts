/** What RFC 7606 makes of an error, mildest first. */
export type Disposition = 'discard' | 'withdraw' | 'reset';

/** Something wrong with received bytes: how far it reaches, the NOTIFICATION it would cause, and the words for a person. */
export interface Fault {
  readonly disposition: Disposition;
  readonly code: number;
  readonly subcode: number;
  readonly data: Uint8Array;
  readonly problem: string;
}

/** The outcome of decoding. A decoder returns one for any bytes and never throws. */
export type Decoded<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: Fault };

export const decoded = <T>(value: T): Decoded<T> => ({ ok: true, value });

export const noData = new Uint8Array(0);

export function fault(disposition: Disposition, code: number, subcode: number, problem: string, data: Uint8Array = noData): Fault {
  return { disposition, code, subcode, data, problem };
}

export const failed = (fault: Fault): { readonly ok: false; readonly fault: Fault } => ({ ok: false, fault });
