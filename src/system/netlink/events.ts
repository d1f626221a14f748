import type { Cancel, Clock } from '../clock.ts';
import { MalformedNetlink, NetlinkError } from './error.ts';
import { datagramsPerPoll, eventPoll } from './limits.ts';
import { readMessages, type Message } from './message.ts';
import { openNetlink, type NetlinkOptions, type NetlinkSocket } from './socket.ts';

export interface EventHandlers {
  /** May throw MalformedNetlink, which counts as a loss. */
  readonly onMessage: (message: Message) => void;
  /** Events were lost: anything may have happened. */
  readonly onLoss: (why: string) => void;
  /** Nothing is reported any more. */
  readonly onEnd: (why: string) => void;
}

export interface Events {
  /** What happens from now on is reported. Otherwise `onEnd` follows. */
  readonly subscribed: boolean;
  /** Ends or begins again to hear what happens. What came before is still reported. */
  setSubscribed(hearing: boolean): void;
  /** Nothing is called afterwards. */
  stop(): void;
}

/**
 * The events of the groups in `options`. Looks for them at intervals: Node has no public handle for a netlink socket, and an empty
 * look costs less than a microsecond.
 */
export function followEvents(options: NetlinkOptions, clock: Clock, handlers: EventHandlers): Events {
  let stopped = false;
  let cancel: Cancel = () => undefined;
  let socket: NetlinkSocket | undefined;
  const end = (why: string): void => {
    socket?.close();
    if (!stopped) handlers.onEnd(why);
    stopped = true;
  };
  const look = (): void => {
    if (stopped || socket === undefined) return;
    for (let datagrams = 0; datagrams < datagramsPerPoll; datagrams++) {
      try {
        const datagram = socket.receive();
        if (datagram === undefined) {
          cancel = clock.after(eventPoll, look);
          return;
        }
        for (const message of readMessages(datagram)) handlers.onMessage(message);
      } catch (error) {
        if (!(error instanceof MalformedNetlink) && !(error instanceof NetlinkError && error.code === 'ENOBUFS')) {
          end(String(error));
          return;
        }
        handlers.onLoss(error.message);
      }
      // A handler may have stopped this.
      if (stopped) return;
    }
    cancel = clock.after(0, look);
  };
  try {
    socket = openNetlink(options);
    cancel = clock.after(0, socket === undefined ? () => end('there is no FFI') : look);
  } catch (error) {
    cancel = clock.after(0, () => end(String(error)));
  }
  return {
    subscribed: socket !== undefined,
    setSubscribed(hearing) {
      const listening = socket;
      if (stopped || listening === undefined || (options.groups ?? []).every((group) => listening.setMembership(group, hearing))) return;
      cancel();
      end('the kernel refuses its events');
    },
    stop() {
      stopped = true;
      cancel();
      socket?.close();
    },
  };
}
