import { isRecord } from '../../lang/is-record.ts';
import { isProtobuf } from './protobuf/media-type.ts';
import { readStatus } from './protobuf/status.ts';

interface Refusal {
  readonly message: string;
  /** Details of the metav1.Status. */
  readonly details: unknown;
}

/**
 * Reads the body of an answer with an error status: a metav1.Status in JSON or in protobuf. Anything else is its own message, because a proxy
 * between Herald and the API server may have written it.
 */
export function readRefusal(contentType: string | undefined, body: Buffer): Refusal {
  const text = isProtobuf(contentType) ? '' : body.toString('utf8').trim();
  let status: unknown;
  try {
    status = isProtobuf(contentType) ? readStatus(body) : JSON.parse(text);
  } catch {
    return { message: text, details: undefined };
  }
  const { message, details } = isRecord(status) ? status : {};
  return { message: typeof message === 'string' ? message.trim() : text, details };
}
