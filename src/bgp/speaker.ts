import type { Family } from '../net/address.ts';
import type { Prefix } from '../net/prefix.ts';
import type { BgpComponents } from './options/components.ts';
import { callAll } from './diagnosis/events.ts';
import { maximumPeers } from './limits.ts';
import { Listeners, type ListeningStatus } from './session/listeners.ts';
import { PeerOptionsError, resolveOptions, type PeerDefaults, type PeerOptions, type ResolvedOptions } from './options/peer-options.ts';
import { resolvePeerGroup, type PeerGroupOptions, type ResolvedPeerGroup } from './options/peer-group-options.ts';
import { Peer, type PeerHost } from './peer.ts';
import type { SpeakerExtension } from './session/monitored-session.ts';
import { PeerGroup } from './session/peer-group.ts';
import { demandRoom, toPath, toPrefix, toRoute, toRoutes, type PathInput, type RouteInput } from './options/route-input.ts';
import { selectBestPath, selectBestPaths, type Selection, type SelectionOptions } from './rib/received/best-path.ts';
import { ReplacementRunner } from './rib/replace-routes.ts';
import { RibStore } from './rib/rib-store.ts';
import { SharedRoutes } from './rib/shared-routes.ts';
import {
  componentsOf,
  listenAddressesOf,
  peerDefaultsOf,
  refuseUnknownSettings,
  SpeakerError,
  type ListenInput,
  type SpeakerSettings,
} from './options/speaker-options.ts';
import type { Incoming, PeerKey } from './transport/transport.ts';
import { cease } from './wire/codes.ts';

export type PeerListener = (peer: Peer) => void;

export interface SpeakerOptions extends SpeakerSettings {
  /** The first listener; `onChange` adds others. */
  readonly onChange?: PeerListener;
  /** Parts that not every program needs, such as `bmp()` of herald/bgp/bmp. Default: none. */
  readonly extensions?: readonly SpeakerExtension[];
}

/** The routes for all peers, including peers that are added later. A peer's own route of a prefix takes precedence. */
export interface SpeakerRoutes {
  /**
   * Makes these the routes, exactly, and declares them complete: with graceful restart, End-of-RIB waits for this. If a prefix comes twice,
   * the last route counts; routes with `pathId` must differ in it. Throws RouteError, and then nothing has changed. More than 32,768 routes are put in place in several turns of the
   * event loop; routes that are announced or withdrawn meanwhile count as later.
   */
  set(routes: Iterable<RouteInput>): void;
  /** Adds or changes one route. Throws RouteError. */
  announce(route: RouteInput): void;
  /**
   * Withdraws one route: that with the identifier 1 or without one, or that with `pathId`. It is no error if the route was not announced.
   * Throws RouteError if the text is not a prefix.
   */
  withdraw(path: PathInput): void;
}

export interface StopOptions {
  /** The shutdown communication (RFC 9003). */
  readonly message?: string;
  /**
   * `restart`: peers with graceful restart get no NOTIFICATION, so that they keep the routes until the next process is there (RFC 4724 4);
   * other peers get one. `shutdown` (default): all peers get one.
   */
  readonly mode?: 'shutdown' | 'restart';
}

/**
 * A BGP-4 speaker (RFC 4271). It connects to its peers, accepts their connections, sends them routes, and counts the routes that it
 * receives. It keeps those that the import rules of a peer accept, and passes none of them on.
 */
export class Speaker {
  readonly rib: SpeakerRoutes;
  readonly #components: BgpComponents;
  readonly #defaults: PeerDefaults;
  readonly #shared: SharedRoutes;
  readonly #replacement: ReplacementRunner;
  readonly #peers = new Map<string, Peer>();
  readonly #groups = new Map<string, PeerGroup<Peer>>();
  readonly #listeners = new Set<PeerListener>();
  readonly #closing = new Set<Promise<void>>();
  readonly #listenSockets: Listeners;
  readonly #host: PeerHost;
  readonly #extensions: readonly SpeakerExtension[];
  #stopped = false;

  /** Starts to listen if `listen` is set. Throws SpeakerError if the options cannot work, UnknownOptionError for a key that is none. */
  constructor(options: SpeakerOptions = {}) {
    refuseUnknownSettings(options, { onChange: 0, extensions: 0 });
    this.#defaults = peerDefaultsOf(options);
    const listen = listenAddressesOf(options);
    const store = new RibStore();
    this.#components = { ...componentsOf(options), store };
    this.#shared = new SharedRoutes(store);
    this.#replacement = new ReplacementRunner(this.#components.clock);
    this.rib = this.#makeRib();
    const { restarted = false, extensions = [] } = options;
    this.#extensions = extensions;
    for (const extension of extensions) extension.start(this.#components);
    this.#host = {
      shared: this.#shared,
      get restarted() {
        return typeof restarted === 'function' ? restarted() : restarted;
      },
      resolve: (options) => this.#resolve(options),
      changed: (peer) => callAll(this.#listeners, peer),
      remove: (peer, reason) => this.#remove(peer, reason),
      keysChanged: () => this.#listenSockets.keysChanged(),
    };
    if (options.onChange !== undefined) this.#listeners.add(options.onChange);
    this.#listenSockets = new Listeners(this.#components, listen, {
      accept: (incoming) => this.#accept(incoming),
      keys: () => this.#keys(),
    });
  }

  get peers(): readonly Peer[] {
    return [...this.#peers.values()];
  }

  peer(name: string): Peer | undefined {
    return this.#peers.get(name);
  }

  /**
   * Makes these the listening addresses, exactly; an empty list stops listening. Existing sessions stay. Existing passive peers then wait
   * until the speaker listens again. Throws SpeakerError if an address is invalid, and then nothing has changed.
   */
  listen(addresses: readonly ListenInput[]): void {
    const listen = listenAddressesOf({ listen: addresses });
    if (!this.#stopped) this.#listenSockets.replaceAddresses(listen);
  }

  /** Returns the listening sockets, and the number of connections from addresses of no peer, which were closed at once. */
  listening(): { readonly sockets: readonly ListeningStatus[]; readonly strangers: number } {
    return { sockets: this.#listenSockets.status(), strangers: this.#listenSockets.strangers };
  }

  /**
   * Adds a peer and opens its session in a later turn of the event loop. Throws PeerOptionsError if the options cannot work,
   * UnknownOptionError for a key that is no option, SpeakerError if the name is taken or the speaker is stopped.
   */
  addPeer(options: PeerOptions): Peer {
    if (this.#stopped) throw new SpeakerError('ERR_BGP_STOPPED', 'the speaker is stopped');
    const resolved = this.#resolve(options);
    const { name } = resolved;
    if (this.#peers.has(name)) throw new SpeakerError('ERR_BGP_PEER_EXISTS', `there is a peer "${name}" already`);
    if (this.#peers.size >= maximumPeers) throw new SpeakerError('ERR_BGP_TOO_MANY_PEERS', `a speaker has at most ${maximumPeers} peers`);
    const peer = new Peer(this.#components, this.#host, resolved);
    this.#peers.set(name, peer);
    for (const extension of this.#extensions) extension.peerAdded(name, peer.monitored);
    this.#listenSockets.keysChanged();
    return peer;
  }

  /**
   * Adds a group of peers that connect from a range of addresses: each becomes a passive peer when it connects, and is removed when it has had
   * no session for a time. Throws PeerGroupError, PeerOptionsError and UnknownOptionError for options that cannot work, SpeakerError if the
   * name is taken or the speaker is stopped.
   */
  addPeerGroup(options: PeerGroupOptions): PeerGroup<Peer> {
    if (this.#stopped) throw new SpeakerError('ERR_BGP_STOPPED', 'the speaker is stopped');
    const resolved = this.#resolveGroup(options);
    const { name } = resolved;
    if (this.#groups.has(name)) throw new SpeakerError('ERR_BGP_PEER_EXISTS', `there is a peer group "${name}" already`);
    const group = new PeerGroup<Peer>(this.#components, resolved, {
      add: (peerOptions, incoming) => this.#addMember(peerOptions, incoming),
      remove: () => {
        this.#groups.delete(name);
        this.#listenSockets.keysChanged();
      },
      resolve: (changed) => this.#resolveGroup(changed),
      keysChanged: () => this.#listenSockets.keysChanged(),
    });
    this.#groups.set(name, group);
    this.#listenSockets.keysChanged();
    return group;
  }

  get peerGroups(): readonly PeerGroup<Peer>[] {
    return [...this.#groups.values()];
  }

  /**
   * Ends the session and removes the peer. An unknown name is no error. With a reason the peer gets Administrative Shutdown and the text,
   * else Peer De-configured, which carries no text (RFC 9003 2).
   */
  removePeer(name: string, reason?: string): void {
    const peer = this.#peers.get(name);
    if (peer !== undefined) void this.#remove(peer, reason);
  }

  /**
   * Calls the listener when a session is established, goes down or fails for a new reason, and when an unnumbered peer was discovered. It
   * is not called for other state changes. An error in the listener does not disturb the session: it becomes an uncaught exception of the
   * process.
   */
  onChange(listener: PeerListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends all sessions. Resolves when all connections are closed, after at most a second. */
  async stop({ message, mode = 'shutdown' }: StopOptions = {}): Promise<void> {
    this.#stopped = true;
    this.#replacement.stop();
    this.#listenSockets.close();
    for (const group of this.#groups.values()) group.stop();
    for (const peer of this.#peers.values()) {
      void this.#close(peer, { subcode: cease.administrativeShutdown, message, forRestart: mode === 'restart' });
    }
    this.#peers.clear();
    await Promise.all([...this.#closing, ...this.#extensions.map((extension) => extension.stop())]);
  }

  /**
   * Selects the best of the received routes of a prefix (RFC 4271 9.1), with the step in which each other route lost. Returns undefined if no
   * peer has a route that its import rules accept. Throws RouteError if the text is not a prefix.
   */
  bestPath(prefix: Prefix | string, options: SelectionOptions = {}): Selection | undefined {
    const wanted = toPrefix(prefix);
    return selectBestPath(
      this.peers.flatMap((peer) => peer.receivedRoutes(wanted)),
      options,
    );
  }

  /** Yields the selection of every prefix that a peer has a route for. Read them in one turn of the event loop. */
  bestPaths(family: Family, options: SelectionOptions = {}): Generator<Selection> {
    return selectBestPaths(
      this.peers.flatMap((peer) => [...peer.received(family)]),
      options,
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Removes the peer. If it was already removed, this only waits until its connections are closed. */
  async #remove(peer: Peer, reason: string | undefined): Promise<void> {
    if (this.#peers.get(peer.name) === peer) {
      this.#peers.delete(peer.name);
      for (const group of this.#groups.values()) group.removed(peer);
      this.#listenSockets.keysChanged();
    }
    const subcode = reason === undefined ? cease.peerDeconfigured : cease.administrativeShutdown;
    const closed = this.#close(peer, { subcode, message: reason });
    if (!this.#peers.has(peer.name)) for (const extension of this.#extensions) extension.peerRemoved(peer.name);
    await closed;
  }

  #close(peer: Peer, how: Parameters<Peer['close']>[0]): Promise<void> {
    const closed = peer.close(how).finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
    return closed;
  }

  #makeRib(): SpeakerRoutes {
    return {
      set: (routes) => {
        this.#replacement.run(this.#shared.replaceGradually(toRoutes(routes)), () => {
          for (const peer of this.#peers.values()) peer.completeRoutes();
        });
      },
      announce: (input) => {
        const route = toRoute(input);
        demandRoom(route, this.#shared);
        this.#shared.announce(route);
      },
      withdraw: (input) => {
        const { prefix, pathId } = toPath(input);
        this.#shared.withdraw(prefix, pathId);
      },
    };
  }

  #resolveGroup(options: PeerGroupOptions): ResolvedPeerGroup {
    const resolved = resolvePeerGroup(options);
    for (const { address } of resolved.ranges) this.#resolve({ ...resolved.member, address });
    return resolved;
  }

  #resolve(options: PeerOptions): ResolvedOptions {
    const resolved = resolveOptions(options, this.#defaults);
    if (resolved.passive && !this.#listenSockets.isFor(resolved)) {
      const where = resolved.vrf === undefined ? '' : ` in the VRF ${resolved.vrf}`;
      const message = `this speaker does not listen${where}, so the peer could never connect`;
      throw new PeerOptionsError('passive', message, 'ERR_BGP_PASSIVE_UNSUPPORTED');
    }
    return resolved;
  }

  /** Offers a connection to each peer with this address, until one takes it. Several peers may have one address, with different ports. */
  #accept(incoming: Incoming): 'accepted' | 'unwanted' | 'stranger' {
    const candidates = this.peers.filter((peer) => peer.isFrom(incoming));
    if (candidates.length === 0) return this.#groupOf(incoming)?.accept(incoming) ?? 'stranger';
    return candidates.some((peer) => peer.accept(incoming)) ? 'accepted' : 'unwanted';
  }

  /** Returns the group with the longest range that has the address. */
  #groupOf(incoming: Incoming): PeerGroup<Peer> | undefined {
    const matching = this.peerGroups.filter((group) => group.match(incoming) >= 0);
    return matching.sort((a, b) => b.match(incoming) - a.match(incoming))[0];
  }

  #addMember(options: PeerOptions, incoming: Incoming): Peer | 'full' | undefined {
    if (this.#peers.size >= maximumPeers) return 'full';
    const peer = this.addPeer(options);
    if (peer.acceptFirst(incoming)) return peer;
    this.removePeer(peer.name);
    return undefined;
  }

  /** The members of a group use the key of its range. */
  #keys(): PeerKey[] {
    const members = new Set(this.peerGroups.flatMap((group) => group.peers));
    const ofPeers = this.peers.filter((peer) => !members.has(peer)).flatMap((peer) => peer.key() ?? []);
    return [...ofPeers, ...this.peerGroups.flatMap((group) => group.keys())];
  }
}
