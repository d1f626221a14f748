import { int32, SOCK_CLOEXEC, SOCK_NONBLOCK, SOL_SOCKET } from '../../../system/ffi/inet-socket.ts';
import { systemError, type Libc } from '../../../system/ffi/libc.ts';
import { attachFilter } from '../../../system/ffi/socket-filter.ts';
import { receiveBufferBytes } from '../../limits.ts';
import { socketFilter } from '../../wire/filter.ts';

const AF_PACKET = 17;
const SOCK_RAW = 3;
const SOL_PACKET = 263;
const PACKET_ADD_MEMBERSHIP = 1;
const PACKET_MR_PROMISC = 1;
const SO_RCVBUF = 8;
const SO_RCVBUFFORCE = 33;
const SO_MEMINFO = 55;
/** Index of the drop counter in SO_MEMINFO, an array of 4-octet numbers. */
const dropsPlace = 8;
const MSG_DONTWAIT = 0x40;

/**
 * A packet socket (packet(7)) for one protocol on one interface. The filter is attached before the protocol is bound, so no other frame ever
 * waits in it. A socket for one protocol sees neither our own frames nor those of VLANs above the interface.
 */
export class PacketSocket {
  readonly fd: number;
  readonly #libc: Libc;

  /** Throws an error with the system's code. */
  constructor(libc: Libc, index: number, protocol: number, promiscuous: boolean) {
    this.#libc = libc;
    this.fd = libc.socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (this.fd < 0) throw systemError(libc, 'opening a packet socket');
    try {
      if (!attachFilter(libc, this.fd, socketFilter)) throw systemError(libc, 'filtering ARP and NDP');
      this.#setReceiveBuffer();
      if (promiscuous) this.#join(index);
      const where = linkAddress(index, protocol);
      if (libc.bind(this.fd, where, where.length) < 0) throw systemError(libc, 'binding to the interface');
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Returns undefined if the frame was sent, or the system's code of the error. */
  send(octets: Uint8Array): string | undefined {
    if (this.#libc.send(this.fd, octets, octets.length, MSG_DONTWAIT) >= 0) return undefined;
    return systemError(this.#libc, 'sending').code ?? 'UNKNOWN';
  }

  /** Reads the next frame into the buffer. Returns its length; 0 or less when there is none. */
  receive(buffer: Uint8Array): number {
    return this.#libc.recv(this.fd, buffer, buffer.length, MSG_DONTWAIT);
  }

  /** Returns the number of frames dropped because the buffer was full. */
  drops(): number {
    const numbers = Buffer.alloc(36);
    if (this.#libc.getsockopt(this.fd, SOL_SOCKET, SO_MEMINFO, numbers, Uint32Array.of(numbers.length)) < 0) return 0;
    return numbers.readUInt32LE(4 * dropsPlace);
  }

  close(): void {
    this.#libc.close(this.fd);
  }

  /** Beyond the system's limit if that is permitted (CAP_NET_ADMIN). */
  #setReceiveBuffer(): void {
    const bytes = int32(receiveBufferBytes);
    if (this.#libc.setsockopt(this.fd, SOL_SOCKET, SO_RCVBUFFORCE, bytes, bytes.length) === 0) return;
    this.#libc.setsockopt(this.fd, SOL_SOCKET, SO_RCVBUF, bytes, bytes.length);
  }

  #join(index: number): void {
    // struct packet_mreq
    const request = Buffer.alloc(16);
    request.writeInt32LE(index);
    request.writeUInt16LE(PACKET_MR_PROMISC, 4);
    if (this.#libc.setsockopt(this.fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, request, request.length) < 0) {
      throw systemError(this.#libc, 'receiving all frames of the interface');
    }
  }
}

/** Encodes struct sockaddr_ll. */
function linkAddress(index: number, protocol: number): Uint8Array {
  const bytes = Buffer.alloc(20);
  bytes.writeUInt16LE(AF_PACKET);
  bytes.writeUInt16BE(protocol, 2);
  bytes.writeInt32LE(index, 4);
  return bytes;
}
