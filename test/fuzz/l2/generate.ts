import { withChecksum } from '../../../src/l2/test/frames.ts';
import type { Random } from '../random.ts';
import { corpus } from './corpus.ts';

/** Octets at which a decoder changes its behaviour. */
const interesting = [0, 1, 2, 3, 4, 5, 6, 8, 16, 24, 32, 58, 64, 127, 128, 133, 134, 135, 136, 254, 255];
const headerEnd = 54;
const payloadLength = 18;

/** Yields every truncation and every flipped bit of the corpus, those of NDP also with a corrected length and checksum. */
export function* exhaustive(): Generator<Uint8Array> {
  for (const frame of corpus) {
    yield frame;
    for (let length = 0; length < frame.length; length++) {
      yield frame.slice(0, length);
      yield corrected(frame.slice(0, length));
    }
    for (let bit = 0; bit < frame.length * 8; bit++) {
      const flipped = frame.map((octet, at) => (at === bit >> 3 ? octet ^ (0x80 >> (bit & 7)) : octet));
      yield flipped;
      yield withRightChecksum(flipped);
    }
  }
}

/** Yields random frames without end. */
export function* endless(random: Random): Generator<Uint8Array> {
  for (;;) yield frameOf(random);
}

/** Returns a frame: well-formed, with a few changes, or random octets. */
export function frameOf(random: Random): Uint8Array {
  if (random.chance(5)) return random.pick(corpus);
  if (random.chance(12)) return random.bytes(random.below(200));
  return mutated(random, random.pick(corpus));
}

function mutated(random: Random, frame: Uint8Array): Uint8Array {
  let octets = Array.from(frame);
  for (let change = 0; change <= random.below(4); change++) {
    const at = random.below(octets.length);
    switch (random.below(6)) {
      case 0:
        octets[at] = (octets[at] ?? 0) ^ (1 << random.below(8));
        break;
      case 1:
        octets[at] = random.pick(interesting);
        break;
      case 2:
        octets = octets.toSpliced(at, random.below(9));
        break;
      case 3:
        octets = octets.toSpliced(at, 0, ...random.bytes(1 + random.below(8)));
        break;
      case 4:
        // Whole options after the message.
        octets.push(random.below(20), random.below(4), ...random.bytes(6 + 8 * random.below(3)));
        break;
      default: {
        const other = random.pick(corpus);
        const from = random.below(other.length);
        octets = octets.toSpliced(at, random.below(16), ...other.slice(from, from + random.below(24)));
      }
    }
  }
  const result = Uint8Array.from(octets.slice(0, 1_514));
  return random.chance(6) ? result : corrected(result);
}

/** Corrects length and checksum of an IPv6 packet, so that the decoder reads on. */
function corrected(frame: Uint8Array): Uint8Array {
  if (!isIpv6(frame)) return frame;
  const copy = frame.slice();
  copy.set([(frame.length - headerEnd) >> 8, (frame.length - headerEnd) & 255], payloadLength);
  return withRightChecksum(copy);
}

function withRightChecksum(frame: Uint8Array): Uint8Array {
  // The helper knows payloads of less than 256 octets.
  return isIpv6(frame) && frame.length < headerEnd + 256 ? withChecksum(frame) : frame;
}

function isIpv6(frame: Uint8Array): boolean {
  return frame.length >= headerEnd + 4 && frame[12] === 0x86 && frame[13] === 0xdd;
}
