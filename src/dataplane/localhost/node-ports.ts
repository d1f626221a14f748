import type { Family } from '../../net/address.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { ListenError, type SocketAddress } from '../../system/http/http-listener.ts';
import type { Log } from '../../system/log.ts';
import type { ForwardTcp, TcpForwarder } from '../../system/http/tcp-forwarder.ts';
import { limits } from './limits.ts';

export interface LocalhostComponents {
  readonly forwardTcp: ForwardTcp;
  readonly clock: Clock;
  readonly log: Log;
}

/** A TCP NodePort in one family. */
export interface LocalhostPort {
  readonly family: Family;
  readonly port: number;
}

/** A port that is not served, and the reason. */
export interface UnservedPort extends LocalhostPort {
  readonly why: string;
}

const loopback: Readonly<Record<Family, string>> = { 4: '127.0.0.1', 6: '::1' };

interface Listener extends LocalhostPort {
  /** Undefined: the port is not listened on, or not yet. */
  forwarder: TcpForwarder | undefined;
  why: string | undefined;
  /** Cancels the next attempt. */
  cancel: Cancel | undefined;
}

/** The listening sockets on the loopback addresses. Established connections continue when their port is closed. */
export class LocalhostNodePorts {
  readonly #components: LocalhostComponents;
  readonly #target: (of: LocalhostPort) => SocketAddress | undefined;
  readonly #listeners = new Map<string, Listener>();
  /** Listeners of `#listeners` that exceed the limit, oldest first. */
  readonly #waiting = new Set<Listener>();
  /** Runs operations one after another: a closed port must be free before it is opened again. */
  #work: Promise<void> = Promise.resolve();

  /** `target` returns the current address at which NodePorts of the family are answered. */
  constructor(components: LocalhostComponents, target: (of: LocalhostPort) => SocketAddress | undefined) {
    this.#components = components;
    this.#target = target;
  }

  /** Listens on the port. Idempotent. */
  open(of: LocalhostPort): void {
    const key = keyOf(of);
    if (this.#listeners.has(key)) return;
    const listener: Listener = { ...of, forwarder: undefined, why: undefined, cancel: undefined };
    this.#listeners.set(key, listener);
    if (this.#listeners.size - this.#waiting.size > limits.listeners) {
      listener.why = `the limit of ${limits.listeners} listeners is reached`;
      this.#waiting.add(listener);
    } else this.#work = this.#work.then(() => this.#listen(listener));
  }

  close(of: LocalhostPort): void {
    const listener = this.#listeners.get(keyOf(of));
    if (listener === undefined) return;
    this.#listeners.delete(keyOf(of));
    listener.cancel?.();
    this.#work = this.#work.then(() => listener.forwarder?.close());
    if (this.#waiting.delete(listener)) return;
    const [oldest] = this.#waiting;
    if (oldest === undefined) return;
    this.#waiting.delete(oldest);
    this.#work = this.#work.then(() => this.#listen(oldest));
  }

  unserved(): UnservedPort[] {
    return [...this.#listeners.values()].flatMap(({ family, port, why }) => (why === undefined ? [] : [{ family, port, why }]));
  }

  async stop(): Promise<void> {
    const all = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const { cancel } of all) cancel?.();
    await this.#work;
    await Promise.all(all.flatMap(({ forwarder }) => (forwarder === undefined ? [] : [forwarder.close('connections')])));
  }

  async #listen(listener: Listener): Promise<void> {
    const { forwardTcp, clock, log } = this.#components;
    const { family, port } = listener;
    if (this.#listeners.get(keyOf(listener)) !== listener) return;
    const before = listener.why;
    try {
      listener.forwarder = await forwardTcp({ address: loopback[family], port }, () => this.#target(listener));
      listener.why = undefined;
    } catch (error) {
      if (!(error instanceof ListenError)) throw error;
      // A host without this address family has no clients there.
      if (error.code === 'noAddress') return;
      listener.why = error.message;
      listener.cancel = clock.after(limits.retryMilliseconds, () => {
        this.#work = this.#work.then(() => this.#listen(listener));
      });
    }
    if (listener.why !== before) log.warn({ family, port, why: listener.why }, 'the state of a NodePort on localhost has changed');
  }
}

const keyOf = ({ family, port }: LocalhostPort): string => `${family} ${port}`;
