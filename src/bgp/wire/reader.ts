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
