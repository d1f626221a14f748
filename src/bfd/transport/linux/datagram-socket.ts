import type { Family } from '../../../net/address.ts';
import { AF_INET, AF_INET6, InetSocket, SOCK_CLOEXEC, SOCK_NONBLOCK, SOL_SOCKET } from '../../../system/ffi/inet-socket.ts';
import { systemError, type Libc } from '../../../system/ffi/libc.ts';
import { attachFilter, type FilterInstruction } from '../../../system/ffi/socket-filter.ts';

const SOCK_DGRAM = 2;
const SO_RCVBUF = 8;
const SO_RCVBUFFORCE = 33;
const SO_MEMINFO = 55;
/** Index of the drop counter in SO_MEMINFO, an array of 4-octet numbers. */
const dropsPlace = 8;

/** A UDP socket. Every method throws an error with the system's code. */
export class DatagramSocket extends InetSocket {
  readonly #libc: Libc;

  private constructor(libc: Libc, fd: number, family: Family) {
    super(libc, fd, family);
    this.#libc = libc;
  }

  static open(libc: Libc, family: Family): DatagramSocket {
    const fd = libc.socket(family === 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) throw systemError(libc, 'socket');
    return new DatagramSocket(libc, fd, family);
  }

  filter(instructions: readonly FilterInstruction[]): void {
    if (!attachFilter(this.#libc, this.fd, instructions)) throw systemError(this.#libc, 'filtering by TTL');
  }

  /** Sets the receive buffer, beyond the system's limit if that is permitted (CAP_NET_ADMIN). */
  setReceiveBuffer(bytes: number): void {
    try {
      this.setSocketOption(SOL_SOCKET, SO_RCVBUFFORCE, bytes, 'setting the receive buffer');
    } catch {
      this.setSocketOption(SOL_SOCKET, SO_RCVBUF, bytes, 'setting the receive buffer');
    }
  }

  /** Returns the number of datagrams dropped by the filter or a full buffer. */
  drops(): number {
    const numbers = Buffer.alloc(36);
    if (this.#libc.getsockopt(this.fd, SOL_SOCKET, SO_MEMINFO, numbers, Uint32Array.of(numbers.length)) < 0) return 0;
    return numbers.readUInt32LE(4 * dropsPlace);
  }
}
