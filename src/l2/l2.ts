import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';
import { RequestChannel } from '../lang/request-channel.ts';
import { systemClock, type Cancel } from '../system/clock.ts';
import { loadLibc, type Libc } from '../system/ffi/libc.ts';
import { Counters } from './counters.ts';
import { heartbeatInterval } from './limits.ts';
import type { L2Event, L2Status } from './status.ts';
import type { AddressChanges, PeerSession, Refusal, Table } from './table.ts';
import type { Answers, FeedMessage, Message, Question, SessionMessage, WorkerOptions } from './worker/messages.ts';

export interface L2Options {
  /** Asks for real-time priority (SCHED_FIFO). Without the permission the thread runs at normal priority. Default: no. */
  readonly realTime?: boolean;
}

/** ARP and NDP announcement cannot run on this host. */
export class L2UnavailableError extends Error {
  readonly code = 'ERR_L2_UNAVAILABLE';

  constructor() {
    super('announcing addresses by ARP and NDP needs Linux and the native module koffi, with which it opens packet sockets');
    this.name = 'L2UnavailableError';
  }
}

/** The end of a channel by which another thread tells the states of BFD sessions. */
export interface SessionFeed {
  /** Takes `{ type: 'session', name, state }`. Transfer it to the thread that runs the sessions. */
  readonly port: MessagePort;
  /** A file descriptor of this process. After each message, write eight octets to it: the number 1, little-endian. */
  readonly wake: number;
}

const EFD_CLOEXEC = 0o2000000;
const EFD_NONBLOCK = 0o4000;
const one = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);

type Listener = (event: L2Event) => void;

/**
 * Announces addresses by ARP and NDP in a thread of its own. The caller sets the table and the states of the BFD sessions, and gets events.
 * The thread answers while the main thread is busy, and stops when it hangs.
 */
export class L2 {
  readonly #libc: Libc;
  readonly #worker: Worker;
  readonly #wake: number;
  readonly #listeners = new Set<Listener>();
  readonly #requests: RequestChannel<Answers>;
  readonly #started = Promise.withResolvers<boolean>();
  readonly #ended: Promise<void>;
  readonly #beats: Int32Array<SharedArrayBuffer>;
  #cancelBeat: Cancel = () => undefined;
  #stopping: Promise<void> | undefined;

  /** Throws L2UnavailableError. */
  constructor({ realTime = false }: L2Options = {}) {
    const libc = loadLibc();
    const wake = libc?.eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) ?? -1;
    if (libc === undefined || wake < 0) throw new L2UnavailableError();
    this.#libc = libc;
    this.#wake = wake;
    const heartbeat = new SharedArrayBuffer(4);
    this.#beats = new Int32Array(heartbeat);
    this.#beat();
    const workerData: WorkerOptions = { realTime, wake, heartbeat };
    // The compiled program ends in `.js`.
    const program = new URL(import.meta.url.endsWith('.ts') ? './worker/thread.ts' : './worker/thread.js', import.meta.url);
    this.#worker = new Worker(program, { workerData, name: 'l2' });
    this.#requests = new RequestChannel((request) => this.#send(request), whenStopped);
    this.#worker.on('message', (message: Message) => this.#onMessage(message));
    // An error in the thread is a bug. Without a listener for `error` it ends the process, as an error in the main thread does.
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#worker.once('exit', () => {
      this.#cancelBeat();
      resolve();
    });
    this.#ended = promise;
  }

  /** Resolves when the thread runs, with true if it has real-time priority. */
  started(): Promise<boolean> {
    return this.#started.promise;
  }

  /** Makes this the table, exactly. Resolves with the links and entries that were refused and why; the others are in force. */
  set(table: Table): Promise<readonly Refusal[]> {
    return this.#ask({ type: 'set', table });
  }

  /** Changes some addresses of the table. Costs as much as the change, however large the table is. */
  change(changes: AddressChanges): Promise<readonly Refusal[]> {
    return this.#ask({ type: 'change', changes });
  }

  /** Takes the state of a BFD session that a peer of the table names. A session without a state is not up. */
  sessionChanged(name: string, state: PeerSession): void {
    this.#post({ type: 'session', name, state });
  }

  /** Returns a channel by which another thread tells the states of sessions, without the main thread. */
  sessionFeed(): SessionFeed {
    const { port1, port2 } = new MessageChannel();
    this.#post({ type: 'feed', port: port1 }, [port1]);
    return { port: port2, wake: this.#wake };
  }

  /** Announces the held addresses of an interface at once, because the network has changed (NETDEV_NOTIFY_PEERS). */
  announceAgain(networkInterface: string): Promise<void> {
    return this.#ask({ type: 'announceAgain', interface: networkInterface });
  }

  /** Calls the listener with every event. The returned function removes it. */
  onEvent(listener: Listener): () => void {
    // A new function, so that a listener added twice can be removed once.
    const call: Listener = (event) => listener(event);
    this.#listeners.add(call);
    return () => void this.#listeners.delete(call);
  }

  /** `addresses`: only these, as text. Absent: all, which keeps the thread from answering for as long as it takes to list them. */
  status(addresses?: readonly string[]): Promise<L2Status> {
    return this.#ask({ type: 'status', ...(addresses === undefined ? {} : { addresses }) });
  }

  /** Costs the same for any number of addresses. */
  counters(): Promise<Counters> {
    return this.#ask({ type: 'counters' });
  }

  /**
   * Gives all addresses up. Each is answered until another node announces it, for a second at most: bring the BFD sessions to AdminDown at the
   * same time. Resolves when the thread has ended. Later calls get an empty answer.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    await this.#requests.askLast({ type: 'stop' });
    await this.#ended;
    this.#libc.close(this.#wake);
  }

  #ask<Q extends Question>(question: Q): Promise<Answers[Q['type']]> {
    return this.#requests.ask(question);
  }

  #post(message: SessionMessage | FeedMessage, transfer: readonly MessagePort[] = []): void {
    if (!this.#requests.closed) this.#send(message, transfer);
  }

  #send(message: object, transfer: readonly MessagePort[] = []): void {
    this.#worker.postMessage(message, transfer);
    this.#libc.write(this.#wake, one, one.length);
  }

  #onMessage(message: Message): void {
    switch (message.type) {
      case 'started':
        this.#started.resolve(message.realTime);
        return;
      case 'answer':
        this.#requests.answered(message.value);
        return;
      case 'events':
        for (const event of message.events) for (const listener of this.#listeners) listener(event);
    }
  }

  /** The sign of life of the main thread. */
  #beat(): void {
    Atomics.add(this.#beats, 0, 1);
    this.#cancelBeat = systemClock.after(heartbeatInterval, () => this.#beat());
  }
}

const whenStopped = (): Answers => ({
  set: [],
  change: [],
  announceAgain: undefined,
  status: { links: [], addresses: [], counters: new Counters(), suspended: false },
  counters: new Counters(),
  stop: undefined,
});
