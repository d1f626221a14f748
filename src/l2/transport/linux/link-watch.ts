import { MalformedNetlink, NetlinkError } from '../../../system/netlink/error.ts';
import { linkMessages, readLinkEvent, type LinkEvent } from '../../../system/netlink/link-messages.ts';
import { readMessages, type Message } from '../../../system/netlink/message.ts';
import { openNetlink, routeProtocol, type NetlinkSocket } from '../../../system/netlink/socket.ts';
import { linkEventBytes, linkEventsPerTurn } from '../../limits.ts';

/** RTNLGRP_LINK */
const linkGroup = 1;

export interface LinkWatchEvents {
  changed(link: LinkEvent): void;
  removed(link: LinkEvent): void;
  /** Events were lost, so any link may have changed. */
  lost(): void;
}

/** Reads the events of the kernel about network interfaces (rtnetlink(7)), in the thread that waits for its descriptor. */
export class LinkWatch {
  readonly #socket: NetlinkSocket;

  private constructor(socket: NetlinkSocket) {
    this.#socket = socket;
  }

  /** Undefined: the kernel refuses. The table tells of changes then. */
  static open(): LinkWatch | undefined {
    try {
      const socket = openNetlink({ protocol: routeProtocol, groups: [linkGroup], receiveBytes: linkEventBytes });
      return socket === undefined ? undefined : new LinkWatch(socket);
    } catch (error) {
      if (error instanceof NetlinkError) return undefined;
      throw error;
    }
  }

  get fd(): number {
    return this.#socket.fd;
  }

  /** Reads the events that wait, up to a limit. */
  read(events: LinkWatchEvents): void {
    for (let datagrams = 0; datagrams < linkEventsPerTurn; datagrams++) {
      try {
        const datagram = this.#socket.receive();
        if (datagram === undefined) return;
        for (const message of readMessages(datagram)) report(message, events);
      } catch (error) {
        if (!(error instanceof NetlinkError || error instanceof MalformedNetlink)) throw error;
        return events.lost();
      }
    }
  }
}

function report({ type, payload }: Message, events: LinkWatchEvents): void {
  if (type !== linkMessages.changed && type !== linkMessages.removed) return;
  const link = readLinkEvent(payload);
  if (link === undefined) return;
  if (type === linkMessages.changed) events.changed(link);
  else events.removed(link);
}
