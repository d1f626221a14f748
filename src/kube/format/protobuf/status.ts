import { openEnvelope } from './envelope.ts';
import { message } from './message.ts';
import { ProtobufError } from './protobuf-error.ts';
import { int32, list, omitEmpty, sharedText, text } from './types.ts';
import { WireReader } from './wire-reader.ts';

/** meta/v1 Status (k8s.io/apimachinery, pkg/apis/meta/v1/generated.proto). */
const status = message({
  message: [3, omitEmpty(text)],
  details: [5, message({ kind: [3, omitEmpty(sharedText)], causes: [4, list(message({ reason: [1, omitEmpty(sharedText)] }))] })],
  code: [6, omitEmpty(int32)],
});

/** Reads the Status with which the API server refuses a request. Throws ProtobufError. */
export function readStatus(answer: Buffer): Readonly<Record<string, unknown>> {
  const { kind, raw } = openEnvelope(answer);
  if (kind !== 'Status') throw new ProtobufError('an error is no Status');
  return status.decode(new WireReader(raw));
}
