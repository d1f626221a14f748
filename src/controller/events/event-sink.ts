import type { ObjectEvent } from '../../model/objects/object-event.ts';

/** Who takes Events: an API server, by way of a queue. Standalone there is nobody: what happened is in the log. */
export interface EventSink {
  /** Never waits and never throws. */
  record(event: ObjectEvent): void;
}

export const noEvents: EventSink = {
  record() {
    // What is worth an Event is worth a line of the log, which its author writes.
  },
};
