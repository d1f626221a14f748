import type { Clock } from '../system/clock.ts';
import { silentLog, type Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import type { Components } from './connection-fsm.ts';
import { maximumPeers } from './limits.ts';
import { Listening, type ListenAddress, type ListeningStatus } from './listening.ts';
import { PeerOptionsError, resolveOptions, type PeerOptions, type ResolvedOptions } from './peer-options.ts';
import { Peer, type PeerHost } from './peer.ts';
import { RibStore } from './rib-store.ts';
import type { Incoming, PeerKey, Transport } from './transport/transport.ts';
import { cease } from './wire/codes.ts';

export interface SpeakerComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  /** Default: none. */
  readonly log?: Log;
}

export interface SpeakerOptions {
  /** Same as the first call of `onChange`. */
  readonly onChange?: PeerListener;
  /** Where peers may connect. Default: nowhere, and passive peers are refused. */
  readonly listen?: readonly ListenAddress[];
  /**
   * This process follows another that announced the same routes, and forwarding went on meanwhile: peers with graceful restart
   * that kept the routes go on using them (RFC 4724 4.1). Default false: they drop what they kept. A function is asked whenever a
   * peer is added, for a program that cannot know before.
   */
  readonly restarted?: boolean | (() => boolean);
}

export interface StopOptions {
  /** RFC 9003. */
  readonly message?: string;
  /**
   * `restart`: peers with graceful restart are not told, so that they keep the routes until the next process is there (RFC 4724
   * 4); the others are told as with `shutdown`, which is the default.
   */
  readonly mode?: 'shutdown' | 'restart';
}

export type PeerListener = (peer: Peer) => void;

/** An operation that the speaker refuses in its present state. */
export class SpeakerError extends Error {
  readonly code: 'ERR_BGP_PEER_EXISTS' | 'ERR_BGP_TOO_MANY_PEERS' | 'ERR_BGP_STOPPED';

  constructor(code: SpeakerError['code'], message: string) {
    super(message);
    this.name = 'SpeakerError';
    this.code = code;
  }
}

/**
 * A BGP-4 speaker (RFC 4271) that announces and does not learn: it connects to its peers and lets them connect, sends each what
 * it should have, and counts what it receives.
 */
export class Speaker {
  readonly #components: Components;
  readonly #peers = new Map<string, Peer>();
  readonly #listeners = new Set<PeerListener>();
  readonly #closing = new Set<Promise<void>>();
  readonly #listening: Listening;
  readonly #host: PeerHost;
  #stopped = false;

  constructor({ clock, random, transport, log = silentLog }: SpeakerComponents, options: SpeakerOptions = {}) {
    this.#components = { clock, random, transport, log, store: new RibStore() };
    const { restarted = false } = options;
    this.#host = {
      get restarted() {
        return typeof restarted === 'function' ? restarted() : restarted;
      },
      resolve: (options) => this.#resolve(options),
      changed: (peer) => {
        for (const listener of this.#listeners) listener(peer);
      },
      remove: (peer, reason) => this.#remove(peer, reason),
      keysChanged: () => this.#listening.keysChanged(),
    };
    if (options.onChange !== undefined) this.#listeners.add(options.onChange);
    this.#listening = new Listening(this.#components, options.listen ?? [], {
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
   * Makes these the addresses where peers may connect, exactly; none: nowhere. Sessions that are up stay. Passive peers that are
   * there already then wait for better times.
   */
  listen(addresses: readonly ListenAddress[]): void {
    if (!this.#stopped) this.#listening.set(addresses);
  }

  /** The listening sockets, and connections from addresses that are no peers, which were closed at once. */
  listening(): { readonly sockets: readonly ListeningStatus[]; readonly strangers: number } {
    return { sockets: this.#listening.status(), strangers: this.#listening.strangers };
  }

  /**
   * Adds a peer and opens its session in a later turn of the event loop. Throws PeerOptionsError where the options cannot
   * work, SpeakerError where the name is taken or the speaker is stopped.
   */
  addPeer(options: PeerOptions): Peer {
    if (this.#stopped) throw new SpeakerError('ERR_BGP_STOPPED', 'the speaker is stopped');
    if (this.#peers.has(options.name)) throw new SpeakerError('ERR_BGP_PEER_EXISTS', `there is a peer "${options.name}" already`);
    if (this.#peers.size >= maximumPeers) throw new SpeakerError('ERR_BGP_TOO_MANY_PEERS', `a speaker has at most ${maximumPeers} peers`);
    const peer = new Peer(this.#components, this.#host, options);
    this.#peers.set(options.name, peer);
    this.#listening.keysChanged();
    return peer;
  }

  /**
   * Ends the session and forgets the peer; an unknown name is no error. With a reason the peer is told Administrative
   * Shutdown and the text, else Peer De-configured, which carries none (RFC 9003 2).
   */
  removePeer(name: string, reason?: string): void {
    const peer = this.#peers.get(name);
    if (peer !== undefined) void this.#remove(peer, reason);
  }

  /** Calls the listener when a session was established, went down, or fails for another reason than before; not for the steps between. */
  onChange(listener: PeerListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends all sessions, and resolves when all connections are closed, which takes a second at most. */
  async stop({ message, mode = 'shutdown' }: StopOptions = {}): Promise<void> {
    this.#stopped = true;
    this.#listening.close();
    for (const peer of this.#peers.values()) {
      void this.#close(peer, { subcode: cease.administrativeShutdown, message, forRestart: mode === 'restart' });
    }
    this.#peers.clear();
    await Promise.all(this.#closing);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Also of a peer that was removed before: then it is only waited for. */
  async #remove(peer: Peer, reason: string | undefined): Promise<void> {
    if (this.#peers.get(peer.name) === peer) {
      this.#peers.delete(peer.name);
      this.#listening.keysChanged();
    }
    const subcode = reason === undefined ? cease.peerDeconfigured : cease.administrativeShutdown;
    await this.#close(peer, { subcode, message: reason });
  }

  #close(peer: Peer, how: Parameters<Peer['close']>[0]): Promise<void> {
    const closed = peer.close(how).finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
    return closed;
  }

  #resolve(options: PeerOptions): ResolvedOptions {
    const resolved = resolveOptions(options);
    if (resolved.passive && !this.#listening.isConfigured) {
      throw new PeerOptionsError('passive', 'this speaker does not listen, so the peer could never connect', 'ERR_BGP_PASSIVE_UNSUPPORTED');
    }
    return resolved;
  }

  /** Several peers may have one address, with different ports: the first that takes the connection has it. */
  #accept(incoming: Incoming): 'accepted' | 'unwanted' | 'stranger' {
    const candidates = this.peers.filter((peer) => peer.isFrom(incoming));
    if (candidates.length === 0) return 'stranger';
    return candidates.some((peer) => peer.accept(incoming)) ? 'accepted' : 'unwanted';
  }

  #keys(): PeerKey[] {
    return this.peers.flatMap((peer) => peer.key() ?? []);
  }
}
