import type { Clock } from '../../../system/clock.ts';
import type { NetlinkOptions } from '../../../system/netlink/socket.ts';
import type { MonitorEvents } from '../executor.ts';
import { ChangeReader } from './change-reader.ts';
import { followEvents, type Follower } from './follow-events.ts';

/** Reports the transactions on our tables. */
export function followChanges(options: NetlinkOptions, clock: Clock, { onChange, onLoss, onEnd }: MonitorEvents): Follower {
  const reader = new ChangeReader(onChange);
  return followEvents(options, clock, {
    onMessage: (message) => reader.read(message),
    onLoss(what) {
      reader.forget();
      onLoss(what);
    },
    onEnd,
  });
}
