import { createServer, Socket, type TcpSocketConnectOpts } from 'node:net';
import { formatAddress, isLinkLocal } from '../../net/address.ts';
import { acceptSocket, connectSocket, failedConnection, readSocketAddress } from './connection.ts';
import { listenFailureOf } from './failure.ts';
import { connectHost, linkLocalProblem } from './link-local.ts';
import type { DialOptions, Incoming, Listener, ListenerEvents, ListenOptions, SocketOptions, Transport } from './transport.ts';

const needs = 'needs Linux and the native module koffi, which could not be loaded';

/**
 * Plain sockets of Node: everything but socket options. The TTL stays the system's, which reaches every peer that a smaller one
 * reaches, and so does the time after which unacknowledged data is given up.
 */
export const nodeTransport: Transport = {
  cannot,
  dial(options, events) {
    const problem = cannot(options);
    if (problem !== undefined) return failedConnection({ kind: 'unsupported', detail: problem }, events);
    const where: TcpSocketConnectOpts = { host: connectHost(options), port: options.port };
    if (options.sourceAddress !== undefined) where.localAddress = formatAddress(options.sourceAddress);
    return connectSocket(new Socket(), where, events);
  },
  listen,
  kernelDrops: () => undefined,
  discover(_, events) {
    setImmediate(() => events.failed({ kind: 'unsupported', detail: `sending router advertisements ${needs}` }));
    return { close: () => {} };
  },
};

function cannot(options: DialOptions): string | undefined {
  const { address, interface: networkInterface, password, minimumTtl } = options;
  if (password !== undefined) return `a TCP MD5 password ${needs}`;
  if (minimumTtl !== undefined) return `TTL security ${needs}`;
  if (networkInterface !== undefined && !isLinkLocal(address)) return `binding a connection to a network interface ${needs}`;
  return linkLocalProblem(options);
}

function listen({ address, port }: ListenOptions, events: ListenerEvents): Listener {
  let closed = false;
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    if (closed) socket.destroy();
    else receive(socket, events);
  });
  server.on('error', (error) => {
    if (closed) return;
    closed = true;
    events.failed(listenFailureOf(error, address === undefined ? 'all addresses' : formatAddress(address), port));
  });
  server.listen({ port, ...(address === undefined ? {} : { host: formatAddress(address) }) }, () => {
    const at = server.address();
    if (!closed) events.listening(typeof at === 'object' && at !== null ? at.port : port);
  });
  return {
    setKeys: (keys) => new Map(keys.map((_, index) => [index, `a TCP MD5 password ${needs}`])),
    close: () => {
      if (!closed) server.close();
      closed = true;
    },
  };
}

function receive(socket: Socket, events: ListenerEvents): void {
  const remote = readSocketAddress(socket.remoteAddress ?? '');
  if (remote === undefined) {
    socket.destroy(); // It is gone already.
    return;
  }
  socket.on('error', () => {}); // Whoever accepts it hears of errors; a rejected one has nobody to tell.
  let answered = false;
  const incoming: Incoming = {
    remoteAddress: remote.address,
    ...(remote.zone === undefined ? {} : { interface: remote.zone }),
    accept: ({ minimumTtl }: SocketOptions, connectionEvents) => {
      answered = true;
      if (minimumTtl === undefined) return acceptSocket(socket, connectionEvents);
      socket.destroy();
      return failedConnection({ kind: 'unsupported', detail: `TTL security ${needs}` }, connectionEvents);
    },
    reject: () => {
      answered = true;
      socket.resetAndDestroy();
    },
  };
  events.connection(incoming);
  if (!answered) incoming.reject();
}
