import type { Prefix } from '../../../net/prefix.ts';
import type { TcpAo } from '../transport.ts';
import { passwordProblem, setSignatureKey } from './md5.ts';
import type { RawSocket } from './socket.ts';

/** At most one of the two. */
interface Credentials {
  readonly password?: string | undefined;
  readonly tcpAo?: TcpAo | undefined;
}

/** Returns why the kernel cannot take the password or keys, without quoting them. Undefined: it can, or there are none. */
export function credentialsProblem({ password, tcpAo }: Credentials): string | undefined {
  if (tcpAo === undefined) return password === undefined ? undefined : passwordProblem(password);
  return password === undefined ? tcpAo.sockets.problem(tcpAo.keys) : 'a connection has a TCP MD5 password or TCP-AO keys, not both';
}

export const hasSameCredentials = (one: Credentials, other: Credentials): boolean =>
  one.password === other.password && JSON.stringify(one.tcpAo?.keys) === JSON.stringify(other.tcpAo?.keys);

/**
 * Replaces the password or keys that a listening socket has for a prefix; without `after` it has none then. If the kernel refuses a part, it
 * removes all and throws the error.
 */
export function replaceCredentials(socket: RawSocket, prefix: Prefix, before: Credentials = {}, after: Credentials = {}): void {
  try {
    if (before.password !== undefined && after.password === undefined) setSignatureKey(socket, prefix, undefined);
    const { sockets } = after.tcpAo ?? before.tcpAo ?? {};
    sockets?.replace(socket, prefix, before.tcpAo?.keys ?? [], after.tcpAo?.keys ?? []);
    if (after.password !== undefined) setSignatureKey(socket, prefix, after.password);
  } catch (error) {
    if (before.password !== undefined) removePassword(socket, prefix);
    throw error;
  }
}

function removePassword(socket: RawSocket, prefix: Prefix): void {
  try {
    setSignatureKey(socket, prefix, undefined);
  } catch {
    // The error that led here is the one to report.
  }
}
