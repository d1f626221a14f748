/**
 * Text that a peer sent, for people: without characters that control a terminal or the direction of writing, and without
 * white space around it. What is not UTF-8 shows as U+FFFD: a receiver must not do more than show the text (RFC 9003 2).
 */
export function decodeText(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8').decode(bytes);
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}

/** At most `maximum` octets of UTF-8, cut between characters. */
export function encodeText(text: string, maximum: number): Uint8Array {
  const bytes = new Uint8Array(maximum);
  const { written } = new TextEncoder().encodeInto(text, bytes);
  return bytes.subarray(0, written);
}
