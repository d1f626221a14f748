import type { Clock } from '../../../system/clock.ts';
import { followEvents as followGroups, type EventHandlers, type Events } from '../../../system/netlink/events.ts';
import type { NetlinkOptions } from '../../../system/netlink/socket.ts';
import type { Monitor } from '../executor.ts';
import { changesGroup } from './constants.ts';

export type Follower = Monitor & Pick<Events, 'setSubscribed'>;

/** Reports every change of nf_tables, by any program. */
export function followEvents(options: NetlinkOptions, clock: Clock, handlers: EventHandlers): Follower {
  const events = followGroups({ ...options, groups: [changesGroup] }, clock, handlers);
  return {
    ...events,
    stop() {
      events.stop();
      return Promise.resolve();
    },
  };
}
