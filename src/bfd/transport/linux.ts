import assert from 'node:assert';
import { systemClock } from '../../system/clock.ts';
import { loadLibc, type Libc } from '../../system/ffi/libc.ts';
import { systemRandom, type Random } from '../../system/random.ts';
import { Gathering } from './linux/gathering.ts';
import { Receiver, type ReceiverKind } from './linux/receiver.ts';
import { Sender } from './linux/sender.ts';
import type { Channel, Endpoint, Transport, TransportEvents } from './transport.ts';

/**
 * Returns a transport with UDP sockets of Linux, or undefined if the native module cannot be loaded. Without it the TTL of packets could
 * not be checked, and any host on the internet could end a session.
 */
export function linuxTransport(random: Random = systemRandom): Transport | undefined {
  const libc = loadLibc();
  return libc === undefined ? undefined : new LinuxTransport(libc, random);
}

class LinuxTransport implements Transport {
  readonly #libc: Libc;
  readonly #random: Random;
  readonly #gathering = new Gathering(systemClock);
  readonly #receivers = new Map<string, Receiver>();
  /** Source ports in use (RFC 5881 4). */
  readonly #sourcePorts = new Set<number>();
  #events: TransportEvents | undefined;
  /** Drops of receivers that were closed. */
  #earlierDrops = 0;

  constructor(libc: Libc, random: Random) {
    this.#libc = libc;
    this.#random = random;
  }

  listen(events: TransportEvents): void {
    this.#events = events;
  }

  open(endpoint: Endpoint): Channel {
    const { peer, multihop, interface: networkInterface } = endpoint;
    const receiver = this.#receiver({ family: peer.family, multihop: multihop !== undefined, interface: networkInterface });
    const sender = new Sender(this.#libc, this.#random, endpoint, this.#sourcePorts);
    const user = {};
    receiver.addPeer(user, peer, multihop?.minimumTtl ?? 0);
    this.#openReceiver(receiver);
    return {
      send: (packet) => {
        const error = sender.send(packet);
        if (error !== undefined) receiver.closeIfInterfaceGone();
        this.#openReceiver(receiver);
        return error?.message;
      },
      listen: () => {
        receiver.closeIfInterfaceGone();
        this.#openReceiver(receiver);
      },
      setMinimumTtl: (minimumTtl) => receiver.addPeer(user, peer, minimumTtl),
      get receiveProblem() {
        return receiver.problem;
      },
      close: () => {
        sender.close();
        receiver.removePeer(user);
        if (receiver.isIdle) this.#remove(receiver);
      },
    };
  }

  kernelDrops(): number {
    return this.#receivers.values().reduce((sum, receiver) => sum + receiver.drops(), this.#earlierDrops);
  }

  close(): void {
    for (const receiver of this.#receivers.values()) this.#remove(receiver);
  }

  #receiver(kind: ReceiverKind): Receiver {
    assert(this.#events !== undefined, 'listen must be called before open');
    const key = keyOf(kind);
    const present = this.#receivers.get(key);
    if (present !== undefined) return present;
    const receiver = new Receiver(this.#libc, this.#gathering, this.#events, kind);
    this.#receivers.set(key, receiver);
    return receiver;
  }

  /**
   * Opens the socket of a receiver. The sockets of several interfaces share a port, and the kernel delivers a packet to the most specific
   * one. The first socket opens without port sharing, so that another program on the port is noticed. Sharing is allowed only for this
   * moment, so that no other program gets the port later.
   */
  #openReceiver(receiver: Receiver): void {
    if (receiver.isOpen) return;
    const { family, multihop } = receiver.kind;
    const siblings = [...this.#receivers.values()].filter(
      ({ isOpen, kind }) => isOpen && kind.family === family && kind.multihop === multihop,
    );
    for (const sibling of siblings) sibling.share(true);
    receiver.open(siblings.length > 0);
    for (const sibling of siblings) sibling.share(false);
  }

  #remove(receiver: Receiver): void {
    this.#earlierDrops += receiver.drops();
    receiver.close();
    this.#receivers.delete(keyOf(receiver.kind));
  }
}

const keyOf = ({ family, multihop, interface: networkInterface }: ReceiverKind): string =>
  `${family} ${multihop} ${networkInterface ?? ''}`;
