import type { Socket, TcpSocketConnectOpts } from 'node:net';
import { defined } from '../../lang/defined.ts';
import { parseAddress, type Address } from '../../net/address.ts';
import { drainMilliseconds } from '../limits.ts';
import { failureOf } from './failure.ts';
import type { Connection, ConnectionEvents, Endpoints, Incoming, SocketOptions, TcpAo, TransportFailure } from './transport.ts';

/** Changes the TCP-AO keys of an open connection. Throws when it cannot. */
type ReplaceKeys = (remote: Address, keys: TcpAo) => void;

const withoutKeys: ReplaceKeys = () => {
  throw new Error('TCP-AO needs Linux and the native module koffi, which could not be loaded');
};

/** Connects a socket and translates its events. */
export function connectSocket(
  socket: Socket,
  where: TcpSocketConnectOpts,
  events: ConnectionEvents,
  replaceKeys: ReplaceKeys = withoutKeys,
): Connection {
  const connection = new SocketConnection(socket, events, replaceKeys);
  // The kernel chooses the local address when the attempt begins, which is right after this event.
  socket.once('connectionAttempt', () =>
    queueMicrotask(() => {
      const local = localAddressOf(socket);
      if (local !== undefined) events.dialing?.(local);
    }),
  );
  socket.on('connect', () => events.connected(localAddressOf(socket)));
  socket.connect(where);
  return connection;
}

/** Takes over an accepted socket that has not been read yet. */
export function acceptSocket(socket: Socket, events: ConnectionEvents, replaceKeys: ReplaceKeys = withoutKeys): Connection {
  const connection = new SocketConnection(socket, events, replaceKeys);
  setImmediate(() => {
    if (socket.destroyed) return;
    events.connected(localAddressOf(socket));
    socket.resume();
  });
  return connection;
}

/** Makes a connection of an accepted socket, with its options. */
type Accept = (socket: Socket, options: SocketOptions, events: ConnectionEvents) => Connection;

/** Offers an accepted socket to the listener's caller, and rejects it if the caller neither accepts nor rejects. */
export function offerSocket(socket: Socket, accept: Accept, offer: (incoming: Incoming) => void): void {
  const remote = readSocketAddress(socket.remoteAddress ?? '');
  if (remote === undefined) {
    socket.destroy(); // already closed
    return;
  }
  socket.on('error', () => {}); // a rejected socket has no other handler
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

/** Returns a connection that fails in a later turn, as all events come. */
export function failedConnection(failure: TransportFailure, events: ConnectionEvents): Connection {
  let open = true;
  const close = (what: TransportFailure | undefined): void => {
    if (open) events.closed(what);
    open = false;
  };
  setImmediate(() => close(failure));
  return { write: () => true, end: () => {}, destroy: () => void setImmediate(() => close(undefined)) };
}

/** Translates between a Node socket and a Connection. */
class SocketConnection implements Connection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #replaceKeys: ReplaceKeys;
  #failure: TransportFailure | undefined;
  #ended = false;
  /** No more events are reported. */
  #silent = false;

  constructor(socket: Socket, events: ConnectionEvents, replaceKeys: ReplaceKeys) {
    this.#socket = socket;
    this.#events = events;
    this.#replaceKeys = replaceKeys;
    socket.setNoDelay(true);
    readBeforeFailing(socket);
    // A paused socket stays paused: `on('data')` does not resume it.
    socket.on('data', (chunk) => {
      if (!this.#silent) events.data(chunk);
    });
    socket.on('drain', () => {
      if (!this.#silent) events.drain();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure = failureOf(error);
    });
    // A peer that ended is gone, and the session must not wait until it has read the queued data.
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
   * Closes the socket. After `end`, the kernel would discard written data if it closed a socket with unread data (RFC 1122 4.2.2.13), and
   * Node would discard data that the kernel has not taken yet. The socket therefore stays open without events until the peer ends too, for
   * a limited time.
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

  replaceKeys(keys: TcpAo): string | undefined {
    const remote = this.endpoints()?.remote.address;
    if (remote === undefined) return 'the connection is not open';
    try {
      this.#replaceKeys(remote, keys);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  #report(failure: TransportFailure | undefined): void {
    if (this.#silent) return;
    this.#silent = true;
    this.#events.closed(failure);
  }
}

/**
 * Delays write errors. If the peer closes while this side writes, the kernel still holds its NOTIFICATION when the next write fails. Node
 * would destroy the socket at once, so the error waits until the event loop has read once more.
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

/** Parses an address as Node prints it, perhaps with a zone, or as an IPv4 address inside an IPv6 one. */
function readSocketAddress(text: string): { readonly address: Address; readonly zone?: string } | undefined {
  const [literal = '', zone] = text.split('%', 2);
  const address = parseAddress(literal.replace(/^::ffff:(?=[0-9.]+$)/, ''));
  if (!address.ok) return undefined;
  return { address: address.value, ...defined({ zone }) };
}
