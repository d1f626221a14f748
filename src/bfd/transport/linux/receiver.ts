import { createSocket, type Socket } from 'node:dgram';
import type { Address, Family } from '../../../net/address.ts';
import type { Libc } from '../../../system/ffi/libc.ts';
import { receiveBufferBytes } from '../../limits.ts';
import { multihopPort, singleHopPort, type TransportEvents } from '../transport.ts';
import { DatagramBatch } from './datagram-batch.ts';
import { DatagramSocket } from './datagram-socket.ts';
import type { Gathering } from './gathering.ts';
import { fromNeighbours, fromPeers } from './ttl-filter.ts';

/** The properties that sessions share if they share a receiving socket. */
export interface ReceiverKind {
  readonly family: Family;
  readonly multihop: boolean;
  readonly interface: string | undefined;
}

/** A socket on one of the well-known ports. It is opened by FFI, so that its filter is set before its port, and read by libuv. */
export class Receiver {
  readonly kind: ReceiverKind;
  /** Why the socket is closed. */
  problem: string | undefined = 'not opened yet';
  readonly #libc: Libc;
  readonly #gathering: Gathering;
  readonly #events: TransportEvents;
  readonly #peers = new Map<object, { readonly peer: Address; readonly minimumTtl: number }>();
  #raw: DatagramSocket | undefined;
  #reader: Socket | undefined;
  #dropsBefore = 0;

  constructor(libc: Libc, gathering: Gathering, events: TransportEvents, kind: ReceiverKind) {
    this.#libc = libc;
    this.#gathering = gathering;
    this.#events = events;
    this.kind = kind;
  }

  get isOpen(): boolean {
    return this.#reader !== undefined;
  }

  /** No session uses it. */
  get isIdle(): boolean {
    return this.#peers.size === 0;
  }

  /** Adds a peer, or changes its minimum TTL. The filter has each multihop peer with its own minimum TTL. */
  addPeer(user: object, peer: Address, minimumTtl: number): void {
    this.#peers.set(user, { peer, minimumTtl });
    this.#renewFilter();
  }

  removePeer(user: object): void {
    this.#peers.delete(user);
    this.#renewFilter();
  }

  /** Allows or forbids other sockets on this port. Herald allows it only while it opens another socket itself. */
  share(shared: boolean): void {
    this.#raw?.setReuseAddress(shared);
  }

  /** Opens the socket. `shared`: another own socket already has this port. */
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
      // libuv allows port sharing. Another program could then take packets unnoticed.
      raw.setReuseAddress(false);
      this.#raw = raw;
      this.problem = undefined;
    } catch (error) {
      if (this.#reader === undefined) raw?.close();
      this.close();
      this.problem = inWords(error as NodeJS.ErrnoException, port);
    }
  }

  /** Closes the socket if its interface is gone or another interface has its name: such a socket receives nothing and reports no error. */
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
    const batch = new DatagramBatch(this.#libc, family);
    reader.on('message', (payload, { address }) => {
      const zone = address.indexOf('%');
      const source = zone < 0 ? address : address.slice(0, zone);
      this.#events.received(payload, source, networkInterface ?? (zone < 0 ? undefined : address.slice(zone + 1)), multihop);
      if (this.#reader === reader) this.#receiveMore(reader, raw, batch);
    });
    reader.on('error', (error) => {
      this.close();
      this.problem = error.message;
    });
  }

  /** Receives the datagrams after the first. For each that the reader receives itself, it needs several times the processor time. */
  #receiveMore(reader: Socket, raw: DatagramSocket, batch: DatagramBatch): void {
    const { interface: networkInterface, multihop } = this.kind;
    this.#gathering.wait(this.#events.timeToSpare());
    const count = batch.receive(raw.fd);
    // A packet may end the last session of this receiver, which closes it.
    for (let i = 0; i < count && this.#reader === reader; i++) {
      this.#events.received(batch.payload(i), batch.source(i), networkInterface, multihop);
    }
    this.#gathering.ended();
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
      return 'this kernel does not support the IP version of the peer';
    default:
      return error.message;
  }
}
