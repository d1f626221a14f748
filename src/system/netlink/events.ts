import { untilBeat, type Cancel, type Clock } from '../clock.ts';
import { followArrivals, type Arrivals } from './arrivals.ts';
import { MalformedNetlink, NetlinkError } from './error.ts';
import { datagramsPerPoll, eventPoll, restingEventPoll } from './limits.ts';
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
 * Follows the events of the groups in `options`. Node offers no way to wait for a netlink socket, so the kernel sends a signal for the next
 * event. The socket is also polled at intervals, because a security module may stop the signal without an error. A poll costs a process at
 * rest a fifth of a millisecond, almost all of it for waking up, so all sockets are polled in one turn.
 */
export function followEvents(options: NetlinkOptions, clock: Clock, handlers: EventHandlers): Events {
  let stopped = false;
  let cancel: Cancel = () => undefined;
  let socket: NetlinkSocket | undefined;
  let arrivals: Arrivals | undefined;
  let polled = Number.NEGATIVE_INFINITY;
  const close = (): void => {
    arrivals?.stop();
    socket?.close();
  };
  const end = (why: string): void => {
    close();
    if (!stopped) handlers.onEnd(why);
    stopped = true;
  };
  const poll = (): void => {
    if (stopped || socket === undefined) return;
    let awaited = false;
    for (let datagrams = 0; datagrams < datagramsPerPoll; datagrams++) {
      try {
        const datagram = socket.receive();
        if (datagram === undefined) {
          polled = clock.now();
          // After events more are likely, and a signal for each would wake the process more often than polls do.
          if (datagrams === 0 && arrivals?.awaitNext() === true) {
            awaited = true;
            // A datagram may have arrived in between.
            continue;
          }
          cancel = clock.after(untilBeat(clock, awaited ? restingEventPoll : eventPoll), poll);
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
  const pollSoon = (): void => {
    cancel();
    cancel = clock.after(polled + eventPoll - clock.now(), poll);
  };
  try {
    socket = openNetlink(options);
    if (socket !== undefined) arrivals = followArrivals(socket.fd, pollSoon);
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
      close();
    },
  };
}
