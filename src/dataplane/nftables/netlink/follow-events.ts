import type { Cancel, Clock } from '../../../system/clock.ts';
import { MalformedNetlink, NetlinkError } from '../../../system/netlink/error.ts';
import { readMessages, type Message } from '../../../system/netlink/message.ts';
import { openNetlink, type NetlinkOptions, type NetlinkSocket } from '../../../system/netlink/socket.ts';
import type { Monitor } from '../executor.ts';
import { datagramsPerTurn, monitorPoll } from '../limits.ts';
import { changesGroup } from './constants.ts';

export interface EventHandlers {
  /** May throw MalformedNetlink, which counts as a loss. */
  readonly onMessage: (message: Message) => void;
  /** Events were lost. */
  readonly onLoss: (what: string) => void;
  /** It has failed and reports nothing any more. */
  readonly onEnd: (why: string) => void;
}

export interface Follower extends Monitor {
  /** Ends or begins again to hear what happens. What came before is still reported. */
  hear(hearing: boolean): void;
}

/**
 * Reports what happens in nf_tables, by whomever. Looks for events at intervals: Node has no public handle for a netlink socket, an
 * empty look costs less than a microsecond, and whoever waits for an event can wait for a tenth of a second.
 */
export function followEvents(options: NetlinkOptions, clock: Clock, events: EventHandlers): Follower {
  let stopped = false;
  let cancel: Cancel = () => undefined;
  let socket: NetlinkSocket | undefined;
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
        for (const message of readMessages(datagram)) events.onMessage(message);
      } catch (error) {
        if (!(error instanceof MalformedNetlink) && !(error instanceof NetlinkError && error.code === 'ENOBUFS')) {
          end(String(error));
          return;
        }
        events.onLoss(error.message);
      }
      // A handler may have stopped this.
      if (stopped) return;
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
    hear(hearing) {
      if (stopped || socket === undefined || socket.listen(changesGroup, hearing)) return;
      cancel();
      end('the kernel refuses its events');
    },
    stop() {
      stopped = true;
      cancel();
      socket?.close();
      return Promise.resolve();
    },
  };
}
