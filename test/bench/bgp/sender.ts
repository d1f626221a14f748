/** Somebody who announces: one process with `count` prefixes ready, whose session with the receiver is not open yet. */
export interface Sender {
  /** Undefined as long as it has no process: one that can only be started with its session open. */
  readonly pid: number | undefined;
  /** How many prefixes it has; a bulk load may have lost some. */
  readonly count: number;
  /** Opens the session. */
  open(): Promise<void>;
  /** Tells it to withdraw everything, while the session stays. Resolves when it was told. */
  withdraw(): Promise<void>;
  stop(): Promise<void>;
}

export interface Contender {
  readonly name: string;
  readonly version: string;
  /** How its routes get in, how it is told to withdraw: for the reader of the figures. */
  readonly how: string;
  /** The largest size that is measured; slow senders take minutes. */
  readonly most?: (slow: boolean) => number;
  start(count: number): Promise<Sender>;
}

/** The n-th prefix that everybody announces: a /32 from 10.100.0.0 on. */
export const prefixText = (n: number): string => `10.${100 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}/32`;

export function prefixes(count: number): string[] {
  return Array.from({ length: count }, (_, n) => prefixText(n));
}
