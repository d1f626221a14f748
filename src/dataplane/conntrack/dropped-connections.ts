import { sameAddress } from '../../net/address.ts';
import type { ObservedConnection } from '../../net/observed-connection.ts';
import type { Clock } from '../../system/clock.ts';
import { NetlinkConnection } from '../../system/netlink/connection.ts';
import type { NetlinkSocket } from '../../system/netlink/socket.ts';
import { listRequest, readFlow } from './flow-messages.ts';
import { tcpStates, type Pair } from './flow-reader.ts';
import type { Timeouts } from './flow-outcome.ts';
import { droppedListings, droppedOldest, droppedYoungest } from './limits.ts';

/** Connections with one destination and endpoint whose first packet passed our rules. */
export interface Begun {
  readonly pair: Pair;
  /** When the first of them began, in milliseconds of the clock. The same number at each listing. */
  readonly at: number;
  /** Number of first packets since. A client sends one again until it is answered. */
  readonly packets: number;
}

/** Lists the connections that began in the last seconds, by `pairKey`. Rejects with NetlinkError or MalformedNetlink. */
export type ListBegun = (socket: NetlinkSocket) => Promise<Map<string, Begun>>;

interface DroppedComponents {
  readonly clock: Clock;
  readonly listBegun: ListBegun;
  /** Opens a socket to netfilter. Throws NetlinkError or MalformedNetlink. */
  readonly open: () => NetlinkSocket;
  readonly timeouts: () => Timeouts;
  /** As of EndedConnections. */
  readonly reportedSince: () => number;
  /** True: connections of the pair were answered in the last minutes, so nothing is wrong with it, most likely. */
  readonly isAnswered: (pair: Pair) => boolean;
}

/**
 * Finds connections that a filter of this machine dropped. Their first packet passed our rules, but the kernel enters a connection into its table
 * only after the last filter, so the table lacks them. It keeps every other one for ten seconds at least, except those that were refused over TCP,
 * which it reports when it deletes them.
 */
export class DroppedConnections {
  readonly #components: DroppedComponents;

  constructor(components: DroppedComponents) {
    this.#components = components;
  }

  /** Returns the connections that began in the last seconds, by key. Rejects with NetlinkError or MalformedNetlink. */
  listBegun(): Promise<Map<string, Begun>> {
    return this.#with(this.#components.listBegun);
  }

  /** Returns which of these were dropped. `isWhole`: none of them is in the table. Otherwise it is searched for some of them. */
  async find(unseen: ReadonlyMap<string, Begun>, isWhole: boolean): Promise<readonly ObservedConnection[]> {
    const { isAnswered } = this.#components;
    const judged = [...unseen.values()].filter((begun) => this.#wouldBeListed(begun));
    if (isWhole) return judged.flatMap(droppedConnections);
    const dropped: ObservedConnection[] = [];
    for (const begun of judged.filter(({ pair }) => !isAnswered(pair)).slice(0, droppedListings))
      if (!(await this.#with((socket) => this.#isTracked(socket, begun.pair)))) dropped.push(...droppedConnections(begun));
    return dropped;
  }

  #wouldBeListed({ pair: { protocol }, at }: Begun): boolean {
    const { clock, timeouts, reportedSince } = this.#components;
    const age = clock.now() - at;
    if (age < droppedYoungest || age > droppedOldest) return false;
    const { tcp, udp } = timeouts();
    // NaN: unknown.
    const kept = protocol === 'UDP' ? udp : Math.min(...Object.values(tcpStates).map((state) => tcp[state] ?? Number.NaN));
    return kept * 1000 > droppedOldest && (protocol === 'UDP' || reportedSince() <= at);
  }

  async #isTracked(socket: NetlinkSocket, { destination, protocol, port, endpoint, endpointPort }: Pair): Promise<boolean> {
    const selection = { family: destination.family, protocol, destination, port, replySource: endpoint, replyPort: endpointPort };
    const found = await new NetlinkConnection(socket, this.#components.clock).list(listRequest(selection), (payload) => {
      const flow = readFlow(payload);
      if (flow?.protocol !== protocol || flow.port !== port || flow.replyPort !== endpointPort) return undefined;
      return sameAddress(flow.destination, destination) && sameAddress(flow.replySource, endpoint) ? true : undefined;
    });
    return found.length > 0;
  }

  async #with<T>(work: (socket: NetlinkSocket) => Promise<T>): Promise<T> {
    const socket = this.#components.open();
    try {
      return await work(socket);
    } finally {
      socket.close();
    }
  }
}

/** Returns two connections if two first packets were dropped: two tell more than one. */
function droppedConnections({ pair, at, packets }: Begun): ObservedConnection[] {
  return Array.from({ length: Math.min(packets, 2) }, (_, index) => ({ ...pair, outcome: 'dropped', at, id: 2 * Math.round(at) + index }));
}
