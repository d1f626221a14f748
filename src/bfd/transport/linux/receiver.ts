import { createSocket, type Socket } from 'node:dgram';
import type { Address, Family } from '../../../net/address.ts';
import type { Libc } from '../../../system/ffi/libc.ts';
import { receiveBufferBytes } from '../../limits.ts';
import { multihopPort, singleHopPort, type TransportEvents } from '../transport.ts';
import { DatagramSocket } from './datagram-socket.ts';
import { fromNeighbours, fromPeers } from './ttl-filter.ts';

/** What sessions receive by together. */
export interface ReceiverKind {
  readonly family: Family;
  readonly multihop: boolean;
  readonly interface: string | undefined;
}

/** One of the well-known ports: opened by FFI, where it gets its filter before its port, and read by libuv. */
export class Receiver {
  readonly kind: ReceiverKind;
  /** In words why it is closed. */
  problem: string | undefined = 'not opened yet';
  readonly #libc: Libc;
  readonly #events: TransportEvents;
  readonly #peers = new Map<object, { readonly peer: Address; readonly minimumTtl: number }>();
  #raw: DatagramSocket | undefined;
  #reader: Socket | undefined;
  #dropsBefore = 0;

  constructor(libc: Libc, events: TransportEvents, kind: ReceiverKind) {
    this.#libc = libc;
    this.#events = events;
    this.kind = kind;
  }

  get isOpen(): boolean {
    return this.#reader !== undefined;
  }

  /** Nobody receives by it any more. */
  get isIdle(): boolean {
    return this.#peers.size === 0;
  }

  /** The peers of multihop sessions are in the filter, each with its own smallest TTL. One that is there already gets this one. */
  addPeer(user: object, peer: Address, minimumTtl: number): void {
    this.#peers.set(user, { peer, minimumTtl });
    this.#renewFilter();
  }

  removePeer(user: object): void {
    this.#peers.delete(user);
    this.#renewFilter();
  }

  /** Whether another socket of ours with this port may be bound, which is so for a moment only: others must not share it. */
  share(shared: boolean): void {
    this.#raw?.setReuseAddress(shared);
  }

  /** `shared`: beside others of ours with this port. */
  open(shared: boolean): void {
    const { family, interface: networkInterface, multihop } = this.kind;
    const port = multihop ? multihopPort : singleHopPort;
    let raw: DatagramSocket | undefined;
    try {
      raw = DatagramSocket.open(this.#libc, family);
      raw.filter(this.#filter());
      raw.setReceiveBuffer(receiveBufferBytes);
      if (family === 6) raw.setIpv6Only();
      if (networkInterface !== undefined) raw.bindToInterface(networkInterface);
      raw.setReuseAddress(shared);
      raw.bindTo(undefined, port, `listening on UDP port ${port}`);
      this.#read(raw);
      // libuv lets others share the port: they would take packets from us, and nobody would know.
      raw.setReuseAddress(false);
      this.#raw = raw;
      this.problem = undefined;
    } catch (error) {
      if (this.#reader === undefined) raw?.close();
      this.close();
      this.problem = inWords(error as NodeJS.ErrnoException, port);
    }
  }

  /** Where its interface is gone, or another one has its name now, the socket hears nothing any more, and does not say so: it is closed. */
  closeIfInterfaceGone(): void {
    const { interface: networkInterface } = this.kind;
    if (networkInterface !== undefined && this.#raw?.isBoundTo(networkInterface) === false) this.close();
  }

  drops(): number {
    return this.#dropsBefore + (this.#raw?.drops() ?? 0);
  }

  close(): void {
    this.#dropsBefore = this.drops();
    this.#raw = undefined;
    this.#reader?.close();
    this.#reader = undefined;
    this.problem = 'closed';
  }

  #read(raw: DatagramSocket): void {
    const { family, multihop, interface: networkInterface } = this.kind;
    const reader = createSocket(family === 4 ? 'udp4' : 'udp6');
    // From here on the reader owns the descriptor.
    this.#reader = reader;
    reader.bind({ fd: raw.fd });
    reader.on('message', (payload, { address }) => {
      const zone = address.indexOf('%');
      const source = zone < 0 ? address : address.slice(0, zone);
      this.#events.received(payload, source, networkInterface ?? (zone < 0 ? undefined : address.slice(zone + 1)), multihop);
    });
    reader.on('error', (error) => {
      this.close();
      this.problem = error.message;
    });
  }

  #filter(): ReturnType<typeof fromPeers> {
    const { family, multihop } = this.kind;
    return multihop ? fromPeers(family, [...this.#peers.values()]) : fromNeighbours(family);
  }

  #renewFilter(): void {
    if (!this.kind.multihop) return;
    try {
      this.#raw?.filter(this.#filter());
    } catch (error) {
      this.close();
      this.problem = inWords(error as NodeJS.ErrnoException, multihopPort);
    }
  }
}

function inWords(error: NodeJS.ErrnoException, port: number): string {
  switch (error.code ?? '') {
    case 'EADDRINUSE':
      return `another program has UDP port ${port}, perhaps another BFD daemon: only one can be on a host`;
    case 'ENOMEM':
      return 'the kernel has no room for the filter of this many multihop peers: raise net.core.optmem_max';
    case 'EAFNOSUPPORT':
      return 'this kernel does not speak the IP version of the peer';
    default:
      return error.message;
  }
}
