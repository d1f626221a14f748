import { ok as assert } from 'node:assert';
import { aligned, attributeHeaderBytes } from './attributes.ts';
import { keptWriterBytes } from './limits.ts';
import { messageHeaderBytes } from './message.ts';

const nestedFlag = 0x8000;
const longestAttribute = 0xffff;
const firstBytes = 4_096;

interface MessageHeader {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
}

/** Writes messages one after the other into a buffer that grows. Messages and nested attributes must be ended, the innermost first. */
export class MessageWriter {
  #buffer = Buffer.alloc(firstBytes);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Returns a view of everything written so far. */
  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /**
   * Forgets everything written. The memory is kept for what is written next, because new memory costs more than filling it: the kernel
   * clears each page on its first use. Memory of which only a small part was used, or beyond the bound, is given back.
   */
  clear(): void {
    const isLarge = this.#buffer.length > keptWriterBytes || this.#buffer.length > Math.max(firstBytes, 16 * this.#length);
    if (isLarge) this.#buffer = Buffer.alloc(firstBytes);
    else this.#buffer.fill(0, 0, this.#length);
    this.#length = 0;
  }

  /** Begins a message. Pass the returned position to `endMessage`. */
  beginMessage({ type, flags, sequence }: MessageHeader): number {
    const start = this.#grow(messageHeaderBytes);
    this.#buffer.writeUInt16LE(type, start + 4);
    this.#buffer.writeUInt16LE(flags, start + 6);
    this.#buffer.writeUInt32LE(sequence, start + 8);
    return start;
  }

  endMessage(start: number): void {
    this.#buffer.writeUInt32LE(this.#length - start, start);
  }

  beginNested(type: number): number {
    const start = this.#grow(attributeHeaderBytes);
    this.#buffer.writeUInt16LE(type | nestedFlag, start + 2);
    return start;
  }

  endNested(start: number): void {
    const length = this.#length - start;
    assert(length <= longestAttribute, `an attribute of ${length} octets`);
    this.#buffer.writeUInt16LE(length, start);
  }

  /** Writes an attribute with these octets as its value. */
  bytesAttribute(type: number, value: Uint8Array): void {
    const start = this.#attribute(type, value.length);
    this.#buffer.set(value, start);
  }

  /** Writes an attribute with a 32-bit number in network byte order. */
  numberAttribute(type: number, value: number): void {
    const start = this.#attribute(type, 4);
    this.#buffer.writeUInt32BE(value >>> 0, start);
  }

  /** Writes an attribute with a 32-bit number in host byte order. */
  hostNumberAttribute(type: number, value: number): void {
    const start = this.#attribute(type, 4);
    this.#buffer.writeUInt32LE(value >>> 0, start);
  }

  /** Writes an attribute with a 64-bit number in network byte order. */
  longAttribute(type: number, value: bigint): void {
    const start = this.#attribute(type, 8);
    this.#buffer.writeBigUInt64BE(value, start);
  }

  /** Writes a text attribute with its terminating zero. Names of tables, chains and sets are ASCII. */
  textAttribute(type: number, value: string): void {
    const start = this.#attribute(type, value.length + 1);
    this.#buffer.write(value, start, 'latin1');
  }

  /** Writes octets that are not an attribute, such as a header after the message's own, padded to a multiple of four. */
  raw(value: Uint8Array): void {
    const start = this.#grow(aligned(value.length));
    this.#buffer.set(value, start);
  }

  /** Writes octets several times. Returns a view of them, valid until more is written. Their number is a multiple of four. */
  repeat(value: Uint8Array, count: number): Uint8Array {
    assert(value.length % 4 === 0);
    const start = this.#grow(value.length * count);
    const written = this.#buffer.subarray(start, this.#length);
    written.set(value.subarray(0, written.length));
    // Each copy doubles what is there: a call of the runtime for each of many thousand copies would take most of the time.
    for (let at = value.length; at < written.length; at *= 2) written.copyWithin(at, 0, Math.min(at, written.length - at));
    return written;
  }

  #attribute(type: number, length: number): number {
    const start = this.#grow(attributeHeaderBytes + aligned(length));
    this.#buffer.writeUInt16LE(attributeHeaderBytes + length, start);
    this.#buffer.writeUInt16LE(type, start + 2);
    return start + attributeHeaderBytes;
  }

  /** Extends the buffer by zero octets and returns the position of the first. */
  #grow(octets: number): number {
    const start = this.#length;
    const end = start + octets;
    if (end > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(end, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, start));
      this.#buffer = larger;
    }
    this.#length = end;
    return start;
  }
}
