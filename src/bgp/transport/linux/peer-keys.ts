import type { Prefix } from '../../../net/prefix.ts';
import type { TcpAoKey } from '../transport.ts';
import { passwordProblem, setSignatureKey } from './md5.ts';
import type { RawSocket } from './socket.ts';
import { addTcpAoKey, removeTcpAoKey, tcpAoProblem } from './tcp-ao.ts';

/** At most one of the two. */
interface Credentials {
  readonly password?: string | undefined;
  readonly tcpAo?: readonly TcpAoKey[] | undefined;
}

/** Returns why the kernel cannot take the password or keys, without quoting them. Undefined: it can, or there are none. */
export function credentialsProblem({ password, tcpAo }: Credentials): string | undefined {
  if (tcpAo === undefined) return password === undefined ? undefined : passwordProblem(password);
  return password === undefined ? tcpAoProblem(tcpAo) : 'a connection has a TCP MD5 password or TCP-AO keys, not both';
}

export const hasSameCredentials = (one: Credentials, other: Credentials): boolean =>
  one.password === other.password && JSON.stringify(one.tcpAo) === JSON.stringify(other.tcpAo);

/**
 * Replaces the password or keys that a listening socket has for a prefix; without `after` it has none then. If the kernel refuses a part, it
 * removes all and throws the error. New keys come before old ones go, as far as their IDs differ, so that the socket is not without keys.
 */
export function replaceCredentials(socket: RawSocket, prefix: Prefix, before: Credentials = {}, after: Credentials = {}): void {
  const [old, wanted] = [before.tcpAo ?? [], after.tcpAo ?? []];
  const added = wanted.filter((key) => !old.some((each) => isSameKey(each, key)));
  const gone = old.filter((key) => !wanted.some((each) => isSameKey(each, key)));
  const present = new Set(old);
  const remove = (key: TcpAoKey): void => {
    present.delete(key);
    removeTcpAoKey(socket, prefix, key);
  };
  try {
    if (before.password !== undefined && after.password === undefined) setSignatureKey(socket, prefix, undefined);
    for (const key of gone) if (added.some((other) => hasSameId(key, other))) remove(key);
    for (const key of added) {
      addTcpAoKey(socket, prefix, key);
      present.add(key);
    }
    for (const key of gone) if (present.has(key)) remove(key);
    if (after.password !== undefined) setSignatureKey(socket, prefix, after.password);
  } catch (error) {
    for (const key of present) attempt(() => removeTcpAoKey(socket, prefix, key));
    if (before.password !== undefined) attempt(() => setSignatureKey(socket, prefix, undefined));
    throw error;
  }
}

export const isSameKey = (a: TcpAoKey, b: TcpAoKey): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The kernel refuses a key with the send ID or the receive ID of another one. */
export const hasSameId = (a: TcpAoKey, b: TcpAoKey): boolean => a.sendId === b.sendId || a.receiveId === b.receiveId;

function attempt(action: () => void): void {
  try {
    action();
  } catch {
    // The error that led here is the one to report.
  }
}
