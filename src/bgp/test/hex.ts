export const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replace(/\s/g, ''), 'hex'));
export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
export const marker = 'ff'.repeat(16);

/** Splits octets into whole messages; returns type, body and length of each. */
export function messages(bytes: Uint8Array): { readonly type: number; readonly body: Uint8Array; readonly length: number }[] {
  const found = [];
  for (let offset = 0; offset < bytes.length;) {
    const length = (bytes[offset + 16] ?? 0) * 256 + (bytes[offset + 17] ?? 0);
    if (length < 19) throw new Error('not a message');
    found.push({ type: bytes[offset + 18] ?? 0, body: bytes.subarray(offset + 19, offset + length), length });
    offset += length;
  }
  return found;
}
