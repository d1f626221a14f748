import { defined } from '../lang/defined.ts';
import type { Clock } from '../system/clock.ts';
import type { Random } from '../system/random.ts';
import { newDiscards, type DiscardReason, type Discards } from './counters.ts';
import { DetectionGate } from './detection-gate.ts';
import { longestSlot, maximumClosingTime, maximumMultihopPeers, maximumSessions, minimumInterval } from './limits.ts';
import { Schedule } from '../system/schedule.ts';
import {
  demultiplexKey,
  endpointKey,
  resolveSession,
  sameEndpoint,
  SessionOptionsError,
  type IntervalRules,
  type ResolvedSession,
  type SessionOptions,
} from './session-options.ts';
import type { SessionStatus, Transition } from './session-status.ts';
import { Session } from './session.ts';
import type { Transport } from './transport/transport.ts';
import { ControlPacket, decodeControlPacket } from './wire/control-packet.ts';

interface ManagerComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
}

export interface ManagerOptions {
  /** Shortest interval in milliseconds. Shorter intervals of sessions are raised to it. Default 10. */
  readonly minimumInterval?: number;
  /** The thread has real-time priority, so short intervals need no warning. */
  readonly hasRealTime?: boolean;
}

interface ManagerEvents {
  changed(name: string, transition: Transition): void;
}

export interface ManagerStatus {
  readonly sessions: readonly SessionStatus[];
  /** Packets that belong to no session, by reason. */
  readonly discards: Discards;
  /** Datagrams that the kernel dropped because of their TTL, their source or a full buffer. */
  readonly kernelDrops?: number;
}

/** All BFD sessions of a process. It takes the complete set of sessions and computes the changes itself. */
export class Manager {
  readonly #components: ManagerComponents;
  readonly #rules: IntervalRules;
  readonly #events: ManagerEvents;
  readonly #schedule: Schedule;
  readonly #detectionGate: DetectionGate<Session>;
  readonly #discards = newDiscards();
  readonly #packet = new ControlPacket();
  readonly #byName = new Map<string, Session>();
  readonly #byDiscriminator = new Map<number, Session>();
  /** Sessions by address, interface and kind, for packets that do not have our discriminator yet. */
  readonly #byEndpoint = new Map<string, Session>();
  /** Sessions that send AdminDown before they are released. They no longer have a name. */
  readonly #closing = new Map<Session, Promise<void>>();

  constructor(components: ManagerComponents, events: ManagerEvents, options: ManagerOptions = {}) {
    this.#components = components;
    this.#events = events;
    this.#rules = { floor: options.minimumInterval ?? minimumInterval, hasRealTime: options.hasRealTime ?? false };
    this.#schedule = new Schedule(components.clock);
    this.#detectionGate = new DetectionGate(components.clock);
    components.transport.listen({
      received: (payload, source, networkInterface, multihop) => this.#receive(payload, source, networkInterface, multihop),
      timeToSpare: () => this.#timeToSpare(),
    });
  }

  /**
   * Makes these the sessions, exactly. Removed sessions close with AdminDown. Changed options apply without a flap, unless the packets take
   * another path. Returns the refused sessions with their errors; an existing session of a refused name stays.
   */
  replaceSessions(sessions: readonly SessionOptions[]): ReadonlyMap<string, SessionOptionsError> {
    const refused = new Map<string, SessionOptionsError>();
    const wanted = new Map<string, ResolvedSession>();
    const taken = new Map<string, string>();
    for (const options of sessions) {
      try {
        const resolved = resolveSession(options, this.#rules);
        checkAmong(resolved, wanted, taken);
        taken.set(endpointKey(resolved.endpoint), options.name);
        wanted.set(options.name, resolved);
      } catch (error) {
        if (!(error instanceof SessionOptionsError)) throw error;
        refused.set(options.name, error);
      }
    }
    for (const [name, session] of this.#byName) {
      const next = wanted.get(name);
      const isKept =
        next === undefined
          ? refused.has(name) && !taken.has(endpointKey(session.resolved.endpoint))
          : sameEndpoint(next.endpoint, session.resolved.endpoint);
      if (!isKept) this.#close(session);
    }
    for (const [name, resolved] of wanted) {
      const present = this.#byName.get(name);
      if (present === undefined) this.#open(resolved);
      else present.configure(resolved);
    }
    return refused;
  }

  status(): ManagerStatus {
    const kernelDrops = this.#components.transport.kernelDrops();
    return {
      sessions: [...this.#byName.values()].map((session) => session.status()),
      discards: { ...this.#discards },
      ...defined({ kernelDrops }),
    };
  }

  /** Returns the latest state changes of a session, oldest first. */
  history(name: string): readonly Transition[] {
    return [...(this.#byName.get(name)?.history ?? [])];
  }

  /** Sends AdminDown to every peer, so that it keeps its routes (RFC 5882 3.2). Resolves when the peers have received it. */
  async stop(): Promise<void> {
    for (const session of this.#byName.values()) this.#close(session);
    await Promise.all(this.#closing.values());
    this.#schedule.stop();
    this.#components.transport.close();
  }

  #open(resolved: ResolvedSession): void {
    const { clock, random, transport } = this.#components;
    const key = endpointKey(resolved.endpoint);
    const before = this.#byEndpoint.get(key);
    // The session is still closing, so it is reopened, and the peer keeps the same discriminator.
    if (before !== undefined && sameEndpoint(before.resolved.endpoint, resolved.endpoint)) {
      this.#closing.delete(before);
      this.#byName.set(resolved.name, before);
      before.configure(resolved);
      return;
    }
    if (before !== undefined) this.#release(before);
    const discriminator = newDiscriminator(random, this.#byDiscriminator);
    const host = {
      changed: (session: Session, transition: Transition) => {
        if (!this.#closing.has(session)) this.#events.changed(session.name, transition);
      },
      deferDetection: (session: Session) => this.#detectionGate.defer(session),
    };
    const session = new Session(
      { clock, random, schedule: this.#schedule },
      host,
      resolved,
      discriminator,
      transport.open(resolved.endpoint),
    );
    this.#byName.set(resolved.name, session);
    this.#byDiscriminator.set(discriminator, session);
    this.#byEndpoint.set(key, session);
    session.start();
  }

  #close(session: Session): void {
    this.#byName.delete(session.name);
    // Registered before `close`, so that the last state change is not reported: the session has no name any more.
    this.#closing.set(session, Promise.resolve());
    this.#closing.set(session, this.#awaitClose(session));
  }

  async #awaitClose(session: Session): Promise<void> {
    await session.close(maximumClosingTime);
    if (this.#closing.has(session)) this.#release(session);
  }

  #release(session: Session): void {
    this.#closing.delete(session);
    this.#detectionGate.cancel(session);
    session.release();
    this.#byDiscriminator.delete(session.discriminator);
    const key = endpointKey(session.resolved.endpoint);
    if (this.#byEndpoint.get(key) === session) this.#byEndpoint.delete(key);
  }

  #receive(payload: Uint8Array, source: string, networkInterface: string | undefined, multihop: boolean): void {
    this.#detectionGate.packetReceived();
    const packet = this.#packet;
    const fault = decodeControlPacket(payload, packet);
    if (fault !== undefined) return this.#discard(fault);
    const session =
      packet.yourDiscriminator === 0
        ? this.#ofEndpoint(source, networkInterface, multihop)
        : this.#byDiscriminator.get(packet.yourDiscriminator);
    if (session === undefined) return this.#discard('unknownSession');
    if (!isFromPeer(session.resolved, source, networkInterface, multihop)) return this.#discard('source');
    session.receive(packet, this.#components.clock.now());
  }

  #timeToSpare(): number {
    if (this.#detectionGate.isWaiting) return 0;
    const now = this.#components.clock.now();
    return Math.min(this.#schedule.next, Math.ceil(now / longestSlot) * longestSlot) - now;
  }

  #ofEndpoint(source: string, networkInterface: string | undefined, multihop: boolean): Session | undefined {
    return (
      this.#byEndpoint.get(demultiplexKey(source, networkInterface, multihop)) ??
      (networkInterface === undefined ? undefined : this.#byEndpoint.get(demultiplexKey(source, undefined, multihop)))
    );
  }

  #discard(reason: DiscardReason): void {
    this.#discards[reason]++;
  }
}

/** Throws SessionOptionsError if the session conflicts with the others. `taken` has the name of the session of each endpoint. */
function checkAmong(
  { name, endpoint }: ResolvedSession,
  others: ReadonlyMap<string, ResolvedSession>,
  taken: ReadonlyMap<string, string>,
): void {
  const other = taken.get(endpointKey(endpoint));
  if (other !== undefined)
    throw new SessionOptionsError('peer', `the session ${other} has the same peer, and their packets could not be told apart`);
  if (others.has(name)) throw new SessionOptionsError('name', 'another session has this name');
  if (others.size >= maximumSessions) throw new SessionOptionsError('name', `there are ${maximumSessions} sessions already`);
  const multihopPeers = others.values().reduce((count, { endpoint: { multihop } }) => count + (multihop === undefined ? 0 : 1), 0);
  if (endpoint.multihop !== undefined && multihopPeers >= maximumMultihopPeers) {
    throw new SessionOptionsError('multihop', `there are ${maximumMultihopPeers} multihop sessions already`);
  }
}

/** Checks the source of a packet: a guessed discriminator is not sufficient, and a single-hop packet counts only if its TTL was checked. */
function isFromPeer({ endpoint, peer }: ResolvedSession, source: string, networkInterface: string | undefined, multihop: boolean): boolean {
  return (
    multihop === (endpoint.multihop !== undefined) &&
    (endpoint.interface === undefined || endpoint.interface === networkInterface) &&
    source === peer
  );
}

/**
 * Returns a random discriminator, so that a restarted program does not reuse its old ones (RFC 5880 10). It is unique among the sessions
 * and not 0.
 */
export function newDiscriminator(random: Random, taken: { has(discriminator: number): boolean }): number {
  for (;;) {
    const discriminator = Math.floor(random() * 0x1_0000_0000);
    if (discriminator !== 0 && !taken.has(discriminator)) return discriminator;
  }
}
