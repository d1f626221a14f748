import * as fc from 'fast-check';
import { encodeMessage, type MessageContent, type WireSession } from '../../../src/bgp/wire/index.ts';
import { capability, updateContent } from '../../../src/bgp/test/wire/arbitraries.ts';
import { corpus, messageOf } from './corpus.ts';
import type { Random } from '../random.ts';

/** Octets at which decoders change their behaviour: ends of ranges, lengths of addresses and prefixes, flags. */
const interesting = [0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 19, 23, 32, 33, 64, 127, 128, 129, 253, 254, 255];

/**
 * Yields every truncation and every flipped bit of the corpus. Truncated messages come with the old and with the corrected length in the
 * header.
 */
export function* exhaustive(): Generator<Uint8Array> {
  for (const message of corpus) {
    yield message;
    for (let length = 0; length < message.length; length++) {
      yield message.slice(0, length);
      if (length >= 19) yield withLength(message.slice(0, length));
    }
    for (let bit = 0; bit < message.length * 8; bit++) {
      yield message.map((octet, at) => (at === bit >> 3 ? octet ^ (0x80 >> (bit & 7)) : octet));
    }
  }
}

/** Yields random messages of all kinds in this file, without end. */
export function* endless(random: Random): Generator<Uint8Array> {
  for (;;) {
    const valid = wellFormed(random);
    for (let i = 0; i < 400; i++) {
      switch (random.below(8)) {
        case 0:
          yield random.bytes(random.below(64));
          break;
        case 1:
          yield messageOf(1 + random.below(5), random.bytes(random.below(120)));
          break;
        case 2:
          yield attributeSoup(random);
          break;
        case 3:
          yield capabilitySoup(random);
          break;
        case 4:
          yield random.pick(valid);
          break;
        case 5:
          yield mutated(random, random.pick(valid), valid);
          break;
        default:
          yield mutated(random, random.pick(corpus), corpus);
      }
    }
  }
}

/** Returns several messages in a row, some of them possibly broken. */
export function stream(random: Random): Uint8Array {
  const parts = Array.from({ length: 1 + random.below(6) }, () =>
    random.chance(4) ? mutated(random, random.pick(corpus), corpus) : random.pick(corpus),
  );
  return Uint8Array.from(Buffer.concat(parts));
}

/** Returns valid messages from the arbitraries of the property tests. */
function wellFormed(random: Random): readonly Uint8Array[] {
  const seed = random.u32() | 0;
  const opens = fc
    .sample(fc.array(capability, { maxLength: 8 }), { seed, numRuns: 10 })
    .map((capabilities): MessageContent => ({ kind: 'open', version: 4, asn: 1, holdTime: 90, routerId: 1, capabilities }));
  const kinds: readonly WireSession[] = [{}, { internal: true }, { fourOctetAsn: false }, { addPathReceive: [4, 6] }];
  const updates = kinds.flatMap((kind) => {
    const contents = fc.sample(updateContent(kind), { seed, numRuns: 10 });
    return contents.map((content) => encodeMessage({ kind: 'update', ...content }, { ...kind, maximum: 65_535 }));
  });
  return [...opens.map((open) => encodeMessage(open)), ...updates];
}

/** Returns an UPDATE with random attributes, mostly with the right flags and length for their type. */
function attributeSoup(random: Random): Uint8Array {
  const usual: readonly (readonly [type: number, flags: number, length: number])[] = [
    [1, 0x40, 1],
    [2, 0x40, 6],
    [3, 0x40, 4],
    [4, 0x80, 4],
    [5, 0x40, 4],
    [6, 0x40, 0],
    [7, 0xc0, 8],
    [7, 0xc0, 6],
    [8, 0xc0, 8],
    [9, 0x80, 4],
    [10, 0x80, 8],
    [14, 0x80, 26],
    [15, 0x80, 8],
    [16, 0xc0, 16],
    [17, 0xc0, 6],
    [18, 0xc0, 8],
    [25, 0xc0, 20],
    [32, 0xc0, 12],
    [35, 0xc0, 4],
    [99, 0xc0, 3],
  ];
  const blocks = Array.from({ length: random.below(10) }, () => {
    const [type, flags, length] = random.pick(usual);
    const value = random.bytes(random.chance(60) ? length * (30 + random.below(60)) : random.chance(6) ? random.below(40) : length);
    if (type === 1 && !random.chance(4)) value[0] = random.below(3);
    if (type === 2 || type === 17) value.set([1 + random.below(4), random.chance(4) ? random.below(5) : 1].slice(0, value.length));
    if (type === 14) value.set([0, 1 + random.below(2), 1, random.chance(4) ? random.below(40) : 16].slice(0, value.length));
    if (type === 15) value.set([0, 1 + random.below(2), 1, random.below(34)].slice(0, value.length));
    const shown = random.chance(20) ? random.below(256) : value.length;
    const extended = shown > 255 || random.chance(5);
    const head = [extended ? flags | 0x10 : flags, type, ...(extended ? [shown >> 8, shown & 255] : [shown])];
    if (random.chance(15)) head[0] = random.below(256);
    return Uint8Array.of(...head, ...value);
  });
  const list = Buffer.concat(blocks);
  const prefixes = Buffer.concat(
    Array.from({ length: random.below(3) }, () => {
      const length = random.chance(10) ? random.below(256) : random.below(33);
      return Uint8Array.of(length, ...random.bytes((length + 7) >> 3));
    }),
  );
  const withdrawn = random.chance(4) ? prefixes : Buffer.alloc(0);
  const u16 = (value: number): number[] => [value >> 8, value & 255];
  return messageOf(2, Uint8Array.of(...u16(withdrawn.length), ...withdrawn, ...u16(list.length), ...list, ...prefixes));
}

/** Returns an OPEN with random capabilities, mostly with a right length. */
function capabilitySoup(random: Random): Uint8Array {
  const codes = [1, 2, 5, 6, 9, 64, 65, 69, 70, 71, 73, 75, 128];
  const lengths = [0, 1, 2, 4, 6, 7, 8, 14];
  const parameters = Array.from({ length: random.below(4) }, () => {
    const capabilities = Array.from({ length: random.below(4) }, () => {
      const value = random.bytes(random.pick(lengths));
      if (random.chance(2)) value[0] = random.below(value.length + 1);
      return Uint8Array.of(random.pick(codes), random.chance(12) ? random.below(256) : value.length, ...value);
    });
    const list = Buffer.concat(capabilities);
    return Uint8Array.of(random.chance(12) ? random.pick(interesting) : 2, random.chance(12) ? random.below(256) : list.length, ...list);
  });
  const all = Buffer.concat(parameters);
  return messageOf(1, Uint8Array.of(4, 0, 1, 0, 90, 10, 0, 0, 1, random.chance(12) ? random.below(256) : all.length, ...all));
}

/** Returns the message with a few changes, mostly with a corrected length in its header. */
function mutated(random: Random, message: Uint8Array, others: readonly Uint8Array[]): Uint8Array {
  let bytes = Array.from(message);
  for (let i = 0; i <= random.below(4); i++) bytes = mutatedOnce(random, bytes, others);
  const result = Uint8Array.from(bytes.slice(0, 65_535));
  return random.chance(10) || result.length < 19 ? result : withLength(result);
}

function mutatedOnce(random: Random, bytes: number[], others: readonly Uint8Array[]): number[] {
  // Leaves the header alone nine times out of ten, because the framer refuses a bad header without reading the rest.
  const first = random.chance(10) ? 0 : Math.min(18, bytes.length);
  const at = first + random.below(bytes.length - first);
  switch (random.below(7)) {
    case 0:
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      return bytes;
    case 1:
      bytes[at] = random.pick(interesting);
      return bytes;
    case 2:
      bytes[at] = ((bytes[at] ?? 0) + random.pick([1, 255])) & 255;
      return bytes;
    case 3:
      return bytes.toSpliced(at, random.below(8));
    case 4:
      return bytes.toSpliced(at, 0, ...random.bytes(1 + random.below(8)));
    case 5: {
      const slice = bytes.slice(at, at + random.below(40));
      return bytes.toSpliced(at, 0, ...slice);
    }
    default: {
      const other = random.pick(others);
      const from = random.below(other.length);
      return bytes.toSpliced(at, random.below(20), ...other.slice(from, from + random.below(40)));
    }
  }
}

function withLength(message: Uint8Array): Uint8Array {
  const copy = message.slice();
  copy.set([copy.length >> 8, copy.length & 255], 16);
  return copy;
}
