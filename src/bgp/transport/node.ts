import { createServer, Socket, type TcpSocketConnectOpts } from 'node:net';
import { formatAddress, isLinkLocal } from '../../net/address.ts';
import { acceptSocket, connectSocket, failedConnection, offerSocket } from './socket-connection.ts';
import { listenFailureOf } from './failure.ts';
import { connectHost, linkLocalProblem } from './link-local.ts';
import type {
  Connection,
  ConnectionEvents,
  DialOptions,
  Listener,
  ListenerEvents,
  ListenOptions,
  SocketOptions,
  Transport,
} from './transport.ts';

const needs = 'needs Linux and the native module koffi, which could not be loaded';

/**
 * The transport with plain Node sockets: it has no socket options. The system's TTL stays, which reaches every peer that a smaller TTL
 * would reach. The system's timeout for unacknowledged data stays too.
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
  const { address, interface: networkInterface, password, tcpAo, minimumTtl, vrf } = options;
  if (vrf !== undefined) return `a connection in a VRF ${needs}`;
  if (password !== undefined) return `a TCP MD5 password ${needs}`;
  if (tcpAo !== undefined) return `TCP-AO ${needs}`;
  if (minimumTtl !== undefined) return `TTL security ${needs}`;
  if (networkInterface !== undefined && !isLinkLocal(address)) return `binding a connection to a network interface ${needs}`;
  return linkLocalProblem(options);
}

function listen({ address, port, vrf }: ListenOptions, events: ListenerEvents): Listener {
  let closed = false;
  if (vrf !== undefined) {
    setImmediate(() => {
      if (!closed) events.failed({ kind: 'unsupported', detail: `listening in the VRF ${vrf} ${needs}` });
    });
    return { setKeys: () => new Map(), close: () => void (closed = true) };
  }
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    if (closed) socket.destroy();
    else offerSocket(socket, accept, (incoming) => events.connection(incoming));
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
    setKeys: (keys) =>
      new Map(keys.map(({ tcpAo }, index) => [index, `${tcpAo === undefined ? 'a TCP MD5 password' : 'TCP-AO'} ${needs}`])),
    close: () => {
      if (!closed) server.close();
      closed = true;
    },
  };
}

function accept(socket: Socket, { minimumTtl }: SocketOptions, events: ConnectionEvents): Connection {
  if (minimumTtl === undefined) return acceptSocket(socket, events);
  socket.destroy();
  return failedConnection({ kind: 'unsupported', detail: `TTL security ${needs}` }, events);
}
