import type { Cancel, Clock } from '../clock.ts';
import { followEvents, type Events } from './events.ts';
import type { Message } from './message.ts';
import type { NetlinkOptions } from './socket.ts';

interface ChangeHandlers {
  /** Returns true if the message is a change. Default: every message is one. */
  readonly isChange?: (message: Message) => boolean;
  /** Called when something has changed, or may have. */
  readonly changed: () => void;
  /** Pause before the events are subscribed again after they ended. */
  readonly restartMilliseconds: number;
}

/** Reports changes for as long as the process runs: events that end are subscribed again. Returns the function that ends this. */
export function followChanges(options: NetlinkOptions, clock: Clock, handlers: ChangeHandlers): Cancel {
  const { isChange = () => true, changed, restartMilliseconds } = handlers;
  let cancel: Cancel = () => undefined;
  let events: Events;
  const start = (): void => {
    events = followEvents(options, clock, {
      onMessage: (message) => {
        if (isChange(message)) changed();
      },
      onLoss: changed,
      onEnd: () => {
        cancel = clock.after(restartMilliseconds, () => {
          start();
          // Changes may have been missed before the restart.
          changed();
        });
      },
    });
  };
  start();
  return () => {
    cancel();
    events.stop();
  };
}
