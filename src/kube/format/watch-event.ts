import { isRecord } from '../../lang/is-record.ts';
import { answerError, KubeError } from '../error.ts';
import { rawObject, type RawObject } from '../raw-object.ts';

export type WatchEvent =
  | { readonly type: 'present'; readonly object: RawObject }
  | { readonly type: 'gone'; readonly object: RawObject }
  /** `complete`: all objects that existed when the watch began were reported (KEP-3157). */
  | { readonly type: 'bookmark'; readonly resourceVersion: string; readonly complete: boolean };

const initialEventsEnd = 'k8s.io/initial-events-end';

/** Checks one decoded event of a watch. Throws KubeError: the error of an ERROR event, or malformed. */
export function watchEvent(type: unknown, object: unknown): WatchEvent {
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { type: 'present', object: rawObject(object) };
    case 'DELETED':
      return { type: 'gone', object: rawObject(object) };
    case 'BOOKMARK':
      return bookmark(object);
    case 'ERROR':
      throw statusError(object);
    default:
      throw new KubeError('malformed', 'the watch sent something that is no event');
  }
}

/** A bookmark has neither name nor content, only a version. */
function bookmark(object: unknown): WatchEvent {
  const metadata = isRecord(object) && isRecord(object['metadata']) ? object['metadata'] : {};
  const { resourceVersion, annotations } = metadata;
  if (typeof resourceVersion !== 'string' || resourceVersion === '') throw new KubeError('malformed', 'a bookmark has no resourceVersion');
  return { type: 'bookmark', resourceVersion, complete: isRecord(annotations) && annotations[initialEventsEnd] === 'true' };
}

function statusError(status: unknown): KubeError {
  const { code, message } = isRecord(status) ? status : {};
  return answerError(typeof code === 'number' ? code : 500, typeof message === 'string' ? message : '');
}
