import type { Clock } from '../../../system/clock.ts';
import { followEvents as followGroups, type EventHandlers } from '../../../system/netlink/events.ts';
import type { NetlinkOptions } from '../../../system/netlink/socket.ts';
import type { Monitor } from '../executor.ts';
import { changesGroup } from './constants.ts';

/** Reads what happens in nf_tables, by whomever. */
export function followEvents(options: NetlinkOptions, clock: Clock, handlers: EventHandlers): Monitor {
  const events = followGroups({ ...options, groups: [changesGroup] }, clock, handlers);
  return {
    subscribed: events.subscribed,
    stop() {
      events.stop();
      return Promise.resolve();
    },
  };
}
