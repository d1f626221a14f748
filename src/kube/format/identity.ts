import { rawObject, type RawObject } from '../raw-object.ts';
import { jsonValue } from './json/json-format.ts';
import { openEnvelope } from './protobuf/envelope.ts';
import { isProtobuf } from './protobuf/media-type.ts';
import { message } from './protobuf/message.ts';
import { omitEmpty, text } from './protobuf/types.ts';
import { WireReader } from './protobuf/wire-reader.ts';

/** Any kind: its metadata is field 1, a meta/v1 ObjectMeta. */
const anyObject = message({
  metadata: [1, message({ name: [1, omitEmpty(text)], namespace: [3, omitEmpty(text)], resourceVersion: [6, omitEmpty(text)] })],
});

/** Reads an object of any kind; of protobuf only its name and version, and nothing else is decoded. Throws KubeError (malformed). */
export function readIdentity(contentType: string | undefined, body: Buffer): RawObject {
  if (!isProtobuf(contentType)) return rawObject(jsonValue(body.toString('utf8')));
  return rawObject(anyObject.decode(new WireReader(openEnvelope(body).raw)));
}
