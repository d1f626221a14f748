import { address, isLinkLocal, sameAddress, type Address } from '../../../net/address.ts';
import type { Cancel, Clock } from '../../../system/clock.ts';
import type { Random } from '../../../system/random.ts';
import {
  advertisementDelay,
  advertisementIntervals,
  discoveryPackets,
  discoveryPollInterval,
  initialAdvertisementInterval,
  initialAdvertisements,
} from '../../limits.ts';
import { failureOf } from '../failure.ts';
import type { DiscoveryEvents } from '../transport.ts';
import { encodeRouterAdvertisement, encodeRouterSolicitation, readRouterMessage, routerAdvertisement } from './router-advertisement.ts';

export interface ReceivedPacket {
  readonly message: Uint8Array;
  readonly source: Address;
  readonly hopLimit: number;
}

/** A socket for router messages on one interface. Its methods throw errors with the system's code. */
export interface RouterSocket {
  send(message: Uint8Array, to: Address): void;
  /** Returns undefined if no packet waits. */
  receive(): ReceivedPacket | undefined;
  close(): void;
}

/** Facts about a local network interface. */
export interface InterfaceFacts {
  readonly hardwareAddress: Uint8Array | undefined;
  readonly addresses: readonly Address[];
}

interface DiscoveryComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly open: (networkInterface: string) => RouterSocket;
  readonly factsOf: (networkInterface: string) => InterfaceFacts;
}

const allNodes = address('ff02::1');
const allRouters = address('ff02::2');

/**
 * Finds the router on the same link by router advertisements, as FRR does for `neighbor INTERFACE interface`. Failures are retried until
 * `close`, because an interface may appear later than its peer. Each failure is reported once.
 */
export class RouterDiscovery {
  readonly #components: DiscoveryComponents;
  readonly #interface: string;
  readonly #events: DiscoveryEvents;
  #socket: RouterSocket | undefined;
  #router: Address | undefined;
  #reported = '';
  /** Advertisements sent since the socket was opened. */
  #sent = 0;
  #lastSent = -Infinity;
  #due = 0;
  #closed = false;
  #cancelPoll: Cancel;

  constructor(components: DiscoveryComponents, networkInterface: string, events: DiscoveryEvents) {
    this.#components = components;
    this.#interface = networkInterface;
    this.#events = events;
    this.#due = components.clock.now();
    this.#cancelPoll = components.clock.after(0, () => this.#poll());
  }

  close(): void {
    this.#closed = true;
    this.#cancelPoll();
    this.#socket?.close();
    this.#socket = undefined;
  }

  /**
   * Reads the socket on a timer: Node has no handle that reports when a raw socket is readable. One read takes the kernel less than a
   * microsecond.
   */
  #poll(): void {
    const { clock } = this.#components;
    try {
      if (this.#socket !== undefined) this.#receive(this.#socket);
      if (!this.#closed && clock.now() >= this.#due) this.#advertise();
    } catch (error) {
      this.#fail(error as NodeJS.ErrnoException);
    }
    if (!this.#closed) this.#cancelPoll = clock.after(discoveryPollInterval, () => this.#poll());
  }

  #advertise(): void {
    const { clock, random, open, factsOf } = this.#components;
    this.#socket ??= open(this.#interface);
    const { hardwareAddress } = factsOf(this.#interface);
    this.#socket.send(encodeRouterAdvertisement(hardwareAddress), allNodes);
    // A solicitation, because the router may advertise itself only rarely.
    if (this.#router === undefined && this.#sent < initialAdvertisements) {
      this.#socket.send(encodeRouterSolicitation(hardwareAddress), allRouters);
    }
    this.#reported = '';
    this.#sent++;
    this.#lastSent = clock.now();
    const { least, most } = advertisementIntervals;
    this.#due = clock.now() + (this.#sent < initialAdvertisements ? initialAdvertisementInterval : least + random() * (most - least));
  }

  #receive(socket: RouterSocket): void {
    for (let i = 0; i < discoveryPackets && !this.#closed; i++) {
      const packet = socket.receive();
      if (packet === undefined) return;
      // A smaller hop limit means that a router forwarded the packet, so it does not come from this link (RFC 4861 6.1).
      if (packet.hopLimit !== 255) continue;
      const type = readRouterMessage(packet.message);
      if (type === routerAdvertisement) this.#receiveAdvertisement(packet.source);
      else if (type !== undefined) this.#receiveSolicitation();
    }
  }

  /** Handles an advertisement. Addresses of this host are ignored, because another program may advertise on the interface too. */
  #receiveAdvertisement(source: Address): void {
    if (!isLinkLocal(source) || (this.#router !== undefined && sameAddress(this.#router, source))) return;
    if (this.#components.factsOf(this.#interface).addresses.some((own) => sameAddress(own, source))) return;
    this.#router = source;
    this.#events.found(source);
  }

  /** Answers a solicitation with a random delay, by multicast at most every three seconds (RFC 4861 6.2.6). */
  #receiveSolicitation(): void {
    const { clock, random } = this.#components;
    const soonest = Math.max(clock.now() + random() * advertisementDelay, this.#lastSent + initialAdvertisementInterval);
    this.#due = Math.min(this.#due, soonest);
  }

  #fail(error: NodeJS.ErrnoException): void {
    this.#socket?.close();
    this.#socket = undefined;
    this.#sent = 0;
    this.#due = this.#components.clock.now() + initialAdvertisementInterval;
    const detail = details[error.code ?? '']?.(this.#interface) ?? error.message;
    if (this.#closed || detail === this.#reported) return;
    this.#reported = detail;
    this.#events.failed({ ...failureOf(error), detail });
  }
}

const isDown = (name: string): string => `the network interface ${name} is down`;
const isMissing = (name: string): string => `there is no network interface ${name}`;

const details: Readonly<Record<string, (networkInterface: string) => string>> = {
  EPERM: (name) => `looking for a peer on ${name} needs CAP_NET_RAW`,
  EACCES: (name) => `looking for a peer on ${name} needs CAP_NET_RAW`,
  ENODEV: isMissing,
  ENXIO: isMissing,
  EADDRNOTAVAIL: (name) => `the network interface ${name} has no link-local address, or not yet`,
  ENETDOWN: isDown,
  ENETUNREACH: isDown,
  EAFNOSUPPORT: () => 'peering without addresses needs IPv6, which this kernel does not support',
};
