import { isRecord } from '../../../lang/is-record.ts';
import { limits } from '../../limits.ts';
import { rawObject, type RawObject } from '../../raw-object.ts';
import { listPosition } from '../list-page.ts';
import { framedEvents, type ListPage, type ObjectFormat } from '../object-format.ts';
import { watchEvent, type WatchEvent } from '../watch-event.ts';
import { openEnvelope } from './envelope.ts';
import { LengthFramer } from './length-framer.ts';
import { message } from './message.ts';
import type { ObjectTable } from './object-table.ts';
import { ProtobufError } from './protobuf-error.ts';
import { readStatus } from './status.ts';
import { list, octets, omitEmpty, sharedText, text } from './types.ts';
import { WireReader } from './wire-reader.ts';

/** meta/v1 WatchEvent. Its object is in a runtime.RawExtension. */
const event = message({ type: [1, sharedText], object: [2, message({ raw: [1, octets] })] });

/** The list of any kind, with meta/v1 ListMeta. */
const objectList = message({
  metadata: [1, message({ resourceVersion: [2, text], continue: [3, omitEmpty(text)] })],
  items: [2, list(octets)],
});

/** Reads protobuf of the objects of one kind. A watch in protobuf is one WatchEvent a frame. */
export function protobufFormat(table: ObjectTable): ObjectFormat {
  return {
    eventReader: () => framedEvents(new LengthFramer(limits.lineBytes), (frame) => protobufEvent(frame, table)),
    list: (answer) => protobufPage(answer, table),
  };
}

function protobufEvent(frame: Buffer, table: ObjectTable): WatchEvent {
  const { type, object } = event.decode(new WireReader(frame));
  const enclosed = isRecord(object) && Buffer.isBuffer(object['raw']) ? object['raw'] : Buffer.alloc(0);
  if (type === 'ERROR') return watchEvent(type, readStatus(enclosed));
  const { kind, raw } = openEnvelope(enclosed);
  checkKind(kind, table.kind);
  return watchEvent(type, table.message.decode(new WireReader(raw)));
}

function protobufPage(answer: Buffer, { kind, message: ofObject }: ObjectTable): ListPage {
  const enclosed = openEnvelope(answer);
  checkKind(enclosed.kind, `${kind}List`);
  const { metadata, items = [] } = objectList.decode(new WireReader(enclosed.raw));
  return { ...listPosition(metadata), items: objectsIn(items as readonly Buffer[], (item) => ofObject.decode(new WireReader(item))) };
}

/** Decodes each object when it is asked for, so that the caller can pause in between. */
function* objectsIn(items: readonly Buffer[], decode: (item: Buffer) => unknown): Generator<RawObject> {
  for (const item of items) yield rawObject(decode(item));
}

function checkKind(kind: string, expected: string): void {
  if (kind !== expected) throw new ProtobufError(`it is a ${JSON.stringify(kind.slice(0, limits.quoted))} and not a ${expected}`);
}
