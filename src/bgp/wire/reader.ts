/**
 * A cursor over bytes that cannot leave them. Reading past the end returns zeros and sets `overrun`, which the caller
 * checks once where it matters, so that decoders stay total without a branch per field.
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

  /** A view of the next `length` bytes; of what is left, with `overrun` set, where there are fewer. */
  take(length: number): Uint8Array {
    if (length > this.left) this.overrun = true;
    const view = this.#bytes.subarray(this.#offset, this.#offset + length);
    this.#offset += view.length;
    return view;
  }

  rest(): Uint8Array {
    return this.take(this.left);
  }
}

/**
 * Text that a peer sent, for people: without characters that control a terminal or the direction of writing, and without
 * white space around it. What is not UTF-8 shows as U+FFFD: a receiver must not do more than show the text (RFC 9003 2).
 */
export function decodeText(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8').decode(bytes);
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}
