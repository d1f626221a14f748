import { NetlinkError } from '../../src/system/netlink/error.ts';
import { openNetlink, type NetlinkOptions, type NetlinkSocket } from '../../src/system/netlink/socket.ts';

/**
 * A fault of one request. `message` is the index of a message in a transaction, counted from "begin" (0); a higher index means the last
 * one.
 */
export type Fault =
  /** The kernel refuses this message, and with it the transaction. */
  | { readonly kind: 'refused'; readonly message: number; readonly errno: Errno }
  /** The kernel refuses every message that contains these octets of a frontend. */
  | { readonly kind: 'refused with'; readonly frontend: string; readonly octets: string; readonly errno: Errno }
  /** The kernel commits, but the reply is lost. */
  | { readonly kind: 'reply lost' }
  /** The same, because the socket's buffer is full. */
  | { readonly kind: 'buffer full' }
  /** The request does not reach the kernel. */
  | { readonly kind: 'not sent'; readonly errno: Errno }
  /** A list is refused. */
  | { readonly kind: 'list refused'; readonly errno: Errno };

export const errnos = { EINTR: 4, ENOMEM: 12, EBUSY: 16, EINVAL: 22, ENOSPC: 28, ENOBUFS: 105 } as const;
export type Errno = keyof typeof errnos;

/** Injects faults into the sockets that `open` opens. */
export class Faults {
  #next: () => Fault | 'none' = () => 'none';
  #waiting: Fault | 'none' | undefined;
  /** The faults injected so far. */
  readonly happened: Fault[] = [];

  /** Sets the source of faults. It is called for the next fault once the previous one was injected into a matching request. */
  setFaultSource(next: () => Fault | 'none'): void {
    this.#next = next;
    this.#waiting = undefined;
  }

  /** Returns the next fault for a transport without messages. */
  nextCommandFault(): 'refused' | 'reply lost' | 'none' {
    const fault = this.#next();
    if (fault === 'none' || fault.kind === 'list refused' || fault.kind === 'refused with') return 'none';
    return fault.kind === 'reply lost' || fault.kind === 'buffer full' ? 'reply lost' : 'refused';
  }

  readonly open = (options: NetlinkOptions): NetlinkSocket | undefined => {
    const socket = openNetlink(options);
    return socket === undefined ? undefined : new FaultySocket(socket, (datagram) => this.#take(Buffer.from(datagram)));
  };

  #take(datagram: Buffer): Fault | undefined {
    const fault = (this.#waiting ??= this.#next());
    if (fault === 'none') this.#waiting = undefined;
    if (fault === 'none' || !fits(fault, datagram)) return undefined;
    this.#waiting = undefined;
    this.happened.push(fault);
    return fault;
  }
}

const batchBegin = 0x10;
const delTable = (10 << 8) | 2;
const errorType = 2;

function fits(fault: Fault, datagram: Buffer): boolean {
  const isTransaction = datagram.readUInt16LE(4) === batchBegin;
  if (fault.kind === 'refused with') return isTransaction && messagesIn(datagram).some((message) => names(message, fault.octets));
  return (fault.kind === 'list refused') !== isTransaction;
}

class FaultySocket implements NetlinkSocket {
  readonly #socket: NetlinkSocket;
  readonly #faultOf: (datagram: Uint8Array) => Fault | undefined;
  #fault: Fault | undefined;

  constructor(socket: NetlinkSocket, faultOf: (datagram: Uint8Array) => Fault | undefined) {
    this.#socket = socket;
    this.#faultOf = faultOf;
  }

  get fd(): number {
    return this.#socket.fd;
  }

  get port(): number {
    return this.#socket.port;
  }

  async send(datagram: Uint8Array, isBrief?: boolean): Promise<void> {
    this.#fault = this.#faultOf(datagram);
    switch (this.#fault?.kind) {
      case 'refused':
      case 'refused with':
        return await this.#socket.send(poisoned(Buffer.from(datagram), this.#fault));
      case 'not sent':
        throw new NetlinkError('sending to the kernel', errnos[this.#fault.errno]);
      case 'list refused':
        return;
      case 'reply lost':
      case 'buffer full':
      case undefined:
        return await this.#socket.send(datagram, isBrief);
    }
  }

  async receiveInThread(): Promise<Uint8Array | undefined> {
    return this.receive();
  }

  receive(): Uint8Array | undefined {
    const fault = this.#fault;
    switch (fault?.kind) {
      case 'reply lost':
      case 'buffer full':
        while (this.#socket.receive() !== undefined);
        this.#fault = undefined;
        if (fault.kind === 'buffer full') throw new NetlinkError('receiving from the kernel', errnos.ENOBUFS);
        return undefined;
      case 'list refused':
        this.#fault = undefined;
        throw new NetlinkError('receiving from the kernel', errnos[fault.errno]);
      case 'refused':
      case 'refused with':
        return withErrno(this.#socket.receive(), errnos[fault.errno]);
      case 'not sent':
      case undefined:
        return this.#socket.receive();
    }
  }

  setMembership(group: number, listening: boolean): boolean {
    return this.#socket.setMembership(group, listening);
  }

  close(): void {
    this.#socket.close();
  }
}

/**
 * Returns the transaction with an additional message that requests something impossible, under the sequence number of the faulty message.
 * So the kernel itself refuses and rolls back the transaction.
 */
function poisoned(datagram: Buffer, fault: Fault & { readonly kind: 'refused' | 'refused with' }): Buffer {
  const messages = messagesIn(datagram);
  const inside = messages.slice(0, -1);
  const named = fault.kind === 'refused' ? fault.message : messages.findIndex((message) => names(message, fault.octets));
  const at = Math.min(named, inside.length - 1);
  const impossible = Buffer.alloc(36);
  impossible.writeUInt32LE(impossible.length, 0);
  impossible.writeUInt16LE(delTable, 4);
  impossible.writeUInt16LE(1, 6);
  impossible.writeUInt32LE(messages[at]?.readUInt32LE(8) ?? 0, 8);
  impossible.writeUInt8(2, 16);
  impossible.writeUInt16LE(15, 20);
  impossible.writeUInt16LE(1, 22);
  impossible.write('no such tab', 24, 'latin1');
  const [begin = Buffer.alloc(0), ...others] = messages;
  // No message may come before "begin".
  if (at === 0) return Buffer.concat([begin, impossible, ...others]);
  return Buffer.concat([...messages.slice(0, at), impossible, ...messages.slice(at)]);
}

const names = (message: Buffer, octets: string): boolean => message.includes(Buffer.from(octets, 'hex'));

function messagesIn(datagram: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < datagram.length;) {
    const length = (datagram.readUInt32LE(at) + 3) & ~3;
    messages.push(datagram.subarray(at, at + length));
    at += length;
  }
  return messages;
}

/** Replaces the error number in every refusal of the datagram. */
function withErrno(datagram: Uint8Array | undefined, errno: number): Uint8Array | undefined {
  if (datagram === undefined) return undefined;
  const copy = Buffer.from(datagram);
  for (const message of messagesIn(copy))
    if (message.readUInt16LE(4) === errorType && message.readInt32LE(16) < 0) message.writeInt32LE(-errno, 16);
  return copy;
}
