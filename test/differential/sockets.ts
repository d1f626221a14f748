import { addressFromBytes, address, formatAddress, type Family } from '../../src/net/address.ts';
import { socketAddress } from '../../src/bgp/transport/linux/socket.ts';
import { RawSocket } from '../../src/bgp/transport/linux/socket.ts';
import { int32 } from '../../src/system/ffi/inet-socket.ts';
import { loadLibc, systemError, type Libc } from '../../src/system/ffi/libc.ts';
import { inNetworkNamespace } from '../kube-fixture/network-namespace.ts';

const AF_INET = 2;
const AF_INET6 = 10;
const AF_PACKET = 17;
const SOCK_RAW = 3;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_RCVBUFFORCE = 33;
const IPPROTO_IPV6 = 41;
const IPPROTO_RAW = 255;
const IPV6_RECVPKTINFO = 49;
const IPV6_PKTINFO = 50;
const MSG_DONTWAIT = 0x40;
const ETH_P_ALL = 3;
const ETH_P = { 4: 0x0800, 6: 0x86dd } as const;
const receiveBytes = 64 << 20;
const longest = 2_048;

function libc(): Libc {
  const loaded = loadLibc();
  if (loaded === undefined) throw new Error('koffi has no binary for this machine');
  return loaded;
}

function open(namespace: string, domain: number, protocol: number, family: Family = 4): RawSocket {
  const fd = inNetworkNamespace(namespace, () => libc().socket(domain, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
  if (fd < 0) throw systemError(libc(), 'socket');
  const socket = new RawSocket(libc(), fd, family);
  socket.setSocketOption(SOL_SOCKET, SO_RCVBUFFORCE, receiveBytes, 'enlarging the receive buffer');
  return socket;
}

/** One end of a wire. Sends whole packets out of an interface, and receives those that come in. */
export class Wire {
  readonly #socket: RawSocket;
  readonly #own: Buffer;
  readonly #headers: Readonly<Record<Family, Buffer>>;
  readonly #memory = Buffer.alloc(longest);

  /** Hardware addresses of this end and of the other, "02:00:00:00:00:01". */
  constructor(namespace: string, networkInterface: string, own: string, other: string) {
    const [from, to] = [own, other].map((text) => Buffer.from(text.replaceAll(':', ''), 'hex')) as [Buffer, Buffer];
    this.#own = from;
    const header = (family: Family): Buffer => Buffer.concat([to, from, Buffer.of(ETH_P[family] >> 8, ETH_P[family] & 255)]);
    this.#headers = { 4: header(4), 6: header(6) };
    this.#socket = open(namespace, AF_PACKET, 0);
    // struct sockaddr_ll: family, protocol in network byte order, interface index. The socket receives packets from here on.
    const link = Buffer.alloc(20);
    link.writeUInt16LE(AF_PACKET, 0);
    link.writeUInt16BE(ETH_P_ALL, 2);
    link.writeInt32LE(
      inNetworkNamespace(namespace, () => libc().interfaceIndex(networkInterface)),
      4,
    );
    if (libc().bind(this.#socket.fd, link, link.length) < 0) throw systemError(libc(), `binding to ${networkInterface}`);
  }

  send(packet: Buffer, family: Family): void {
    const frame = Buffer.concat([this.#headers[family], packet]);
    if (libc().send(this.#socket.fd, frame, frame.length, 0) < 0) throw systemError(libc(), 'sending a frame');
  }

  /** Returns the next received packet. Undefined: there is none. */
  receive(): Buffer | undefined {
    for (;;) {
      const length = libc().recv(this.#socket.fd, this.#memory, longest, MSG_DONTWAIT);
      if (length < 0) return undefined;
      // Packets that this end sent are received too, and skipped.
      if (length > 14 && !this.#memory.subarray(6, 12).equals(this.#own))
        return Buffer.from(this.#memory.subarray(14, Math.min(length, longest)));
    }
  }

  close(): void {
    this.#socket.close();
  }
}

/** Sends packets with their own headers from the machine itself, on the path of packets of its programs. */
export class LocalSender {
  readonly #sockets: Readonly<Record<Family, RawSocket>>;

  constructor(namespace: string) {
    this.#sockets = { 4: open(namespace, AF_INET, IPPROTO_RAW), 6: open(namespace, AF_INET6, IPPROTO_RAW, 6) };
  }

  /** A rule that drops or refuses the packet makes the call fail, without further information. */
  send(packet: Buffer, family: Family, destination: string): void {
    const to = socketAddress(family, address(destination), 0);
    libc().sendto(this.#sockets[family].fd, packet, packet.length, MSG_DONTWAIT, to, to.length);
  }

  close(): void {
    this.#sockets[4].close();
    this.#sockets[6].close();
  }
}

/** Receives the packets of one protocol for the machine itself, after translation, as its programs would. */
export class LocalReceiver {
  readonly #socket: RawSocket;
  readonly #protocol: number;
  // One block of memory for recvmsg: struct msghdr, struct iovec, source, control data, packet.
  readonly #memory: Buffer;

  constructor(namespace: string, family: Family, protocol: number) {
    this.#protocol = protocol;
    this.#socket = open(namespace, family === 4 ? AF_INET : AF_INET6, protocol, family);
    if (family === 6) this.#socket.setSocketOption(IPPROTO_IPV6, IPV6_RECVPKTINFO, int32(1), 'requesting the destination address');
    const buffer = new ArrayBuffer(dataAt + longest);
    const base = libc().addressOf(buffer);
    const memory = Buffer.from(buffer);
    memory.writeBigUInt64LE(base + BigInt(sourceAt), 0);
    memory.writeBigUInt64LE(base + BigInt(vectorAt), 16);
    memory.writeBigUInt64LE(1n, 24);
    memory.writeBigUInt64LE(base + BigInt(controlAt), 32);
    memory.writeBigUInt64LE(base + BigInt(dataAt), vectorAt);
    memory.writeBigUInt64LE(BigInt(longest), vectorAt + 8);
    this.#memory = memory;
  }

  /** Returns the next packet. Undefined: there is none. */
  receive(): ReceivedHere | undefined {
    const memory = this.#memory;
    memory.writeUInt32LE(controlAt - sourceAt, 8);
    memory.writeBigUInt64LE(BigInt(dataAt - controlAt), 40);
    const length = libc().recvmsg(this.#socket.fd, memory, MSG_DONTWAIT);
    if (length < 0) return undefined;
    const data = Buffer.from(memory.subarray(dataAt, dataAt + Math.min(length, longest)));
    // Linux gives raw sockets the IPv4 header but not the IPv6 header (raw(7), RFC 3542 3).
    if (this.#socket.family === 4) return { packet: data };
    const control = memory.subarray(controlAt, controlAt + Number(memory.readBigUInt64LE(40)));
    const informed = control.length >= 36 && control.readInt32LE(8) === IPPROTO_IPV6 && control.readInt32LE(12) === IPV6_PKTINFO;
    if (!informed) throw new Error('an IPv6 packet without a destination address');
    const text = (from: Buffer, at: number): string => formatAddress(addressFromBytes(from.subarray(at, at + 16)));
    return { protocol: this.#protocol, segment: data, source: text(memory, sourceAt + 8), destination: text(control, 16) };
  }

  close(): void {
    this.#socket.close();
  }
}

export type ReceivedHere =
  | { readonly packet: Buffer }
  | { readonly protocol: number; readonly segment: Buffer; readonly source: string; readonly destination: string };

const vectorAt = 56;
const sourceAt = 72;
const controlAt = 104;
const dataAt = 168;
