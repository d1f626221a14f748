import { ok as assert } from 'node:assert';
import { closeSync, openSync } from 'node:fs';
import { NetlinkError } from './error.ts';
import { SOCK_CLOEXEC, SOCK_NONBLOCK, SOL_SOCKET } from '../ffi/inet-socket.ts';
import { loadLibc, type Libc } from '../ffi/libc.ts';
import { attachFilter, acceptWholePacket, jumpIfEqual, loadOctet, returnVerdict, type FilterInstruction } from '../ffi/socket-filter.ts';
import { datagramBytes, receiveBufferBytes, sendBufferBytes } from './limits.ts';

// Constants of Linux, the same on x86-64 and arm64.
const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SO_SNDBUF = 7;
const SO_RCVBUF = 8;
const SO_SNDBUFFORCE = 32;
const SO_RCVBUFFORCE = 33;
const SOL_NETLINK = 270;
const NETLINK_ADD_MEMBERSHIP = 1;
const NETLINK_DROP_MEMBERSHIP = 2;
const NETLINK_CAP_ACK = 10;
const NETLINK_EXT_ACK = 11;
const NETLINK_GET_STRICT_CHK = 12;
const CLONE_NEWNET = 0x4000_0000;
const MSG_TRUNC = 0x20;
const MSG_DONTWAIT = 0x40;
const EAGAIN = 11;
const EMSGSIZE = 90;

export const netfilterProtocol = 12;
export const routeProtocol = 0;

/** A netlink socket. Failures throw, or reject with, a NetlinkError. */
export interface NetlinkSocket {
  /** The file descriptor, for threads that wait for datagrams by poll(2). */
  readonly fd: number;
  /** The socket's netlink port. Events carry the port of the socket that made the change. */
  readonly port: number;
  /**
   * Sends a datagram in another thread, because a transaction of many thousand elements takes long and may wait for another program's
   * transaction. When it resolves, the kernel has done the work and the answers can be received. Only one send at a time is allowed.
   * `isBrief`: the kernel never waits for this request, so it is sent in this thread. The answer of another thread would reach a busy event
   * loop late.
   */
  send(datagram: Uint8Array, isBrief?: boolean): Promise<void>;
  /**
   * Returns the next waiting datagram, or undefined when there is none; never blocks. Throws NetlinkError ENOBUFS when datagrams were lost.
   */
  receive(): Uint8Array | undefined;
  /**
   * The same in another thread, for a list whose next part takes the kernel long. The result is valid until the next call. Only one `send`
   * or `receiveInThread` at a time is allowed.
   */
  receiveInThread(): Promise<Uint8Array | undefined>;
  /** Joins or leaves a multicast group. Returns false when the kernel refuses. */
  setMembership(group: number, member: boolean): boolean;
  close(): void;
}

export interface NetlinkOptions {
  /** A protocol such as NETLINK_NETFILTER. */
  readonly protocol: number;
  /** Multicast groups whose events are received. */
  readonly groups?: readonly number[];
  /** Path of a network namespace, such as /run/netns/node1. Absent: the namespace of this process. */
  readonly networkNamespace?: string;
  /** Makes the kernel filter dumps by the fields of the request (rtnetlink). */
  readonly strict?: boolean;
  /** Drops datagrams that have another value at this octet. */
  readonly only?: { readonly offset: number; readonly value: number };
  /** Drops datagrams that this program does not accept. Not together with `only`. */
  readonly filter?: readonly FilterInstruction[];
  /** Size of the receive buffer in octets. Absent: the limit in limits.ts. */
  readonly receiveBytes?: number;
}

/** Opens a socket. Returns undefined when this machine has no FFI. Throws NetlinkError when the kernel refuses. */
export function openNetlink(options: NetlinkOptions): NetlinkSocket | undefined {
  const libc = loadLibc();
  if (libc === undefined) return undefined;
  const fd = inNamespace(libc, options.networkNamespace, () => {
    const opened = libc.socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, options.protocol);
    if (opened < 0) throw new NetlinkError('opening a netlink socket', libc.errno());
    return opened;
  });
  try {
    return new LinuxNetlinkSocket(libc, fd, options);
  } catch (error) {
    libc.close(fd);
    throw error;
  }
}

class LinuxNetlinkSocket implements NetlinkSocket {
  readonly port: number;
  readonly fd: number;
  readonly #libc: Libc;
  readonly #memory = Buffer.allocUnsafeSlow(datagramBytes);
  #sending: Promise<unknown> | undefined;
  #closed = false;

  constructor(libc: Libc, fd: number, options: NetlinkOptions) {
    const { groups = [], strict = false, only: octet, receiveBytes = receiveBufferBytes } = options;
    const filter = octet === undefined ? options.filter : only(octet.offset, octet.value);
    this.#libc = libc;
    this.fd = fd;
    this.#bufferSize(SO_SNDBUFFORCE, SO_SNDBUF, sendBufferBytes);
    this.#bufferSize(SO_RCVBUFFORCE, SO_RCVBUF, receiveBytes);
    this.#option(SOL_NETLINK, NETLINK_CAP_ACK, 1);
    this.#option(SOL_NETLINK, NETLINK_EXT_ACK, 1);
    if (strict) this.#option(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
    if (filter !== undefined && !attachFilter(libc, fd, filter)) throw new NetlinkError('filtering events', libc.errno());
    // struct sockaddr_nl. The kernel assigns the port.
    const address = Buffer.alloc(12);
    address.writeUInt16LE(AF_NETLINK);
    if (libc.bind(fd, address, address.length) < 0) throw new NetlinkError('binding a netlink socket', libc.errno());
    if (libc.getsockname(fd, address, Uint32Array.of(address.length)) < 0) throw new NetlinkError('getsockname', libc.errno());
    this.port = address.readUInt32LE(4);
    for (const group of groups) {
      if (!this.setMembership(group, true)) throw new NetlinkError('joining a netlink group', libc.errno());
    }
  }

  async send(datagram: Uint8Array, isBrief = false): Promise<void> {
    assert(!this.#closed && this.#sending === undefined);
    if (isBrief) {
      this.#sendHere(datagram);
      return;
    }
    const sending = this.#libc.sendInThread(this.fd, datagram, datagram.length, 0);
    this.#sending = sending;
    try {
      if ((await sending) >= 0) return;
    } finally {
      this.#sending = undefined;
      if (this.#closed) this.#libc.close(this.fd);
    }
    // The kernel refused the datagram before the subsystem saw it. Sending again in this thread gives the errno.
    assert(!this.#closed);
    this.#sendHere(datagram);
  }

  #sendHere(datagram: Uint8Array): void {
    if (this.#libc.send(this.fd, datagram, datagram.length, 0) < 0) throw new NetlinkError('sending to the kernel', this.#libc.errno());
  }

  receive(): Uint8Array | undefined {
    assert(!this.#closed);
    const length = this.#libc.recv(this.fd, this.#memory, this.#memory.length, MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0) {
      const errno = this.#libc.errno();
      if (errno === EAGAIN) return undefined;
      throw new NetlinkError('receiving from the kernel', errno);
    }
    if (length > this.#memory.length) throw new NetlinkError('a datagram does not fit', EMSGSIZE);
    return Uint8Array.prototype.slice.call(this.#memory, 0, length);
  }

  async receiveInThread(): Promise<Uint8Array | undefined> {
    assert(!this.#closed && this.#sending === undefined);
    const receiving = this.#libc.recvInThread(this.fd, this.#memory, this.#memory.length, MSG_DONTWAIT | MSG_TRUNC);
    this.#sending = receiving;
    let length: number;
    try {
      length = await receiving;
    } finally {
      this.#sending = undefined;
      if (this.#closed) this.#libc.close(this.fd);
    }
    if (this.#closed) return undefined;
    // Receiving again in this thread gives the errno.
    return length < 0 || length > this.#memory.length ? this.receive() : this.#memory.subarray(0, length);
  }

  setMembership(group: number, member: boolean): boolean {
    assert(!this.#closed);
    return this.#option(SOL_NETLINK, member ? NETLINK_ADD_MEMBERSHIP : NETLINK_DROP_MEMBERSHIP, group);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    // While a thread still uses the descriptor, `send` or `receiveInThread` closes it when that ends.
    if (this.#sending === undefined) this.#libc.close(this.fd);
  }

  /** Sets a buffer size, beyond the system's maximum when CAP_NET_ADMIN permits it, otherwise up to the maximum. */
  #bufferSize(force: number, name: number, bytes: number): void {
    if (!this.#option(SOL_SOCKET, force, bytes)) this.#option(SOL_SOCKET, name, bytes);
  }

  #option(level: number, name: number, value: number): boolean {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32LE(value);
    return this.#libc.setsockopt(this.fd, level, name, bytes, bytes.length) === 0;
  }
}

/** A filter program: load the octet, compare it, accept the whole packet or drop it. */
function only(offset: number, value: number): readonly FilterInstruction[] {
  return [
    [loadOctet, 0, 0, offset],
    [jumpIfEqual, 0, 1, value],
    [returnVerdict, 0, 0, acceptWholePacket],
    [returnVerdict, 0, 0, 0],
  ];
}

/**
 * Opens a socket in another namespace. A socket stays in the namespace in which it was opened, so this thread enters it and returns at
 * once.
 */
function inNamespace(libc: Libc, path: string | undefined, open: () => number): number {
  if (path === undefined) return open();
  const home = openSync('/proc/thread-self/ns/net', 'r');
  const there = openSync(path, 'r');
  try {
    if (libc.setns(there, CLONE_NEWNET) < 0) throw new NetlinkError(`entering ${path}`, libc.errno());
    try {
      return open();
    } finally {
      assert(libc.setns(home, CLONE_NEWNET) === 0, 'cannot return to the own network namespace');
    }
  } finally {
    closeSync(there);
    closeSync(home);
  }
}
