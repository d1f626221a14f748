import type { Socket, TcpSocketConnectOpts } from 'node:net';
import { defined } from '../../lang/defined.ts';
import { parseAddress, type Address } from '../../net/address.ts';
import { drainMilliseconds } from '../limits.ts';
import { failureOf } from './failure.ts';
import type { Connection, ConnectionEvents, Endpoints, Incoming, SocketOptions, TransportFailure } from './transport.ts';

/** Connects a socket and translates its events. */
export function connectSocket(socket: Socket, where: TcpSocketConnectOpts, events: ConnectionEvents): Connection {
  const connection = new SocketConnection(socket, events);
  socket.on('connect', () => events.connected(localAddressOf(socket)));
  socket.connect(where);
  return connection;
}

/** Takes a connection that somebody else opened. The socket has not been read from yet. */
export function acceptSocket(socket: Socket, events: ConnectionEvents): Connection {
  const connection = new SocketConnection(socket, events);
  setImmediate(() => {
    if (socket.destroyed) return;
    events.connected(localAddressOf(socket));
    socket.resume();
  });
  return connection;
}

/** How a transport takes a connection over, with the options that whoever wants it gives. */
type Accept = (socket: Socket, options: SocketOptions, events: ConnectionEvents) => Connection;

/** Somebody has connected: offers the connection, and ends it where nobody answers. */
export function offerSocket(socket: Socket, accept: Accept, offer: (incoming: Incoming) => void): void {
  const remote = readSocketAddress(socket.remoteAddress ?? '');
  if (remote === undefined) {
    socket.destroy(); // It is gone already.
    return;
  }
  socket.on('error', () => {}); // Whoever accepts it hears of errors; a rejected one has nobody to tell.
  let answered = false;
  const incoming: Incoming = {
    remoteAddress: remote.address,
    ...defined({ interface: remote.zone }),
    accept: (options, events) => {
      answered = true;
      return accept(socket, options, events);
    },
    reject: () => {
      answered = true;
      socket.resetAndDestroy();
    },
  };
  offer(incoming);
  if (!answered) incoming.reject();
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

/** Translates between a socket of Node and the contract of a connection. */
class SocketConnection implements Connection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  #failure: TransportFailure | undefined;
  #ended = false;
  /** Nothing more is reported. */
  #silent = false;

  constructor(socket: Socket, events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.setNoDelay(true);
    readBeforeFailing(socket);
    // A paused socket stays paused: `on('data')` alone makes only those flow that nobody has paused.
    socket.on('data', (chunk) => {
      if (!this.#silent) events.data(chunk);
    });
    socket.on('drain', () => {
      if (!this.#silent) events.drain();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure = failureOf(error);
    });
    // A peer that ended has gone, and a session must not wait until it has read what is still queued for it.
    socket.on('end', () => {
      if (!this.#ended) socket.destroy();
    });
    socket.on('close', () => this.#report(this.#failure));
  }

  write(bytes: Uint8Array): boolean {
    if (!this.#socket.writable) return true;
    this.#socket.write(bytes);
    return !this.#socket.writableNeedDrain;
  }

  end(): void {
    if (this.#socket.destroyed) return;
    this.#ended = true;
    this.#socket.end();
  }

  /**
   * After `end`, the kernel would throw away what was written if it closed a socket with unread data (RFC 1122 4.2.2.13), and Node
   * what the kernel has no room for yet. So the socket lives on, unheard, until the peer ends as well, for a bounded time.
   */
  destroy(): void {
    const socket = this.#socket;
    if (!this.#ended || socket.destroyed || socket.connecting) {
      socket.destroy();
      return;
    }
    if (this.#silent) return;
    this.#silent = true;
    socket.unref();
    const timer = setTimeout(() => socket.destroy(), drainMilliseconds).unref();
    socket.on('close', () => clearTimeout(timer));
    setImmediate(() => this.#events.closed(this.#failure));
  }

  endpoints(): Endpoints | undefined {
    const { localAddress = '', localPort, remoteAddress = '', remotePort } = this.#socket;
    const [local, remote] = [readSocketAddress(localAddress), readSocketAddress(remoteAddress)];
    if (local === undefined || remote === undefined || localPort === undefined || remotePort === undefined) return undefined;
    return { local: { address: local.address, port: localPort }, remote: { address: remote.address, port: remotePort } };
  }

  #report(failure: TransportFailure | undefined): void {
    if (this.#silent) return;
    this.#silent = true;
    this.#events.closed(failure);
  }
}

/**
 * A peer that closes while we write has told why, in a NOTIFICATION that the kernel holds for us when our next write fails. Node would
 * destroy the socket at once, so the failure waits until the event loop has read once more.
 */
function readBeforeFailing(socket: Socket): void {
  type Done = (error?: Error | null) => void;
  const later =
    (done: Done): Done =>
    (error) => {
      if (error === undefined || error === null) done();
      else setImmediate(() => setImmediate(() => done(error)));
    };
  // oxlint-disable no-underscore-dangle -- Node's names of what a stream implements
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, done) => write(chunk, encoding, later(done));
  if (writev !== undefined) socket._writev = (chunks, done) => writev(chunks, later(done));
  // oxlint-enable no-underscore-dangle
}

function localAddressOf(socket: Socket): Address | undefined {
  return readSocketAddress(socket.localAddress ?? '')?.address;
}

/** An address as Node writes it: perhaps with a zone, perhaps an IPv4 address inside an IPv6 one. */
function readSocketAddress(text: string): { readonly address: Address; readonly zone?: string } | undefined {
  const [literal = '', zone] = text.split('%', 2);
  const address = parseAddress(literal.replace(/^::ffff:(?=[0-9.]+$)/, ''));
  if (!address.ok) return undefined;
  return { address: address.value, ...defined({ zone }) };
}
