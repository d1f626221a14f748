import { defined } from '../../lang/defined.ts';
import type { ObservedConnection } from '../../net/observed-connection.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { MalformedNetlink, NetlinkError } from '../../system/netlink/error.ts';
import { netfilterProtocol, openNetlink, type NetlinkOptions, type NetlinkSocket } from '../../system/netlink/socket.ts';
import { ConnectionSample } from './connection-sample.ts';
import { DroppedConnections, type ListBegun } from './dropped-connections.ts';
import { EndedConnections } from './ended-connections.ts';
import { readTimeouts, type Timeouts } from './flow-outcome.ts';
import type { Pair } from './flow-reader.ts';
import { AwaitedConnections } from './awaited-connections.ts';
import { askedLookPause, timeoutsAge } from './limits.ts';
import { LookBudget } from './look-budget.ts';

export interface ConnectionLook {
  readonly connections: readonly ObservedConnection[];
  /** In milliseconds of the clock. Later connections may be missing. */
  readonly began: number;
  /** The share of all connections that was looked at, 0 to 1. Ended ones are reported from all of them. */
  readonly share: number;
}

export interface WatchHandlers {
  /** Called with connections that ended without an answer. */
  readonly ended: (connections: readonly ObservedConnection[]) => void;
  /** Called after each look. */
  readonly looked: (look: ConnectionLook) => void;
  /** Called when connections, or some of them, cannot be seen, and with undefined when they can. */
  readonly blind: (why: string | undefined) => void;
  /** Called with the milliseconds that a part of the work took. */
  readonly spent: (milliseconds: number) => void;
  /** True: connections of the pair were answered in the last minutes. */
  readonly isAnswered: (pair: Pair) => boolean;
  /** True: it would be news that a connection of the pair was answered that began at this time. */
  readonly isAwaited: (pair: Pair, at: number) => boolean;
}

export interface ConnectionWatch {
  /** Requests a look within a few seconds, or at a later time of the clock, if looks have not cost too much lately. */
  lookSoon(at?: number): void;
  /** While `isOn`, a look soon follows connections that begin and are awaited. */
  awaitConnections(isOn: boolean): void;
  /** No handler is called afterwards. */
  stop(): void;
}

/** Begins to watch what becomes of the connections through this machine that are translated to an endpoint. */
export type WatchConnections = (handlers: WatchHandlers) => ConnectionWatch;

interface WatchComponents {
  readonly clock: Clock;
  readonly listBegun: ListBegun;
  /** As of Host. */
  readonly readSetting: (path: string) => Promise<string | undefined>;
  /** Returns the processor time of this process. Default: the time by the clock. */
  readonly processorMilliseconds?: () => number;
  /** A file such as /run/netns/node1. Absent: the network namespace of this process. */
  readonly networkNamespace?: string;
  /** Tests pass another one. */
  readonly open?: (options: NetlinkOptions) => NetlinkSocket | undefined;
}

/**
 * Watches by connection tracking: a look at a part of the table at intervals, the kernel's events about connections that ended without an answer,
 * because a refused connection is deleted at once, and a list of those that began, because a dropped one is never entered. All are bounded in
 * processor time.
 */
export function watchConnections(components: WatchComponents): WatchConnections {
  return (handlers) => new KernelWatch(components, handlers);
}

class KernelWatch implements ConnectionWatch {
  readonly #components: WatchComponents;
  readonly #handlers: WatchHandlers;
  readonly #sample: ConnectionSample;
  readonly #ended: EndedConnections;
  readonly #dropped: DroppedConnections;
  #timeouts: Timeouts | undefined;
  #timeoutsRead = Number.NEGATIVE_INFINITY;
  readonly #awaited: AwaitedConnections;
  readonly #budget: LookBudget;
  #due = Number.POSITIVE_INFINITY;
  #cancel: Cancel = () => undefined;
  #cancelEvents: Cancel = () => undefined;
  #isLooking = false;
  /** The earliest time for which a look was requested during a look. */
  #wanted = Number.POSITIVE_INFINITY;
  #stopped = false;
  #lookProblem: string | undefined;
  #eventProblem: string | undefined;
  /** The kernel is set to report no connections. */
  #eventsOff = false;

  constructor(components: WatchComponents, handlers: WatchHandlers) {
    const { clock } = components;
    this.#components = components;
    this.#handlers = handlers;
    this.#sample = new ConnectionSample(clock);
    this.#ended = new EndedConnections(clock, (options) => this.#open(options), {
      timeouts: () => this.#timeouts ?? unknownTimeouts,
      ended: handlers.ended,
      spent: handlers.spent,
      failed: (error) => {
        this.#eventProblem = error.message;
        this.#cancelEvents = clock.after(timeoutsAge, () => this.#startEvents());
        this.#tellBlind();
      },
    });
    this.#dropped = new DroppedConnections({
      clock,
      listBegun: components.listBegun,
      open: () => this.#open({ protocol: netfilterProtocol }),
      timeouts: () => this.#timeouts ?? unknownTimeouts,
      reportedSince: () => (this.#eventsOff ? Number.POSITIVE_INFINITY : this.#ended.since),
      isAnswered: handlers.isAnswered,
    });
    this.#awaited = new AwaitedConnections({
      clock,
      listBegun: () => this.#dropped.listBegun(),
      stopwatch: () => this.#stopwatch(),
      spent: handlers.spent,
      isAwaited: handlers.isAwaited,
      found: (at) => this.lookSoon(at),
      lookEnded: () => this.#budget.ended,
    });
    this.#budget = new LookBudget(clock.now() + askedLookPause);
    void this.#begin();
    this.#schedule(this.#budget.regular);
  }

  lookSoon(at?: number): void {
    // A connection must have waited for some seconds before it counts as unanswered.
    const wanted = at ?? this.#components.clock.now() + askedLookPause;
    if (this.#isLooking) this.#wanted = Math.min(this.#wanted, wanted);
    else this.#schedule(this.#budget.asked(wanted));
  }

  awaitConnections(isOn: boolean): void {
    if (isOn && !this.#stopped) this.#awaited.start();
    else this.#awaited.stop();
  }

  stop(): void {
    this.#stopped = true;
    this.#awaited.stop();
    this.#cancel();
    this.#cancelEvents();
    this.#ended.stop();
  }

  async #begin(): Promise<void> {
    await this.#readTimeouts();
    if (!this.#stopped) this.#startEvents();
  }

  #schedule(due: number): void {
    if (this.#stopped || this.#isLooking || due >= this.#due) return;
    const { clock } = this.#components;
    this.#cancel();
    this.#due = due;
    this.#cancel = clock.after(Math.max(0, due - clock.now()), () => void this.#look());
  }

  async #look(): Promise<void> {
    const { clock } = this.#components;
    this.#isLooking = true;
    this.#due = Number.POSITIVE_INFINITY;
    const began = clock.now();
    const spent = this.#stopwatch();
    try {
      await this.#readTimeouts();
      const seen = await this.#listConnections();
      if (this.#stopped) return;
      this.#lookProblem = undefined;
      this.#tellBlind();
      this.#handlers.looked({ ...seen, began });
    } catch (error) {
      if (!(error instanceof NetlinkError || error instanceof MalformedNetlink)) throw error;
      if (this.#stopped) return;
      this.#lookProblem = error.message;
      this.#tellBlind();
    }
    const took = spent();
    this.#handlers.spent(took);
    this.#budget.note({ began, ended: clock.now(), spent: took });
    this.#isLooking = false;
    const wanted = this.#wanted;
    this.#wanted = Number.POSITIVE_INFINITY;
    this.#schedule(Math.min(this.#budget.regular, this.#budget.asked(wanted)));
  }

  async #listConnections(): Promise<Omit<ConnectionLook, 'began'>> {
    const { readSetting } = this.#components;
    const begun = await this.#dropped.listBegun();
    // An empty table of the default size takes the kernel 10 ms.
    const tracked = Number((await readSetting('net/netfilter/nf_conntrack_count')) ?? Number.NaN);
    if (tracked === 0) return { connections: await this.#dropped.find(begun, true), share: 1 };
    const socket = this.#open({ protocol: netfilterProtocol });
    try {
      const { connections, listed, isWhole } = await this.#sample.look(socket, this.#timeouts ?? unknownTimeouts, begun);
      const dropped = await this.#dropped.find(begun, isWhole);
      // Some of the tracked connections are not translated, so the true share may be larger.
      return { connections: [...connections, ...dropped], share: isWhole ? 1 : Math.min(1, listed / tracked) };
    } finally {
      socket.close();
    }
  }

  async #readTimeouts(): Promise<void> {
    const { clock, readSetting } = this.#components;
    if (clock.now() - this.#timeoutsRead < timeoutsAge) return;
    this.#timeoutsRead = clock.now();
    this.#timeouts = await readTimeouts(readSetting);
    this.#eventsOff = (await readSetting('net/netfilter/nf_conntrack_events')) === '0';
  }

  /** Returns a function that returns the milliseconds spent since. The true number may be lower: other work of the process may count as well. */
  #stopwatch(): () => number {
    const { clock, processorMilliseconds = () => clock.now() } = this.#components;
    const [began, used] = [clock.now(), processorMilliseconds()];
    return () => Math.min(clock.now() - began, processorMilliseconds() - used);
  }

  #startEvents(): void {
    this.#eventProblem = undefined;
    this.#ended.start();
  }

  #tellBlind(): void {
    const off = this.#eventsOff ? 'net.netfilter.nf_conntrack_events is 0, so the kernel does not report refused connections' : undefined;
    this.#handlers.blind(this.#lookProblem ?? this.#eventProblem ?? off);
  }

  /** Throws NetlinkError. */
  #open(options: NetlinkOptions): NetlinkSocket {
    const { networkNamespace, open = openNetlink } = this.#components;
    const socket = open({ ...options, ...defined({ networkNamespace }) });
    if (socket === undefined) throw new MalformedNetlink('this machine has no FFI');
    return socket;
  }
}

const unknownTimeouts: Timeouts = {
  tcp: [],
  unacknowledged: Number.NaN,
  unacknowledgedLeast: Number.NaN,
  udp: Number.NaN,
  udpStream: Number.NaN,
};
