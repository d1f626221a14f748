import { isRecord } from '../../../lang/is-record.ts';
import { message } from './message.ts';
import { ProtobufError } from './protobuf-error.ts';
import { octets, sharedText } from './types.ts';
import { WireReader } from './wire-reader.ts';

const magic = Buffer.from('k8s\0');

/** runtime.Unknown (k8s.io/apimachinery, pkg/runtime/generated.proto). */
const unknown = message({
  typeMeta: [1, message({ kind: [2, sharedText] })],
  raw: [2, octets],
  contentEncoding: [3, sharedText],
});

interface Enclosed {
  readonly kind: string;
  /** The message. */
  readonly raw: Buffer;
}

/** Opens what the API server puts around each object and each list: a magic number and runtime.Unknown. Throws ProtobufError. */
export function openEnvelope(from: Buffer): Enclosed {
  if (from.length < magic.length || magic.compare(from, 0, magic.length) !== 0) throw new ProtobufError('it does not begin with k8s\\0');
  const { typeMeta, raw, contentEncoding = '' } = unknown.decode(new WireReader(from, magic.length));
  if (contentEncoding !== '') throw new ProtobufError(`its encoding is ${JSON.stringify(contentEncoding)}`);
  const kind = isRecord(typeMeta) ? typeMeta['kind'] : undefined;
  return { kind: typeof kind === 'string' ? kind : '', raw: Buffer.isBuffer(raw) ? raw : Buffer.alloc(0) };
}
