import { addressBytes } from '../../../net/address.ts';
import { inetAddress } from '../../../system/ffi/inet-socket.ts';
import { systemError, type Libc } from '../../../system/ffi/libc.ts';
import type { Random } from '../../../system/random.ts';
import { maximumPortAttempts, sourcePorts } from '../../limits.ts';
import { fullTtl, multihopPort, singleHopPort, type Endpoint } from '../transport.ts';
import { DatagramSocket } from './datagram-socket.ts';
import { nothing } from './ttl-filter.ts';

const MSG_DONTWAIT = 0x40;

/** Errors of a socket whose interface or address is gone. A new socket is needed. */
const staleSocketErrors = new Set(['ENODEV', 'ENXIO', 'EADDRNOTAVAIL', 'EINVAL']);

/** Sends the packets of one session by FFI. It allocates nothing per packet, and the result is known when the call returns. */
export class Sender {
  readonly #libc: Libc;
  readonly #random: Random;
  readonly #endpoint: Endpoint;
  readonly #to: Uint8Array;
  readonly #portsTaken: Set<number>;
  #socket: DatagramSocket | undefined;
  /** The same source port for the life of the session (RFC 5881 4), even with a new socket. */
  #port: number | undefined;

  /** `portsTaken`: source ports of all sessions. The kernel would allow one port twice if address or interface differ. */
  constructor(libc: Libc, random: Random, endpoint: Endpoint, portsTaken: Set<number>) {
    this.#libc = libc;
    this.#random = random;
    this.#portsTaken = portsTaken;
    this.#endpoint = endpoint;
    const { peer, multihop } = endpoint;
    this.#to = inetAddress(peer.family, addressBytes(peer), multihop === undefined ? singleHopPort : multihopPort);
  }

  /** Returns undefined if the packet was sent. */
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

  /** For IPv6 the error does not always show that the interface is gone. */
  #hasInterface(socket: DatagramSocket): boolean {
    const { interface: networkInterface } = this.#endpoint;
    return networkInterface === undefined || socket.isBoundTo(networkInterface);
  }

  /** Closes the socket and releases its port for other sessions. */
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
      // This socket receives nothing, so the filter drops all packets.
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

  /** Picks a random free port. There are many more ports than sessions. */
  #pickPort(): number {
    const { first, last } = sourcePorts;
    for (;;) {
      const port = first + Math.floor(this.#random() * (last - first + 1));
      if (!this.#portsTaken.has(port)) return port;
    }
  }
}
