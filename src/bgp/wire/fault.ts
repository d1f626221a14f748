/** The treatment of an error according to RFC 7606, mildest first. */
export type Disposition = 'discard' | 'withdraw' | 'reset';

/** An error in received octets: its disposition, the NOTIFICATION that it causes, and a description. */
export interface Fault {
  readonly disposition: Disposition;
  readonly code: number;
  readonly subcode: number;
  readonly data: Uint8Array;
  readonly problem: string;
}

/** The result of decoding. A decoder returns one for any octets and never throws. */
export type Decoded<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: Fault };

export const decoded = <T>(value: T): Decoded<T> => ({ ok: true, value });

export const noData = new Uint8Array(0);

export function fault(disposition: Disposition, code: number, subcode: number, problem: string, data: Uint8Array = noData): Fault {
  return { disposition, code, subcode, data, problem };
}

export const failed = (fault: Fault): { readonly ok: false; readonly fault: Fault } => ({ ok: false, fault });
