type Part = number | Uint8Array | readonly number[];

/** Joins big-endian octets and blocks. Used for messages; NLRI have a faster encoder. */
export const octets = (...parts: readonly Part[]): Uint8Array => concat(parts);

/** Joins a list that may be longer than an argument list can be. */
export function concat(parts: readonly Part[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += typeof part === 'number' ? 1 : part.length;
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    if (typeof part === 'number') {
      bytes[offset++] = part;
    } else {
      bytes.set(part, offset);
      offset += part.length;
    }
  }
  return bytes;
}

export const u16 = (value: number): readonly number[] => [(value >>> 8) & 255, value & 255];
export const u32 = (value: number): readonly number[] => [(value >>> 24) & 255, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];

/** Encodes at most `maximum` octets of UTF-8, cut between characters. */
export function encodeText(text: string, maximum: number): Uint8Array {
  const bytes = new Uint8Array(maximum);
  const { written } = new TextEncoder().encodeInto(text, bytes);
  return bytes.subarray(0, written);
}
