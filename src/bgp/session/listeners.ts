import { defined } from '../../lang/defined.ts';
import { formatAddress, isLinkLocal } from '../../net/address.ts';
import { formatPrefix, prefixContains } from '../../net/prefix.ts';
import type { Cancel } from '../../system/clock.ts';
import type { BgpComponents } from '../options/components.ts';
import type { ListenAddress } from '../options/speaker-options.ts';
import { listenRetryTime, strangerLogInterval } from '../limits.ts';
import type { Incoming, Listener, ListenOptions, PeerKey, TransportFailure } from '../transport/transport.ts';

export interface ListeningStatus {
  /** Absent: all addresses of both families. */
  readonly address?: string;
  /** Absent: connections in no VRF. */
  readonly vrf?: string;
  readonly port: number;
  readonly listening: boolean;
  /** Why the socket does not listen. */
  readonly lastError?: string;
  /** The socket does not listen because its VRF does not exist. */
  readonly noVrf?: true;
}

type Components = Pick<BgpComponents, 'clock' | 'transport' | 'log'>;

/** Decides on incoming connections and knows the keys of the peers (TCP MD5, TCP-AO). */
interface IncomingHandler {
  /** `stranger`: no peer has this address. `unwanted`: the peer takes no connection now. */
  accept(incoming: Incoming): 'accepted' | 'unwanted' | 'stranger';
  keys(): readonly PeerKey[];
}

class Socket {
  readonly options: ListenOptions;
  listener: Listener | undefined;
  port: number | undefined;
  failure: TransportFailure | undefined;
  cancelRetry: Cancel | undefined;
  /** Keys that the kernel refused. A peer with such a key could connect without a signature. */
  refused: readonly PeerKey[] = [];
  /** The refused keys in words, as logged last. */
  refusedInWords = '';

  constructor(options: ListenOptions) {
    this.options = options;
  }
}

/** The listening sockets of a speaker, with the keys of all peers. A socket that fails is opened again. */
export class Listeners {
  /** Connections from addresses of no peer. */
  strangers = 0;
  readonly #components: Components;
  readonly #handler: IncomingHandler;
  #sockets: readonly Socket[] = [];
  #strangerLogged = -Infinity;

  constructor(components: Components, addresses: readonly ListenAddress[], handler: IncomingHandler) {
    this.#components = components;
    this.#handler = handler;
    this.replaceAddresses(addresses);
  }

  /** Makes these the listening addresses, exactly. Sockets that stay and existing connections are not touched. */
  replaceAddresses(addresses: readonly ListenAddress[]): void {
    const before = new Map(this.#sockets.map((socket) => [keyOf(socket.options), socket]));
    const wanted = new Map(
      addresses.map(({ address, vrf, port = 179 }) => {
        const options: ListenOptions = { port, ...defined({ address, vrf }) };
        return [keyOf(options), options];
      }),
    );
    for (const [key, socket] of before) if (!wanted.has(key)) close(socket);
    this.#sockets = [...wanted].map(([key, options]) => before.get(key) ?? new Socket(options));
    for (const socket of this.#sockets) if (!before.has(keyOf(socket.options))) this.#open(socket);
  }

  /** Tells whether a peer with these options can connect to one of the sockets. An interface may be in any VRF. */
  isFor({ vrf, interface: networkInterface }: { readonly vrf?: string; readonly interface?: string }): boolean {
    return this.#sockets.some(({ options }) => options.vrf === vrf || networkInterface !== undefined);
  }

  status(): ListeningStatus[] {
    return this.#sockets.map(({ options, port, failure }) => ({
      ...(options.address === undefined ? {} : { address: formatAddress(options.address) }),
      ...defined({ vrf: options.vrf }),
      port: port ?? options.port,
      listening: port !== undefined,
      ...defined({ lastError: failure?.detail }),
      ...(failure?.kind === 'noVrf' ? { noVrf: true as const } : {}),
    }));
  }

  /** Sets the keys of all sockets again, because peers were added, changed or removed. */
  keysChanged(): void {
    for (const socket of this.#sockets) this.#setKeys(socket);
  }

  close(): void {
    for (const socket of this.#sockets) close(socket);
  }

  #open(socket: Socket): void {
    const { clock, log, transport } = this.#components;
    const { port, vrf } = socket.options;
    const address = socket.options.address === undefined ? 'any' : formatAddress(socket.options.address);
    const listener = transport.listen(socket.options, {
      listening: (chosen) => {
        socket.port = chosen;
        socket.failure = undefined;
        log.info({ address, port: chosen, ...defined({ vrf }) }, 'listening for BGP peers');
      },
      connection: (incoming) => this.#connection(socket, incoming),
      failed: (failure) => {
        if (socket.failure?.detail !== failure.detail)
          log.warn({ address, port, ...defined({ vrf }), reason: failure.detail }, 'cannot listen for BGP peers');
        socket.listener = undefined;
        socket.port = undefined;
        socket.failure = failure;
        socket.cancelRetry = clock.after(listenRetryTime * 1000, () => this.#open(socket));
      },
    });
    socket.listener = listener;
    this.#setKeys(socket);
  }

  #setKeys(socket: Socket): void {
    const { listener } = socket;
    if (listener === undefined) return;
    const keys = this.#handler.keys().filter((key) => isKeyFor(socket.options, key));
    const problems = listener.setKeys(keys);
    socket.refused = keys.filter((_, index) => problems.has(index));
    const refused = keys
      .flatMap(({ prefix }, index) => (problems.has(index) ? [`${formatPrefix(prefix)}: ${problems.get(index)}`] : []))
      .join('; ');
    if (refused !== '' && refused !== socket.refusedInWords) {
      this.#components.log.warn({ reason: refused }, 'keys of TCP MD5 or TCP-AO could not be set, so these peers cannot connect to us');
    }
    socket.refusedInWords = refused;
  }

  #connection({ refused }: Socket, incoming: Incoming): void {
    // The kernel did not check the signature of this peer, and no session runs without the security that it asked for.
    if (refused.some((key) => concerns(key, incoming))) {
      incoming.reject();
      return;
    }
    const answer = this.#handler.accept(incoming);
    if (answer === 'accepted') return;
    incoming.reject();
    if (answer === 'stranger') this.#countStranger(incoming);
  }

  /** Counts the connection and logs at most one line per interval: a port scan must not fill the log. */
  #countStranger({ remoteAddress }: Incoming): void {
    const { clock, log } = this.#components;
    this.strangers++;
    if (clock.now() - this.#strangerLogged < strangerLogInterval * 1000) return;
    this.#strangerLogged = clock.now();
    log.warn({ address: formatAddress(remoteAddress), total: this.strangers }, 'a connection from an address that is no peer was closed');
  }
}

const keyOf = ({ address, port, vrf = '' }: ListenOptions): string =>
  `${address === undefined ? '' : formatAddress(address)} ${port} ${vrf}`;

/** An address means another host in each VRF. The link-local addresses of an interface may come to the socket of any VRF. */
function isKeyFor({ vrf }: ListenOptions, { prefix, interface: networkInterface, vrf: own }: PeerKey): boolean {
  return vrf === own || (networkInterface !== undefined && isLinkLocal(prefix.address));
}

function concerns({ prefix, interface: networkInterface }: PeerKey, incoming: Incoming): boolean {
  if (!prefixContains(prefix, incoming.remoteAddress)) return false;
  return networkInterface === undefined || incoming.interface === undefined || networkInterface === incoming.interface;
}

function close(socket: Socket): void {
  socket.cancelRetry?.();
  socket.listener?.close();
  socket.listener = undefined;
  socket.port = undefined;
}
