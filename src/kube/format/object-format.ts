import type { RawObject } from '../raw-object.ts';
import type { WatchEvent } from './watch-event.ts';

/** One page of a list. */
export interface ListPage {
  /** May decode each object only when it is asked for. */
  readonly items: Iterable<RawObject>;
  /** Version of the whole list. A watch may begin there after the last page. */
  readonly resourceVersion: string;
  /** Token with which to request the next page. Absent: this is the last one. */
  readonly continue?: string;
}

/** Cuts the octets of a watch into events. */
export interface EventReader {
  /** Yields the events that end in this chunk. Throws KubeError: the error of an ERROR event, or malformed. */
  push(chunk: Buffer): Iterable<WatchEvent>;
  /** Marks the end of the stream. Throws KubeError (malformed) when its last event is incomplete. */
  end(): void;
}

/** Reads events that are a frame each. */
export function framedEvents<Frame>(
  framer: { push(chunk: Buffer): Iterable<Frame>; end(): void },
  eventOf: (frame: Frame) => WatchEvent,
): EventReader {
  return {
    *push(chunk) {
      for (const frame of framer.push(chunk)) yield eventOf(frame);
    },
    end: () => framer.end(),
  };
}

/** Reads answers of the API server in one media type. */
export interface ObjectFormat {
  eventReader(): EventReader;
  /** Throws KubeError (malformed), also while its objects are taken. */
  list(octets: Buffer): ListPage;
}
