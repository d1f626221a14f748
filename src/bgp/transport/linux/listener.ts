import { createServer, type Server, type Socket } from 'node:net';
import { defined } from '../../../lang/defined.ts';
import { formatAddress, type Address, type Family } from '../../../net/address.ts';
import { formatPrefix } from '../../../net/prefix.ts';
import { acceptSocket, failedConnection, offerSocket } from '../socket-connection.ts';
import { failureOf, listenFailureOf } from '../failure.ts';
import type { Connection, ConnectionEvents, Listener, ListenerEvents, ListenOptions, PeerKey, SocketOptions } from '../transport.ts';
import type { Libc } from '../../../system/ffi/libc.ts';
import { descriptorOf } from './descriptor.ts';
import { LiveKeys } from './live-keys.ts';
import { credentialsProblem, hasSameCredentials, replaceCredentials } from './peer-keys.ts';
import { RawSocket } from './socket.ts';
import { bindToVrf } from './vrf.ts';

/** Attempts to find a port that is free for both families. */
const portAttempts = 8;

interface ListeningSocket {
  readonly socket: RawSocket;
  /** Undefined until the server owns the socket. */
  server: Server | undefined;
  /** By prefix. */
  readonly keys: Map<string, PeerKey>;
}

/**
 * Listens on one address, or on all addresses with one socket per family. With two sockets, one family still works when the other is
 * disabled.
 */
export class LinuxListener implements Listener {
  readonly #libc: Libc;
  readonly #events: ListenerEvents;
  readonly #vrf: string | undefined;
  readonly #sockets: ListeningSocket[] = [];
  #closed = false;

  constructor(libc: Libc, options: ListenOptions, events: ListenerEvents) {
    this.#libc = libc;
    this.#events = events;
    this.#vrf = options.vrf;
    const where = options.address === undefined ? 'all addresses' : formatAddress(options.address);
    const fail = (error: unknown): void => {
      if (this.#closed) return;
      this.close();
      events.failed(listenFailureOf(error as NodeJS.ErrnoException, where, options.port));
    };
    try {
      for (const socket of openSockets(libc, options)) this.#sockets.push({ socket, server: undefined, keys: new Map() });
    } catch (error) {
      setImmediate(() => fail(error));
      return;
    }
    // Listening starts in a later turn, so that keys set in this turn apply to the first connection.
    setImmediate(() => {
      let waiting = this.#sockets.length;
      for (const listening of this.#sockets) {
        const { socket } = listening;
        listening.server = createServer({ pauseOnConnect: true }, (connection) => this.#receive(connection, listening));
        listening.server.on('error', fail);
        const port = socket.port();
        // From here on the server owns the descriptor.
        listening.server.listen({ fd: socket.fd }, () => {
          waiting--;
          if (waiting === 0 && !this.#closed) events.listening(port);
        });
      }
    });
  }

  setKeys(keys: readonly PeerKey[]): ReadonlyMap<number, string> {
    const refused = new Map<number, string>();
    for (const { socket, keys: present } of this.#sockets) {
      const wanted = wantedKeys(keys, socket.family, refused);
      for (const [name, key] of present) {
        if (wanted.has(name)) continue;
        present.delete(name);
        replaceCredentials(socket, key.prefix, key);
      }
      for (const [name, { index, key }] of wanted) {
        const before = present.get(name);
        if (before !== undefined && hasSameCredentials(before, key)) continue;
        present.delete(name);
        try {
          replaceCredentials(socket, key.prefix, before, key);
          present.set(name, key);
        } catch (error) {
          refused.set(index, (error as Error).message);
        }
      }
    }
    return refused;
  }

  close(): void {
    this.#closed = true;
    for (const { socket, server } of this.#sockets.splice(0)) {
      if (server === undefined) socket.close();
      else server.close();
    }
  }

  #receive(socket: Socket, { socket: { family }, keys }: ListeningSocket): void {
    if (this.#closed) {
      socket.destroy(); // Accepted after `close`.
      return;
    }
    const accept = (taken: Socket, options: SocketOptions, events: ConnectionEvents): Connection => {
      try {
        new RawSocket(this.#libc, descriptorOf(taken), family).setOptions(options);
      } catch (error) {
        taken.destroy();
        return failedConnection(failureOf(error as NodeJS.ErrnoException), events);
      }
      return acceptSocket(taken, events, (address, wanted) =>
        liveKeys(address).replace(new RawSocket(this.#libc, descriptorOf(taken), family), address, wanted),
      );
    };
    const inherited = [...keys.values()];
    let live: LiveKeys | undefined;
    const liveKeys = (address: Address): LiveKeys => (live ??= LiveKeys.ofAccepted(address, inherited));
    offerSocket(socket, accept, (incoming) => this.#events.connection({ ...incoming, ...defined({ vrf: this.#vrf }) }));
  }
}

/** Returns the keys for the sockets of a family, by prefix. Records the keys that cannot be set in `refused`. */
function wantedKeys(keys: readonly PeerKey[], family: Family, refused: Map<number, string>): Map<string, { index: number; key: PeerKey }> {
  const wanted = new Map<string, { index: number; key: PeerKey }>();
  for (const [index, key] of keys.entries()) {
    if (key.prefix.address.family !== family) continue;
    const name = formatPrefix(key.prefix);
    const problem = credentialsProblem(key);
    const other = wanted.get(name)?.key;
    if (problem !== undefined) refused.set(index, problem);
    else if (other === undefined) wanted.set(name, { index, key });
    else if (!hasSameCredentials(other, key)) {
      const have = key.tcpAo === undefined && other.tcpAo === undefined ? 'another TCP MD5 password' : 'other TCP-AO keys or a password';
      const rule = 'the kernel keeps one for an address, whatever the interface';
      refused.set(index, `another peer with the address ${name} has ${have}: ${rule}`);
    }
  }
  return wanted;
}

function openSockets(libc: Libc, { address, port, vrf }: ListenOptions): RawSocket[] {
  if (address !== undefined) return [openSocket(libc, address.family, address, port, vrf)];
  for (let attempt = 1; ; attempt++) {
    const ipv4 = openSocket(libc, 4, undefined, port, vrf);
    try {
      return [ipv4, openSocket(libc, 6, undefined, ipv4.port(), vrf)];
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL') return [ipv4]; // IPv6 is disabled.
      ipv4.close();
      if (port !== 0 || code !== 'EADDRINUSE' || attempt === portAttempts) throw error;
    }
  }
}

/**
 * Opens a bound socket that does not listen yet. TTL 255 is for the SYN/ACK, which must pass the TTL security of the peer (RFC 5082).
 * Accepted sockets get their own TTL.
 */
function openSocket(libc: Libc, family: Family, address: Address | undefined, port: number, vrf: string | undefined): RawSocket {
  const socket = RawSocket.tcp(libc, family);
  try {
    if (vrf !== undefined) bindToVrf(socket, vrf);
    socket.setReuseAddress();
    if (family === 6) socket.setIpv6Only();
    socket.setOptions({ ttl: 255 });
    socket.setTrafficClass();
    socket.bind(address, port, 'binding the address');
    return socket;
  } catch (error) {
    socket.close();
    throw error;
  }
}
