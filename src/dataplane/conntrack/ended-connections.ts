import type { ObservedConnection } from '../../net/observed-connection.ts';
import { untilBeat, type Cancel, type Clock } from '../../system/clock.ts';
import {
  acceptWholePacket,
  ancillary,
  copyToIndex,
  jumpIfAtLeast,
  jumpIfEqual,
  loadIndex,
  loadIndexedWord,
  loadNumber,
  loadWord,
  maskBits,
  returnVerdict,
  type FilterInstruction,
} from '../../system/ffi/socket-filter.ts';
import { MalformedNetlink, NetlinkError } from '../../system/netlink/error.ts';
import { readMessages } from '../../system/netlink/message.ts';
import { netfilterProtocol, type NetlinkOptions, type NetlinkSocket } from '../../system/netlink/socket.ts';
import { pairOf } from './connection-sample.ts';
import { FlowReader, statusBits } from './flow-reader.ts';
import { endedOutcomeOf, type Timeouts } from './flow-outcome.ts';
import { endedBufferBytes, endedPause, endedPerSecond, endedPoll, endedShare } from './limits.ts';

/** NFNLGRP_CONNTRACK_DESTROY. */
const endedGroup = 3;
/** struct nfgenmsg. */
const headerBytes = 4;
const attributesAt = 20;
const attributes = { status: 3, protocolState: 4 } as const;

/**
 * Accepts events about translated connections without a reply whose protocol has states (not UDP), and some of the others at random:
 *
 *      0  X = CTA_STATUS, A = its offset; none: drop
 *      4  A = status; translated without a reply: to 8, else to 13
 *      8  X = CTA_PROTOINFO, A = its offset; none: to 13
 *     12  accept
 *     13  accept one of `endedShare`
 */
export const endedFilter: readonly FilterInstruction[] = [
  [loadIndex, 0, 0, attributes.status],
  [loadNumber, 0, 0, attributesAt],
  [loadWord, 0, 0, ancillary.netlinkAttribute],
  [jumpIfEqual, 12, 0, 0],
  [copyToIndex, 0, 0, 0],
  [loadIndexedWord, 0, 0, 4],
  [maskBits, 0, 0, statusBits.translated | statusBits.replied],
  [jumpIfEqual, 0, 5, statusBits.translated],
  [loadIndex, 0, 0, attributes.protocolState],
  [loadNumber, 0, 0, attributesAt],
  [loadWord, 0, 0, ancillary.netlinkAttribute],
  [jumpIfEqual, 1, 0, 0],
  [returnVerdict, 0, 0, acceptWholePacket],
  [loadWord, 0, 0, ancillary.random],
  [jumpIfAtLeast, 1, 0, 2 ** 32 / endedShare],
  [returnVerdict, 0, 0, acceptWholePacket],
  [returnVerdict, 0, 0, 0],
];

interface EndedHandlers {
  readonly timeouts: () => Timeouts;
  readonly ended: (connections: readonly ObservedConnection[]) => void;
  /** Called when there are no events any more, until the next `start`. */
  readonly failed: (error: NetlinkError | MalformedNetlink) => void;
  /** Called with the milliseconds that a reading took. */
  readonly spent: (milliseconds: number) => void;
}

/**
 * Follows connections that ended without an answer. The kernel works for each event, also for those that the filter drops, so while very many
 * connections end, it is asked for none.
 */
export class EndedConnections {
  readonly #clock: Clock;
  readonly #open: (options: NetlinkOptions) => NetlinkSocket | undefined;
  readonly #handlers: EndedHandlers;
  readonly #reader = new FlowReader();
  #socket: NetlinkSocket | undefined;
  #since = Number.POSITIVE_INFINITY;
  #read = 0;
  #cancel: Cancel = () => undefined;

  constructor(clock: Clock, open: (options: NetlinkOptions) => NetlinkSocket | undefined, handlers: EndedHandlers) {
    this.#clock = clock;
    this.#open = open;
    this.#handlers = handlers;
  }

  /** Since when every connection that ends without an answer is reported, in milliseconds of the clock. Infinite: not all are. */
  get since(): number {
    return this.#since;
  }

  start(): void {
    const { failed } = this.#handlers;
    try {
      this.#socket = this.#open({ groups: [endedGroup], filter: endedFilter, receiveBytes: endedBufferBytes, protocol: netfilterProtocol });
    } catch (error) {
      if (!(error instanceof NetlinkError || error instanceof MalformedNetlink)) throw error;
      failed(error);
      return;
    }
    this.#read = this.#since = this.#clock.now();
    this.#poll();
  }

  stop(): void {
    this.#cancel();
    this.#socket?.close();
    this.#socket = undefined;
    this.#since = Number.POSITIVE_INFINITY;
  }

  /** Other sockets are read at the same beat, so that the process wakes once for all. */
  #poll(): void {
    this.#cancel = this.#clock.after(untilBeat(this.#clock, endedPoll), () => this.#readEvents());
  }

  #readEvents(): void {
    const began = this.#clock.now();
    const most = endedPerSecond * Math.max(1, (began - this.#read) / 1000);
    this.#read = began;
    const connections: ObservedConnection[] = [];
    let ended = 0;
    let areTooMany = false;
    while (ended <= most) {
      try {
        const datagram = this.#socket?.receive();
        if (datagram === undefined) break;
        for (const { payload } of readMessages(datagram)) ended += this.#readEvent(payload, began, connections);
      } catch (error) {
        if (error instanceof NetlinkError && error.code !== 'ENOBUFS') {
          this.stop();
          this.#handlers.failed(error);
          return;
        }
        if (!(error instanceof NetlinkError || error instanceof MalformedNetlink)) throw error;
        // There were more events than the socket holds, or one that cannot be read. Those that it holds can still be read.
        areTooMany = true;
        ended++;
      }
    }
    if (connections.length > 0) this.#handlers.ended(connections);
    this.#handlers.spent(this.#clock.now() - began);
    if (!areTooMany && ended <= most) {
      this.#poll();
      return;
    }
    this.stop();
    this.#cancel = this.#clock.after(endedPause, () => this.start());
  }

  /** Returns the number of ended connections for which the event stands. */
  #readEvent(payload: Uint8Array, now: number, connections: ObservedConnection[]): number {
    const reader = this.#reader;
    reader.read(payload, headerBytes, payload.length);
    const { status, protocol, id } = reader;
    if ((status & (statusBits.translated | statusBits.replied)) !== statusBits.translated) return endedShare;
    const judged = endedOutcomeOf(reader, this.#handlers.timeouts());
    if (judged !== undefined && protocol !== undefined && reader.isComplete)
      connections.push({ ...pairOf(reader, protocol), id, outcome: judged.outcome, at: now - judged.quietSeconds * 1000 });
    return 1;
  }
}
