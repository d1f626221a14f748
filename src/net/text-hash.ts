/** Returns a 32-bit hash of a text: FNV-1a with a final mix. Every node computes the same. `basis` makes independent hashes. */
export function textHash(text: string, basis: number): number {
  let value = basis;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x0100_0193);
  return mixBits(value);
}

/** Mixes a 32-bit value so that every result bit depends on every input bit. */
export function mixBits(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb_352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846c_a68b);
  return (bits ^ (bits >>> 16)) >>> 0;
}
