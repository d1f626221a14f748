import assert from 'node:assert';
import type { Prefix } from '../../../net/prefix.ts';
import { maximumPassword } from '../../limits.ts';
import { IPPROTO_TCP, socketAddress } from '../../transport/linux/socket.ts';
import type { KeySocket, TcpAoKey } from '../../transport/transport.ts';

// include/uapi/linux/tcp.h, from Linux 6.7 on.
const TCP_AO_ADD_KEY = 38;
const TCP_AO_DEL_KEY = 39;
const TCP_AO_INFO = 40;
/** Bits of the first octet of flags: the connection goes on with this key, or asks the peer to use it. */
const setNext = 0b10;
const setCurrentAndNext = 0b11;

/**
 * Makes the socket sign segments to these addresses and require signed segments from them (RFC 5925). `first`: the socket will connect, and
 * begins with this key; a listening socket has no such key.
 */
export function addTcpAoKey(socket: KeySocket, prefix: Prefix, key: TcpAoKey, first = false): void {
  setOption(socket, TCP_AO_ADD_KEY, encodeAddKey(prefix, key, first));
}

/** The keys that take the place of one that is removed while a connection uses it: to sign with, and to ask the peer for. */
interface Successors {
  readonly current: TcpAoKey;
  readonly next: TcpAoKey;
}

/**
 * Removes a key. The present connections of a listening socket keep theirs. A connection that uses the key goes on with its successors, or,
 * without them, keeps it: the kernel refuses.
 */
export function removeTcpAoKey(socket: KeySocket, prefix: Prefix, key: TcpAoKey, successors?: Successors): void {
  try {
    setOption(socket, TCP_AO_DEL_KEY, encodeDeleteKey(prefix, key));
  } catch (error) {
    if (successors === undefined || (error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    setOption(socket, TCP_AO_DEL_KEY, encodeDeleteKey(prefix, key, successors));
  }
}

/** Asks the peer of a connection to sign with this key from now on (RNextKeyID, RFC 5925 2.2). A peer without the key goes on as before. */
export function requestTcpAoKey(socket: KeySocket, key: TcpAoKey): void {
  setOption(socket, TCP_AO_INFO, encodeInfo(key));
}

/**
 * Encodes struct tcp_ao_add: address (128 octets), algorithm (64), interface of a VRF (4), flags (4), reserved (2), prefix length (1), send
 * ID (1), receive ID (1), length of the MAC (1; 0 means 96 bits, RFC 5926 3.2), flags of the key (1), key length (1), key (80).
 * Interface 0 without its flag means any.
 */
export function encodeAddKey({ address, length }: Prefix, { sendId, receiveId, secret, algorithm }: TcpAoKey, first: boolean): Uint8Array {
  const key = Buffer.from(secret, 'utf8');
  assert(key.length > 0 && key.length <= maximumPassword, 'the secret was checked before');
  const bytes = Buffer.alloc(288);
  bytes.set(socketAddress(address.family, address, 0));
  bytes.write(algorithm, 128, 'latin1');
  if (first) bytes.writeUInt32LE(setCurrentAndNext, 196);
  bytes.writeUInt8(length, 202);
  bytes.writeUInt8(sendId, 203);
  bytes.writeUInt8(receiveId, 204);
  bytes.writeUInt8(key.length, 207);
  bytes.set(key, 208);
  return bytes;
}

/**
 * Encodes struct tcp_ao_del: address (128 octets), interface (4), flags (4), reserved (2), prefix length (1), send ID (1), receive ID (1),
 * current key (1), next key (1), flags of the key (1).
 */
export function encodeDeleteKey({ address, length }: Prefix, { sendId, receiveId }: TcpAoKey, successors?: Successors): Uint8Array {
  const bytes = Buffer.alloc(144);
  bytes.set(socketAddress(address.family, address, 0));
  if (successors !== undefined) {
    bytes.writeUInt32LE(setCurrentAndNext, 132);
    bytes.writeUInt8(successors.current.sendId, 141);
    bytes.writeUInt8(successors.next.receiveId, 142);
  }
  bytes.writeUInt8(length, 138);
  bytes.writeUInt8(sendId, 139);
  bytes.writeUInt8(receiveId, 140);
  return bytes;
}

/** Encodes struct tcp_ao_info_opt: flags (4 octets), reserved (2), send ID of the current key (1), receive ID of the next (1), counters (40). */
export function encodeInfo({ receiveId }: TcpAoKey): Uint8Array {
  const bytes = Buffer.alloc(48);
  bytes.writeUInt32LE(setNext, 0);
  bytes.writeUInt8(receiveId, 7);
  return bytes;
}

function setOption(socket: KeySocket, name: number, value: Uint8Array): void {
  try {
    socket.setSocketOption(IPPROTO_TCP, name, value, 'setting a TCP-AO key');
  } catch (error) {
    throw explained(error as NodeJS.ErrnoException);
  }
}

function explained(error: NodeJS.ErrnoException): NodeJS.ErrnoException {
  const words = {
    ENOPROTOOPT: 'this kernel has no TCP-AO: use Linux 6.7 or later with CONFIG_TCP_AO, or a TCP MD5 password instead',
    ENOENT: 'this kernel lacks the algorithm of a TCP-AO key: load its module, or choose the other algorithm',
    ENOMEM: 'the kernel has no room for another TCP-AO key on this socket: raise net.core.optmem_max',
  }[error.code ?? ''];
  return words === undefined ? error : Object.assign(new Error(words), { code: error.code });
}
