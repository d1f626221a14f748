import type { Clock } from '../system/clock.ts';
import { silentLog, type Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import { maximumPeers } from './limits.ts';
import type { PeerOptions } from './peer-options.ts';
import { Peer } from './peer.ts';
import { RibStore } from './rib-store.ts';
import type { Components } from './session.ts';
import type { Transport } from './transport/transport.ts';
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
 * A BGP-4 speaker (RFC 4271) that announces and does not learn: it connects to its peers, sends each what it should
 * have, and counts what it receives.
 */
export class Speaker {
  readonly #components: Components;
  readonly #peers = new Map<string, Peer>();
  readonly #listeners = new Set<PeerListener>();
  readonly #closing = new Set<Promise<void>>();
  #stopped = false;

  constructor({ clock, random, transport, log = silentLog }: SpeakerComponents, options: SpeakerOptions = {}) {
    this.#components = { clock, random, transport, log, store: new RibStore() };
    if (options.onChange !== undefined) this.#listeners.add(options.onChange);
  }

  get peers(): readonly Peer[] {
    return [...this.#peers.values()];
  }

  peer(name: string): Peer | undefined {
    return this.#peers.get(name);
  }

  /**
   * Adds a peer and opens its session in a later turn of the event loop. Throws PeerOptionsError where the options cannot
   * work, SpeakerError where the name is taken or the speaker is stopped.
   */
  addPeer(options: PeerOptions): Peer {
    if (this.#stopped) throw new SpeakerError('ERR_BGP_STOPPED', 'the speaker is stopped');
    if (this.#peers.has(options.name)) throw new SpeakerError('ERR_BGP_PEER_EXISTS', `there is a peer "${options.name}" already`);
    if (this.#peers.size >= maximumPeers) throw new SpeakerError('ERR_BGP_TOO_MANY_PEERS', `a speaker has at most ${maximumPeers} peers`);
    const peer = new Peer(this.#components, options, (peer) => {
      for (const listener of this.#listeners) listener(peer);
    });
    this.#peers.set(options.name, peer);
    return peer;
  }

  /**
   * Ends the session and forgets the peer; an unknown name is no error. With a reason the peer is told Administrative
   * Shutdown and the text, else Peer De-configured, which carries none (RFC 9003 2).
   */
  removePeer(name: string, reason?: string): void {
    const peer = this.#peers.get(name);
    if (peer === undefined) return;
    this.#peers.delete(name);
    this.#close(peer, reason === undefined ? cease.peerDeconfigured : cease.administrativeShutdown, reason);
  }

  /** Calls the listener when a session was established, went down, or fails for another reason than before; not for the steps between. */
  onChange(listener: PeerListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Tells every peer Administrative Shutdown (6/2) and the text, and resolves when all connections are closed, which takes a second at most. */
  async stop({ message }: { readonly message?: string } = {}): Promise<void> {
    this.#stopped = true;
    for (const peer of this.#peers.values()) this.#close(peer, cease.administrativeShutdown, message);
    this.#peers.clear();
    await Promise.all(this.#closing);
  }

  #close(peer: Peer, subcode: number, message: string | undefined): void {
    const closed = peer.close(subcode, message).finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}
