/** One process with `count` prefixes ready to announce. Its session with the receiver is not open yet. */
export interface Sender {
  /** The process id; undefined for a sender that starts only when its session opens. */
  readonly pid: number | undefined;
  /** The number of prefixes that it has; a bulk load may have lost some. */
  readonly count: number;
  /** Opens the session. */
  open(): Promise<void>;
  /** Makes the sender withdraw everything while the session stays. Resolves when the command was given. */
  withdraw(): Promise<void>;
  stop(): Promise<void>;
}

/** One process with sessions to many peers and nothing announced. */
export interface ManyPeersSender {
  readonly pid: number;
  /** Gives the sender its routes. Returns how many it has: a bulk load may lose some. */
  announce(): Promise<number>;
  withdraw(): Promise<void>;
  /** Sets the same routes again. */
  readonly repeat?: () => Promise<void>;
  /** Changes one route. */
  readonly change?: () => Promise<void>;
  stop(): Promise<void>;
}

export interface Contender {
  readonly name: string;
  readonly version: string;
  /** How it gets its routes and its command to withdraw, for the reader of the figures. */
  readonly how: string;
  /** The largest number of prefixes to measure; slow senders take minutes. */
  readonly most?: (slow: boolean) => number;
  start(count: number): Promise<Sender>;
  /** The largest product of peers and prefixes to measure. */
  readonly mostForMany?: number;
  startMany?: (peers: number, count: number) => Promise<ManyPeersSender>;
}

/** Returns the n-th prefix that every sender announces: a /32 from 10.100.0.0 on. */
export const prefixText = (n: number): string => `10.${100 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}/32`;

export function prefixes(count: number): string[] {
  return Array.from({ length: count }, (_, n) => prefixText(n));
}
