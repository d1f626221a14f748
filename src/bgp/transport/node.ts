import { Socket, type TcpSocketConnectOpts } from 'node:net';
import { formatAddress, parseAddress, type Address } from '../../net/address.ts';
import type { TransportFailure } from '../problem.ts';
import type { Connection, ConnectionEvents, Transport } from './transport.ts';

/** Plain sockets of Node: everything but socket options. The TTL stays the system's, which reaches every peer that a smaller one reaches. */
export const nodeTransport: Transport = {
  cannot: ({ password }) =>
    password === undefined ? undefined : 'a TCP MD5 password needs Linux and the native module koffi, which could not be loaded',
  dial(options, events) {
    const where: TcpSocketConnectOpts = { host: formatAddress(options.address), port: options.port };
    if (options.sourceAddress !== undefined) where.localAddress = formatAddress(options.sourceAddress);
    return connectSocket(new Socket(), where, events);
  },
  listen(_, events) {
    setImmediate(() => events.failed({ kind: 'unsupported', detail: 'this transport does not listen' }));
    return { setKeys: () => new Map(), close: () => {} };
  },
  kernelDrops: () => undefined,
  discover(_, events) {
    setImmediate(() => events.failed({ kind: 'unsupported', detail: 'router advertisements need Linux and the native module koffi' }));
    return { close: () => {} };
  },
};

/** Connects a socket and translates its events. */
export function connectSocket(socket: Socket, where: TcpSocketConnectOpts, events: ConnectionEvents): Connection {
  let failure: TransportFailure | undefined;
  socket.setNoDelay(true);
  socket.on('connect', () => events.connected(localAddressOf(socket)));
  socket.on('data', (chunk) => events.data(chunk));
  socket.on('drain', () => events.drain());
  socket.on('error', (error: NodeJS.ErrnoException) => {
    failure = failureOf(error);
  });
  socket.on('close', () => events.closed(failure));
  socket.connect(where);
  return {
    write: (bytes) => {
      if (!socket.writable) return true;
      socket.write(bytes);
      return !socket.writableNeedDrain;
    },
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
  };
}

/** A connection that fails before it begins, reported later as every event is. */
export function failedConnection(failure: TransportFailure, events: ConnectionEvents): Connection {
  let open = true;
  const close = (what: TransportFailure | undefined): void => {
    if (open) events.closed(what);
    open = false;
  };
  setImmediate(() => close(failure));
  return { write: () => true, end: () => {}, destroy: () => void setImmediate(() => close(undefined)) };
}

const failureKinds: Readonly<Record<string, TransportFailure['kind']>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ETIMEDOUT: 'timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
};

const failureDetails: Readonly<Record<string, string>> = {
  EHOSTUNREACH: 'no route to host, or it does not answer ARP or neighbour discovery',
  ENETUNREACH: 'no route to its network',
  ECONNRESET: 'reset by the peer',
  ETIMEDOUT: 'the peer no longer acknowledges data',
  EADDRNOTAVAIL: 'the source address is not configured on this host',
  EACCES: 'the operating system forbids it',
};

export function failureOf(error: NodeJS.ErrnoException): TransportFailure {
  const code = error.code ?? '';
  return { kind: failureKinds[code] ?? 'other', detail: failureDetails[code] ?? error.message };
}

function localAddressOf(socket: Socket): Address | undefined {
  const address = parseAddress((socket.localAddress ?? '').replace(/%.*$/, ''));
  return address.ok ? address.value : undefined;
}
