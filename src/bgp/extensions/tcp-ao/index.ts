/** TCP-AO (RFC 5925): the keys of a peer or of a peer group, for the option `tcpAo`. */
import { maximumPassword, maximumTcpAoKeys } from '../../limits.ts';
import { refuseUnknownOptions } from '../../options/known-options.ts';
import { PeerOptionsError } from '../../options/peer-options.ts';
import type { TcpAo, TcpAoAlgorithm, TcpAoKey } from '../../transport/transport.ts';
import { tcpAoSockets } from './tcp-ao-sockets.ts';

export type { TcpAo, TcpAoAlgorithm, TcpAoKey } from '../../transport/transport.ts';

/** A key of TCP-AO (RFC 5925 3.1). The peer has the same key with the two IDs exchanged. */
export interface TcpAoKeyInput {
  /** 0 to 255. */
  readonly sendId: number;
  /** 0 to 255. */
  readonly receiveId: number;
  /** 1 to 80 octets of UTF-8. */
  readonly secret: string;
  /** Default `hmac(sha1)`. Both are those of RFC 5926. */
  readonly algorithm?: TcpAoAlgorithm;
}

const algorithms: { readonly [Name in TcpAoAlgorithm]: true } = { 'hmac(sha1)': true, 'cmac(aes128)': true };

/**
 * Returns the value of the option `tcpAo`; a session begins with the first key. Throws PeerOptionsError, whose message never contains a secret, and
 * UnknownOptionError.
 */
export function tcpAo(keys: readonly TcpAoKeyInput[]): TcpAo {
  for (const key of keys) refuseUnknownOptions<TcpAoKeyInput>('peer', key, { sendId: 0, receiveId: 0, secret: 0, algorithm: 0 }, 'tcpAo.');
  const problem = problemOf(keys);
  if (problem !== undefined) throw new PeerOptionsError('tcpAo', problem);
  return {
    keys: keys.map(({ sendId, receiveId, secret, algorithm = 'hmac(sha1)' }): TcpAoKey => ({ sendId, receiveId, secret, algorithm })),
    sockets: tcpAoSockets,
  };
}

/** Returns the first problem of the keys in words, which never contain a secret. */
function problemOf(keys: readonly TcpAoKeyInput[]): string | undefined {
  if (keys.length === 0 || keys.length > maximumTcpAoKeys) return `has from 1 to ${maximumTcpAoKeys} keys`;
  for (const { sendId, receiveId, secret, algorithm = 'hmac(sha1)' } of keys) {
    if (!isId(sendId) || !isId(receiveId)) return 'sendId and receiveId are numbers from 0 to 255';
    const octets = typeof secret === 'string' ? new TextEncoder().encode(secret).length : 0;
    if (octets < 1 || octets > maximumPassword) return `a secret has 1 to ${maximumPassword} octets`;
    if (!Object.hasOwn(algorithms, algorithm)) return `algorithm is one of ${Object.keys(algorithms).join(', ')}`;
  }
  const differ = (ids: readonly number[]): boolean => new Set(ids).size === ids.length;
  if (!differ(keys.map(({ sendId }) => sendId))) return 'two keys have the same sendId';
  if (!differ(keys.map(({ receiveId }) => receiveId))) return 'two keys have the same receiveId';
  return undefined;
}

const isId = (id: number): boolean => Number.isInteger(id) && id >= 0 && id <= 255;
