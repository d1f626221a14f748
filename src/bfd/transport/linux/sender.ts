import { addressBytes } from '../../../net/address.ts';
import { inetAddress } from '../../../system/ffi/inet-socket.ts';
import { systemError, type Libc } from '../../../system/ffi/libc.ts';
import type { Random } from '../../../system/random.ts';
import { maximumPortAttempts, sourcePorts } from '../../limits.ts';
import { fullTtl, multihopPort, singleHopPort, type Endpoint } from '../transport.ts';
import { DatagramSocket } from './datagram-socket.ts';
import { nothing } from './ttl-filter.ts';

const MSG_DONTWAIT = 0x40;

/** The system's words for a socket that is bound to what is there no more: another one has to be made. */
const staleSocketErrors = new Set(['ENODEV', 'ENXIO', 'EADDRNOTAVAIL', 'EINVAL']);

/** Sends the packets of one session, by FFI: nothing is allocated for a packet, and it has left, or not, when the call returns. */
export class Sender {
  readonly #libc: Libc;
  readonly #random: Random;
  readonly #endpoint: Endpoint;
  readonly #to: Uint8Array;
  readonly #portsTaken: Set<number>;
  #socket: DatagramSocket | undefined;
  /** One for the life of the session (RFC 5881 4), also where the socket is made anew. */
  #port: number | undefined;

  /** `portsTaken`: those of all sessions, which the kernel does not tell apart where their addresses or interfaces differ. */
  constructor(libc: Libc, random: Random, endpoint: Endpoint, portsTaken: Set<number>) {
    this.#libc = libc;
    this.#random = random;
    this.#portsTaken = portsTaken;
    this.#endpoint = endpoint;
    const { peer, multihop } = endpoint;
    this.#to = inetAddress(peer.family, addressBytes(peer), multihop === undefined ? singleHopPort : multihopPort);
  }

  /** Undefined: it has left. */
  send(packet: Uint8Array): NodeJS.ErrnoException | undefined {
    try {
      this.#socket ??= this.#open();
    } catch (error) {
      return error as NodeJS.ErrnoException;
    }
    if (this.#libc.sendto(this.#socket.fd, packet, packet.length, MSG_DONTWAIT, this.#to, this.#to.length) >= 0) return undefined;
    const error = systemError(this.#libc, 'sending');
    if (staleSocketErrors.has(error.code ?? '') || !this.#hasInterface(this.#socket)) this.#close();
    return error;
  }

  /** For IPv6 the error does not always say that an interface is gone. */
  #hasInterface(socket: DatagramSocket): boolean {
    const { interface: networkInterface } = this.#endpoint;
    return networkInterface === undefined || socket.isBoundTo(networkInterface);
  }

  /** For good: another session may have the port. */
  close(): void {
    this.#close();
    this.#releasePort();
  }

  #close(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }

  #releasePort(): void {
    if (this.#port !== undefined) this.#portsTaken.delete(this.#port);
    this.#port = undefined;
  }

  #open(): DatagramSocket {
    const { peer, interface: networkInterface } = this.#endpoint;
    const socket = DatagramSocket.open(this.#libc, peer.family);
    try {
      // What comes here is for nobody, and must not wait to be read.
      socket.filter(nothing);
      if (networkInterface !== undefined) socket.bindToInterface(networkInterface);
      socket.setTtl(fullTtl);
      socket.setTrafficClass();
      this.#bind(socket);
      return socket;
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  #bind(socket: DatagramSocket): void {
    const { localAddress } = this.#endpoint;
    const local = localAddress === undefined ? undefined : addressBytes(localAddress);
    for (let attempt = 1; ; attempt++) {
      const port = this.#port ?? this.#pickPort();
      try {
        socket.bindTo(local, port, localAddress === undefined ? 'taking a source port' : 'binding the local address');
        this.#port = port;
        this.#portsTaken.add(port);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || attempt === maximumPortAttempts) throw error;
        this.#releasePort();
      }
    }
  }

  /** There are many more ports than sessions. */
  #pickPort(): number {
    const { first, last } = sourcePorts;
    for (;;) {
      const port = first + Math.floor(this.#random() * (last - first + 1));
      if (!this.#portsTaken.has(port)) return port;
    }
  }
}
