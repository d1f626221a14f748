import { isRecord } from '../../../lang/is-record.ts';
import { KubeError } from '../../error.ts';
import { limits } from '../../limits.ts';
import { rawObject, type RawObject } from '../../raw-object.ts';
import { listPosition } from '../list-page.ts';
import { framedEvents, type ListPage, type ObjectFormat } from '../object-format.ts';
import { watchEvent, type WatchEvent } from '../watch-event.ts';
import { LineFramer } from './line-framer.ts';

export const jsonType = 'application/json';

/** A watch in JSON is one document a line. */
export const jsonFormat: ObjectFormat = {
  eventReader: () => framedEvents(new LineFramer(limits.lineBytes), jsonEvent),
  list: (octets) => jsonPage(jsonValue(octets.toString('utf8'))),
};

/** Decodes one line of a watch. Throws KubeError: the error of an ERROR event, or malformed. */
export function jsonEvent(line: string): WatchEvent {
  const event = jsonValue(line, 'a line of the watch');
  const { type, object } = isRecord(event) ? event : {};
  return watchEvent(type, object);
}

/** Checks a page of a list. Throws KubeError (malformed) for anything else. */
export function jsonPage(list: unknown): ListPage & { readonly items: readonly RawObject[] } {
  const { metadata, items } = isRecord(list) ? { metadata: list['metadata'], items: list['items'] ?? [] } : {};
  if (!Array.isArray(items)) throw new KubeError('malformed', 'the answer is not a list');
  const position = listPosition(metadata);
  return { ...position, items: items.map(rawObject) };
}

/** Throws KubeError (malformed) for text that is not JSON. `what` names the text. */
export function jsonValue(text: string, what = 'the answer'): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new KubeError('malformed', `${what} is not JSON`, { cause: error });
  }
}
