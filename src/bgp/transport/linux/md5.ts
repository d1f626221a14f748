import assert from 'node:assert';
import type { Prefix } from '../../../net/prefix.ts';
import { maximumPassword } from '../../limits.ts';
import { socketAddress, IPPROTO_TCP, type RawSocket } from './socket.ts';

const TCP_MD5SIG_EXT = 32;
const TCP_MD5SIG_FLAG_PREFIX = 1;

/** Returns why the text cannot be a key, without quoting it. Undefined: it can. */
export function passwordProblem(password: string): string | undefined {
  if (password === '') return 'the TCP MD5 password is empty';
  if (Buffer.byteLength(password) > maximumPassword) return 'the TCP MD5 password is longer than Linux takes';
  return undefined;
}

/**
 * Makes the socket sign segments to these addresses and require signed segments from them (RFC 2385). Undefined removes the key. The kernel
 * keeps one key per prefix for all interfaces: it accepts an interface index only for a VRF.
 */
export function setSignatureKey(socket: RawSocket, prefix: Prefix, password: string | undefined): void {
  try {
    socket.setSocketOption(IPPROTO_TCP, TCP_MD5SIG_EXT, md5Signature(prefix, password), 'setting the TCP MD5 password');
  } catch (error) {
    throw explained(error as NodeJS.ErrnoException);
  }
}

/** Encodes struct tcp_md5sig: address (128 octets), flags, prefix length, key length (2), interface (4), key (80). */
function md5Signature({ address, length }: Prefix, password: string | undefined): Uint8Array {
  const key = Buffer.from(password ?? '', 'utf8');
  assert(key.length <= maximumPassword && password !== '', 'the password was checked before');
  const bytes = Buffer.alloc(216);
  bytes.set(socketAddress(address.family, address, 0));
  bytes.writeUInt8(TCP_MD5SIG_FLAG_PREFIX, 128);
  bytes.writeUInt8(length, 129);
  bytes.writeUInt16LE(key.length, 130);
  bytes.set(key, 136);
  return bytes;
}

function explained(error: NodeJS.ErrnoException): NodeJS.ErrnoException {
  const words = {
    ENOPROTOOPT: 'this kernel has no TCP MD5 signatures (CONFIG_TCP_MD5SIG)',
    ENOMEM: 'the kernel has no room for another TCP MD5 password on this socket: raise net.core.optmem_max',
  }[error.code ?? ''];
  return words === undefined ? error : Object.assign(new Error(words), { code: error.code });
}
