import { ProtobufError } from './protobuf-error.ts';
import { wireTypes, type WireReader } from './wire-reader.ts';

/** A message as JSON has it: only the fields of its table, and none that JSON leaves out. */
export type Decoded = Record<string, unknown>;

/** How a field is written, and how its value gets into the message. */
export interface FieldType {
  readonly wireType: number;
  /** Reads one occurrence of the field. */
  read(reader: WireReader, into: Decoded, name: string): void;
}

/** A type that may also be the element of a list. */
export interface ValueType extends FieldType {
  /** Undefined for a value that JSON leaves out. */
  value(reader: WireReader): unknown;
}

/** The fields of a message that are read, with their numbers. */
export type Fields = Readonly<Record<string, readonly [number: number, type: FieldType]>>;

interface Field {
  readonly name: string;
  readonly type: FieldType;
}

/**
 * A message of which some fields are read and all others are passed over. Messages are nested only as deep as their tables are, so no octets
 * make the decoder recurse further.
 */
export class Message implements ValueType {
  readonly wireType = wireTypes.octets;
  readonly fields: Fields;
  readonly #byNumber: readonly (Field | undefined)[];
  readonly #decode = (reader: WireReader): Decoded => this.decode(reader);

  constructor(fields: Fields) {
    this.fields = fields;
    const byNumber: (Field | undefined)[] = [];
    for (const [name, [number, type]] of Object.entries(fields)) byNumber[number] = { name, type };
    // Array.from fills the gaps, with which an array is slower.
    this.#byNumber = Array.from(byNumber);
  }

  /** Reads up to the reader's end. Of a field that must occur once the last value counts. Throws ProtobufError. */
  decode(reader: WireReader): Decoded {
    const into: Decoded = {};
    const byNumber = this.#byNumber;
    while (reader.hasMore) {
      const key = reader.key();
      const number = key >>> 3;
      const field = number < byNumber.length ? byNumber[number] : undefined;
      if (field === undefined) reader.skip(key);
      else if (field.type.wireType === (key & 7)) field.type.read(reader, into, field.name);
      else throw new ProtobufError(`field ${field.name} has the wire type ${key & 7}`);
    }
    return into;
  }

  value(reader: WireReader): Decoded {
    return reader.within(this.#decode);
  }

  read(reader: WireReader, into: Decoded, name: string): void {
    into[name] = reader.within(this.#decode);
  }
}

export function message(fields: Fields): Message {
  return new Message(fields);
}
