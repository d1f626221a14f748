import { maximumPassword, maximumTcpAoKeys } from '../limits.ts';
import type { TcpAoAlgorithm, TcpAoKey } from '../transport/transport.ts';
import { refuseUnknownOptions } from './known-options.ts';

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

/** Throws UnknownOptionError. */
export function refuseUnknownTcpAo(keys: readonly TcpAoKeyInput[]): void {
  for (const key of keys) refuseUnknownOptions<TcpAoKeyInput>('peer', key, { sendId: 0, receiveId: 0, secret: 0, algorithm: 0 }, 'tcpAo.');
}

/** Returns the keys with their defaults, or the first problem in words, which never contain a secret. */
export function resolveTcpAo(keys: readonly TcpAoKeyInput[]): readonly TcpAoKey[] | string {
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
  return withAlgorithms(keys);
}

/** Fills in the default algorithm. */
export function withAlgorithms(keys: readonly TcpAoKeyInput[]): TcpAoKey[] {
  return keys.map(({ sendId, receiveId, secret, algorithm = 'hmac(sha1)' }) => ({ sendId, receiveId, secret, algorithm }));
}

const isId = (id: number): boolean => Number.isInteger(id) && id >= 0 && id <= 255;
