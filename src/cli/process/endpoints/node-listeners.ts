import { defined } from '../../../lang/defined.ts';
import type { ListenerOptions } from '../../../agent/host/retrying-http-listener.ts';
import type { RetryingListener } from '../../../system/http/retrying-listener.ts';
import type { Log } from '../../../system/log.ts';

interface NodeListenersOptions {
  readonly port: number;
  readonly listen: (options: Pick<ListenerOptions, 'place' | 'after'>) => RetryingListener;
  readonly log: Log;
}

const loopback = ['127.0.0.1', '::1'];

/** Listeners at the addresses of a Node. The addresses may appear after the agent has started, and may change. */
export class NodeListeners {
  readonly #options: NodeListenersOptions;
  readonly #listeners = new Map<string, RetryingListener>();
  /** By address. The same address may be needed again before its port is free. */
  readonly #closing = new Map<string, Promise<void>>();

  constructor(options: NodeListenersOptions) {
    this.#options = options;
  }

  /** Listens at the current addresses of the Node and closes the listeners of others. Repeating the same addresses changes nothing. */
  replaceAddresses(addresses: readonly string[]): void {
    const { port, log } = this.#options;
    if (addresses.length === 0) {
      // A Node that loses its addresses for a moment is still scraped at the old ones.
      if (this.#listeners.size > 0) return;
      log.warn({ port }, 'the Node has no InternalIP yet: metrics are served on the loopback addresses alone until it has one');
    }
    const wanted = new Set(addresses.length === 0 ? loopback : addresses);
    for (const address of this.#listeners.keys()) if (!wanted.has(address)) this.#end(address);
    for (const address of wanted) {
      if (this.#listeners.has(address)) continue;
      const after = this.#closing.get(address);
      this.#listeners.set(address, this.#options.listen({ place: { address, port }, ...defined({ after }) }));
    }
  }

  async close(): Promise<void> {
    for (const address of this.#listeners.keys()) this.#end(address);
    await Promise.all(this.#closing.values());
  }

  #end(address: string): void {
    const listener = this.#listeners.get(address);
    if (listener === undefined) return;
    this.#listeners.delete(address);
    // The listener may still wait for an earlier one at this address. Then its close waits too.
    const closed = listener.close();
    this.#closing.set(address, closed);
    void this.#forget(address, closed);
  }

  async #forget(address: string, closed: Promise<void>): Promise<void> {
    await closed;
    if (this.#closing.get(address) === closed) this.#closing.delete(address);
  }
}
