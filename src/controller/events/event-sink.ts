import type { ObjectEvent } from '../../model/objects/object-event.ts';

/** Takes Events: a queue to the API server. Standalone there is none, and Events are only logged. */
export interface EventSink {
  /** Queues the Event. Never waits and never throws. */
  record(event: ObjectEvent): void;
}

export const noEvents: EventSink = {
  record() {
    // The caller has already logged what the Event says.
  },
};
