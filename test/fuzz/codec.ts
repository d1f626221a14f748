import type { Random } from './random.ts';

/** The codecs that are fuzzed. Each has a folder beside this file, whose `target.ts` exports its `FuzzedCodec`. */
export const codecNames = ['bgp', 'l2'] as const;
export type CodecName = (typeof codecNames)[number];

/** The sources whose coverage is printed. */
export const sourcesOf: Readonly<Record<CodecName, string>> = { bgp: 'src/bgp/wire', l2: 'src/l2' };

/** A codec with its input and its judge. */
export interface FuzzedCodec {
  /** Yields every truncation and every flipped bit of valid input. */
  exhaustive(): Iterable<Uint8Array>;
  /** Yields random input without end. */
  endless(random: Random): Iterable<Uint8Array>;
  /** Throws when the codec breaks a promise for these octets, whatever they are. */
  check(bytes: Uint8Array): void;
  /** Returns several messages or frames in a row, and what must hold for them together. */
  sequence(random: Random): { readonly bytes: Uint8Array; check(): void };
  /** One sequence follows after so many single checks. */
  readonly checksPerSequence: number;
}
