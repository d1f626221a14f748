import { limits } from '../../limits.ts';
import { ProtobufError } from './protobuf-error.ts';
import type { SharedTexts } from './shared-texts.ts';

/** Wire types of protobuf. The two that begin and end a group (3, 4) do not occur in Kubernetes. */
export const wireTypes = { varint: 0, fixed64: 1, octets: 2, fixed32: 5 } as const;

/**
 * Reads the wire format of protobuf from one buffer, bound-checked (https://protobuf.dev/programming-guides/encoding). Every method that finds
 * less than it needs, or what it must not find, throws ProtobufError.
 */
export class WireReader {
  readonly #octets: Buffer;
  #at: number;
  /** Where the message that is read now ends. */
  #end: number;
  #fields = 0;

  constructor(octets: Buffer, start = 0) {
    this.#octets = octets;
    this.#at = start;
    this.#end = octets.length;
  }

  get hasMore(): boolean {
    return this.#at < this.#end;
  }

  /** Reads the key of a field: its number times 8, plus its wire type. Counts fields, because each may become an object. */
  key(): number {
    if (++this.#fields > limits.objectFields) throw new ProtobufError(`an object has more than ${limits.objectFields} fields`);
    const key = this.length();
    if (key < 8) throw new ProtobufError('a field has the number 0');
    return key;
  }

  /** Reads a varint of at most 32 bits: a length or a key. */
  length(): number {
    let octet = this.#octet();
    if (octet < 0x80) return octet;
    let value = octet & 0x7f;
    for (let shift = 7; shift < 28; shift += 7) {
      octet = this.#octet();
      value |= (octet & 0x7f) << shift;
      if (octet < 0x80) return value;
    }
    octet = this.#octet();
    if (octet > 0x0f) throw new ProtobufError('a length has more than 32 bits');
    return value + octet * 0x1000_0000;
  }

  /** Reads an int32. A negative one takes ten octets; bits beyond the 32nd are dropped, as protobuf specifies. */
  int32(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const octet = this.#octet();
      if (shift < 32) value |= (octet & 0x7f) << shift;
      if (octet < 0x80) return value;
    }
    throw new ProtobufError('a number has more than ten octets');
  }

  /** Reads an int64 as the nearest number, as JSON.parse does. */
  int64(): number {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const octet = this.#octet();
      const bits = octet & 0x7f;
      if (shift < 28) low += bits * 2 ** shift;
      else if (shift === 28) {
        low += (bits & 0x0f) * 2 ** 28;
        high = bits >> 4;
      } else high |= bits << (shift - 32);
      if (octet < 0x80) return (high | 0) * 2 ** 32 + low;
    }
    throw new ProtobufError('a number has more than ten octets');
  }

  bool(): boolean {
    return this.int64() !== 0;
  }

  text(): string {
    const start = this.#take(this.length());
    return this.#octets.toString('utf8', start, this.#at);
  }

  /** Reads a text that occurs often, such as the name of a node. */
  sharedText(texts: SharedTexts): string {
    const start = this.#take(this.length());
    return texts.text(this.#octets, start, this.#at);
  }

  /** Returns a view of the octets of a field. */
  octets(): Buffer {
    const start = this.#take(this.length());
    return this.#octets.subarray(start, this.#at);
  }

  /** Reads a message inside this one. */
  within<T>(read: (reader: this) => T): T {
    const outer = this.#end;
    const start = this.#take(this.length());
    this.#end = this.#at;
    this.#at = start;
    const value = read(this);
    this.#at = this.#end;
    this.#end = outer;
    return value;
  }

  /** Passes over the value of a field that is not read. */
  skip(key: number): void {
    const wireType = key & 7;
    if (wireType === wireTypes.octets) this.#take(this.length());
    else if (wireType === wireTypes.varint) this.int32();
    else if (wireType === wireTypes.fixed64) this.#take(8);
    else if (wireType === wireTypes.fixed32) this.#take(4);
    else throw new ProtobufError(`field ${key >>> 3} has the wire type ${wireType}`);
  }

  #octet(): number {
    if (this.#at >= this.#end) throw new ProtobufError('it ends too early');
    return this.#octets[this.#at++] ?? 0;
  }

  /** Passes over this many octets and returns where they begin. */
  #take(length: number): number {
    const start = this.#at;
    if (length > this.#end - start) throw new ProtobufError('a field is longer than what contains it');
    this.#at = start + length;
    return start;
  }
}
