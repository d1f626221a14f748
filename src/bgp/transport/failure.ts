import type { TransportFailure } from './transport.ts';

/** Code of an error because a VRF does not exist on this host. */
export const noVrfCode = 'ERR_BGP_NO_VRF';

const kinds: Readonly<Record<string, TransportFailure['kind']>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ENETDOWN: 'unreachable',
  ETIMEDOUT: 'timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ENOPROTOOPT: 'unsupported',
  [noVrfCode]: 'noVrf',
};

const details: Readonly<Record<string, string>> = {
  EHOSTUNREACH: 'no route to host, or it does not answer ARP or neighbour discovery',
  ENETUNREACH: 'no route to its network',
  ENETDOWN: 'the network interface is down',
  ECONNRESET: 'reset by the peer',
  EPIPE: 'reset by the peer',
  ETIMEDOUT: 'the peer no longer acknowledges data, or does not read it',
  EADDRNOTAVAIL: 'the source address is not configured on this host',
  EACCES: 'the operating system forbids it',
  EPERM: 'the operating system forbids it, perhaps by a firewall rule of this host',
};

/** Classifies a failed connection and explains it to the operator. */
export function failureOf(error: NodeJS.ErrnoException): TransportFailure {
  const code = error.code ?? '';
  if (code === 'EADDRNOTAVAIL' && error.syscall === 'connect') {
    // Without a configured source address, this error means that the host has no address to connect from.
    return { kind: 'unreachable', detail: 'this host has no address of that IP version to connect from, or no free port' };
  }
  return { kind: kinds[code] ?? 'other', detail: details[code] ?? error.message };
}

/** Explains why a socket cannot listen, and how to fix it. */
export function listenFailureOf(error: NodeJS.ErrnoException, address: string, port: number): TransportFailure {
  switch (error.code ?? '') {
    case 'EADDRINUSE':
      return {
        kind: 'other',
        detail: `another program listens on port ${port} of ${address}: stop it, or give the option "listen" another address or port, or leave it out and only dial`,
      };
    case 'EACCES':
      return {
        kind: 'other',
        detail: `the operating system forbids listening on port ${port}: grant CAP_NET_BIND_SERVICE, or choose a port from 1024`,
      };
    case 'EADDRNOTAVAIL':
      return { kind: 'other', detail: `cannot listen on ${address}: the address is not configured on this host` };
    case 'EINVAL':
      return { kind: 'other', detail: `cannot listen on ${address}: if it is link-local, leave the address out and listen on all` };
    case 'EAFNOSUPPORT':
      return { kind: 'other', detail: `cannot listen on ${address}: this kernel does not support its IP version` };
    case noVrfCode:
      return { kind: 'noVrf', detail: error.message };
    default:
      return { kind: 'other', detail: `cannot listen on ${address} port ${port}: ${error.message}` };
  }
}
