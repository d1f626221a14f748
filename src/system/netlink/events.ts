import { untilBeat, type Cancel, type Clock } from '../clock.ts';
import { MalformedNetlink, NetlinkError } from './error.ts';
import { datagramsPerPoll, eventPoll } from './limits.ts';
import { readMessages, type Message } from './message.ts';
import { openNetlink, type NetlinkOptions, type NetlinkSocket } from './socket.ts';

export interface EventHandlers {
  /** May throw MalformedNetlink, which counts as lost events. */
  readonly onMessage: (message: Message) => void;
  /** Events were lost, so any change may have been missed. */
  readonly onLoss: (why: string) => void;
  /** No further events are reported. */
  readonly onEnd: (why: string) => void;
}

export interface Events {
  /** True when events are reported from now on. When false, `onEnd` follows. */
  readonly subscribed: boolean;
  /** Joins or leaves the multicast groups. Events received before are still reported. */
  setSubscribed(subscribed: boolean): void;
  /** Closes the socket. No handler is called afterwards. */
  stop(): void;
}

/**
 * Follows the events of the groups in `options`. It polls at intervals, because Node offers no way to wait for a netlink socket. A poll
 * that finds nothing costs a microsecond, and waking the process for it thirty to sixty: all sockets of a process are polled in one turn.
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
  const poll = (): void => {
    if (stopped || socket === undefined) return;
    for (let datagrams = 0; datagrams < datagramsPerPoll; datagrams++) {
      try {
        const datagram = socket.receive();
        if (datagram === undefined) {
          cancel = clock.after(untilBeat(clock, eventPoll), poll);
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
      // The handler may have called `stop`.
      if (stopped) return;
    }
    cancel = clock.after(0, poll);
  };
  try {
    socket = openNetlink(options);
    cancel = clock.after(0, socket === undefined ? () => end('there is no FFI') : poll);
  } catch (error) {
    cancel = clock.after(0, () => end(String(error)));
  }
  return {
    subscribed: socket !== undefined,
    setSubscribed(subscribed) {
      const open = socket;
      if (stopped || open === undefined || (options.groups ?? []).every((group) => open.setMembership(group, subscribed))) return;
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
