import { limits } from '../../limits.ts';
import { message, type Decoded, type FieldType, type ValueType } from './message.ts';
import { ProtobufError } from './protobuf-error.ts';
import { SharedTexts } from './shared-texts.ts';
import { wireTypes, type WireReader } from './wire-reader.ts';

/** A value that is written in one piece. */
class Scalar implements ValueType {
  readonly wireType: number;
  readonly value: (reader: WireReader) => unknown;

  constructor(wireType: number, value: (reader: WireReader) => unknown) {
    this.wireType = wireType;
    this.value = value;
  }

  read(reader: WireReader, into: Decoded, name: string): void {
    const value = this.value(reader);
    if (value !== undefined) into[name] = value;
  }
}

const sharedTexts = new SharedTexts(limits.sharedTexts);

export const text: ValueType = new Scalar(wireTypes.octets, (reader) => reader.text());

/** Text of which many objects have the same: names of nodes, ports and labels. */
export const sharedText: ValueType = new Scalar(wireTypes.octets, (reader) => reader.sharedText(sharedTexts));

export const int32: ValueType = new Scalar(wireTypes.varint, (reader) => reader.int32());
export const int64: ValueType = new Scalar(wireTypes.varint, (reader) => reader.int64());
export const bool: ValueType = new Scalar(wireTypes.varint, (reader) => reader.bool());
/** Octets as they are, in a view of the buffer. */
export const octets: ValueType = new Scalar(wireTypes.octets, (reader) => reader.octets());

/**
 * A field that Kubernetes always writes in protobuf, and that JSON leaves out when it is empty: in Go no pointer, with `omitempty`. Other
 * fields are as in JSON, where `false` and absent may mean different things.
 */
export function omitEmpty(type: ValueType): ValueType {
  return new Scalar(type.wireType, (reader) => type.value(reader) || undefined);
}

/** meta/v1 Time, as text of RFC 3339 in UTC. The zero value has no octets and is left out. JSON has no fractions of a second either. */
export const time: ValueType = new Scalar(wireTypes.octets, (reader) => {
  const { seconds } = timestamp.value(reader);
  if (typeof seconds !== 'number') return undefined;
  if (!(seconds >= firstSecond && seconds <= lastSecond)) throw new ProtobufError('a time is not between the years 1 and 9999');
  // oxlint-disable-next-line no-restricted-globals -- writing a date as text is pure
  return `${new Date(seconds * 1000).toISOString().slice(0, 'YYYY-MM-DDThh:mm:ss'.length)}Z`;
});
const timestamp = message({ seconds: [1, int64] });
/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
const firstSecond = -62_135_596_800;
const lastSecond = 253_402_300_799;

/** util/intstr IntOrString: a number, or text when its type is 1. */
export const intOrString: ValueType = new Scalar(wireTypes.octets, (reader) => {
  const { type, intVal = 0, strVal = '' } = intOrStringFields.value(reader);
  return type === 1 ? strVal : intVal;
});
const intOrStringFields = message({ type: [1, int64], intVal: [2, int32], strVal: [3, sharedText] });

interface ListType extends FieldType {
  readonly element: ValueType;
}

/** A repeated field. Elements that JSON leaves out do not exist in lists. */
export function list(element: ValueType): ListType {
  return {
    element,
    wireType: element.wireType,
    read(reader, into, name) {
      const value = element.value(reader);
      const values = into[name] as unknown[] | undefined;
      if (values === undefined) into[name] = [value];
      else values.push(value);
    },
  };
}

/** map<string, string>. */
export const textMap: FieldType = {
  wireType: wireTypes.octets,
  read(reader, into, name) {
    const { key = '', value = '' } = entry.value(reader) as { readonly key?: string; readonly value?: string };
    const map = (into[name] ??= {}) as Record<string, string>;
    // No label or annotation may have this key, and an assignment to it does nothing.
    if (key !== '__proto__') map[key] = value;
  },
};
const entry = message({ key: [1, sharedText], value: [2, sharedText] });
