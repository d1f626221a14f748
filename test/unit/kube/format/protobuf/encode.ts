import { Message } from '../../../../../src/kube/format/protobuf/message.ts';
import type { ObjectTable } from '../../../../../src/kube/format/protobuf/object-table.ts';
import { intOrString, textMap, time } from '../../../../../src/kube/format/protobuf/types.ts';

/** Encodes a message by the table of its decoder, as the API server does: fields in the order of their numbers. */
export function encodeMessage(message: Message, object: Readonly<Record<string, unknown>>): Buffer {
  const fields = Object.entries(message.fields).toSorted(([, [a]], [, [b]]) => a - b);
  return Buffer.concat(
    fields.flatMap(([name, [number, type]]) => {
      const value = object[name];
      if (value === undefined || value === null) return [];
      if (type === textMap)
        return Object.entries(value).map(([key, text]) => field(number, Buffer.concat([field(1, key), field(2, String(text))])));
      if ('element' in type) return (value as readonly unknown[]).map((one) => field(number, encoded(type.element, one)));
      return [field(number, encoded(type, value))];
    }),
  );
}

/** Puts the envelope of the API server around a message: a magic number and runtime.Unknown. */
export function enclosed(kind: string, message: Buffer, apiVersion = 'v1'): Buffer {
  const typeMeta = Buffer.concat([field(1, apiVersion), field(2, kind)]);
  return Buffer.concat([Buffer.from('k8s\0'), field(1, typeMeta), field(2, message), field(3, ''), field(4, '')]);
}

export function encodedObject({ kind, message }: ObjectTable, object: Readonly<Record<string, unknown>>): Buffer {
  return enclosed(kind, encodeMessage(message, object));
}

interface List {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly items: readonly Readonly<Record<string, unknown>>[];
}

export function encodedList({ kind, message }: ObjectTable, { resourceVersion, continue: token = '', items }: List): Buffer {
  const metadata = Buffer.concat([field(1, ''), field(2, resourceVersion), field(3, token)]);
  return enclosed(`${kind}List`, Buffer.concat([field(1, metadata), ...items.map((item) => field(2, encodeMessage(message, item)))]));
}

/** Encodes a metav1.Status. */
export function encodedStatus(code: number, message: string, reason = '', kind = ''): Buffer {
  const cause = Buffer.concat([field(1, reason), field(2, ''), field(3, '')]);
  const details = Buffer.concat([field(1, ''), field(2, ''), field(3, kind), field(4, cause)]);
  return enclosed(
    'Status',
    Buffer.concat([field(1, ''), field(2, 'Failure'), field(3, message), field(4, reason), field(5, details), field(6, code)]),
  );
}

/** Encodes an event of a watch, with the length in front of it. `object` is enclosed. */
export function frame(type: string, object: Buffer): Buffer {
  return framed(Buffer.concat([field(1, type), field(2, field(1, object))]));
}

export function framed(octets: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(octets.length);
  return Buffer.concat([length, octets]);
}

/** Encodes one field with its key. Numbers and booleans become varints, everything else octets. */
export function field(number: number, value: Buffer | string | number | bigint | boolean): Buffer {
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return Buffer.concat([varint(number << 3), varint(BigInt(value))]);
  const octets = Buffer.from(value as string);
  return Buffer.concat([varint((number << 3) | 2), varint(octets.length), octets]);
}

/** A negative number has the ten octets of its 64 bits. */
export function varint(value: number | bigint): Buffer {
  let left = BigInt.asUintN(64, BigInt(value));
  const octets: number[] = [];
  do {
    octets.push(Number(left & 0x7fn) | (left > 0x7fn ? 0x80 : 0));
    left >>= 7n;
  } while (left > 0n);
  return Buffer.from(octets);
}

function encoded(type: unknown, value: unknown): Buffer | string | number | boolean {
  if (type instanceof Message) return encodeMessage(type, value as Readonly<Record<string, unknown>>);
  if (type === time) return field(1, BigInt(Date.parse(String(value)) / 1000));
  if (type === intOrString)
    return typeof value === 'string'
      ? Buffer.concat([field(1, 1), field(2, 0), field(3, value)])
      : Buffer.concat([field(1, 0), field(2, Number(value)), field(3, '')]);
  return value as string | number | boolean;
}
