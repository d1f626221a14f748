/**
 * A cursor that cannot leave its octets. Reading past the end returns zeros and sets `overrun`. The caller checks `overrun` once, so that a
 * decoder accepts any octets without a branch per field.
 */
export class Reader {
  overrun = false;
  readonly #bytes: Uint8Array;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Octets read so far. */
  get offset(): number {
    return this.#offset;
  }

  get left(): number {
    return this.#bytes.length - this.#offset;
  }

  u8(): number {
    if (this.#offset >= this.#bytes.length) {
      this.overrun = true;
      return 0;
    }
    return this.#bytes[this.#offset++] ?? 0;
  }

  u16(): number {
    return this.u8() * 0x100 + this.u8();
  }

  u32(): number {
    return this.u16() * 0x1_0000 + this.u16();
  }

  /** Returns a view of the next `length` octets. If there are fewer, it returns the rest and sets `overrun`. */
  take(length: number): Uint8Array {
    if (length > this.left) this.overrun = true;
    const view = this.#bytes.subarray(this.#offset, this.#offset + length);
    this.#offset += view.length;
    return view;
  }

  rest(): Uint8Array {
    return this.take(this.left);
  }

  /** Reads items of the same form until nothing is left. */
  list<T>(read: () => T): T[] {
    const items: T[] = [];
    while (this.left > 0) items.push(read());
    return items;
  }
}

/**
 * Decodes text from a peer for display, without surrounding white space and without characters that control a terminal or the writing
 * direction. Invalid UTF-8 becomes U+FFFD: a receiver may only show the text (RFC 9003 2).
 */
export function decodeText(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8').decode(bytes);
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}
