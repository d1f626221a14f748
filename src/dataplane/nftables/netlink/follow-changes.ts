import type { Cancel, Clock } from '../../../system/clock.ts';
import { MalformedNetlink, NetlinkError } from '../../../system/netlink/error.ts';
import { readMessages } from '../../../system/netlink/message.ts';
import { openNetlink, type NetlinkOptions, type NetlinkSocket } from '../../../system/netlink/socket.ts';
import type { Monitor, MonitorEvents } from '../executor.ts';
import { datagramsPerTurn, monitorPoll } from '../limits.ts';
import { ChangeReader } from './change-reader.ts';
import { changesGroup } from './constants.ts';

/**
 * Looks for events at intervals: Node has no public handle for a netlink socket, an empty look costs less than a microsecond, and a
 * repair waits for a tenth of a second anyway.
 */
export function followChanges(options: NetlinkOptions, clock: Clock, events: MonitorEvents): Monitor {
  let stopped = false;
  let cancel: Cancel = () => undefined;
  let socket: NetlinkSocket | undefined;
  const reader = new ChangeReader(events.onChange);
  const end = (why: string): void => {
    socket?.close();
    if (!stopped) events.onEnd(why);
    stopped = true;
  };
  const look = (): void => {
    if (stopped || socket === undefined) return;
    for (let datagrams = 0; datagrams < datagramsPerTurn; datagrams++) {
      try {
        const datagram = socket.receive();
        if (datagram === undefined) {
          cancel = clock.after(monitorPoll, look);
          return;
        }
        for (const message of readMessages(datagram)) reader.read(message);
      } catch (error) {
        if (!(error instanceof MalformedNetlink) && !(error instanceof NetlinkError && error.code === 'ENOBUFS')) {
          end(String(error));
          return;
        }
        reader.forget();
        events.onLoss(error.message);
      }
    }
    cancel = clock.after(0, look);
  };
  try {
    socket = openNetlink({ ...options, groups: [changesGroup] });
    cancel = clock.after(0, look);
  } catch (error) {
    cancel = clock.after(0, () => end(String(error)));
  }
  return {
    subscribed: socket !== undefined,
    stop() {
      stopped = true;
      cancel();
      socket?.close();
      return Promise.resolve();
    },
  };
}
