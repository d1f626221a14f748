import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import type { NftExecutor } from './executor.ts';
import { revisionSet, tableName } from './layout.ts';
import { monitorRestart, monitorSettle } from './limits.ts';

export interface WatchHandlers {
  /** True if a transaction that wrote this revision is ours. */
  readonly isOurs: (revision: number) => boolean;
  /** Another program touched our tables, or may have done so unseen. `what` says how the watch knows. */
  readonly onForeignChange: (what: string) => void;
}

/**
 * Follows `nft monitor` and reports transactions on our tables that are not ours. The monitor prints the changes of a
 * transaction, then a line "# new generation"; ours write a number into the revision set. A monitor that ends is started
 * again (nft 1.0.6 crashes on some elements of sets with intervals and concatenation); what it missed meanwhile has to be looked for, so each start reports a possible change.
 */
export function watchRuleset(executor: NftExecutor, clock: Clock, log: Log, handlers: WatchHandlers): { stop(): Promise<void> } {
  let stopped = false;
  let delay: number = monitorRestart.first;
  let monitor: { stop(): Promise<void> } | undefined;
  let cancel: Cancel = () => undefined;

  const start = (): void => {
    const transaction = new TransactionReader(handlers, () => (delay = monitorRestart.first));
    monitor = executor.monitor(
      (line) => transaction.read(line),
      (why) => {
        if (stopped) return;
        cancel();
        monitor = undefined;
        log.warn({ why, delay }, 'nftables monitor ended');
        cancel = clock.after(delay, start);
        delay = Math.min(delay * 2, monitorRestart.maximum);
      },
    );
    cancel = clock.after(monitorSettle, () => handlers.onForeignChange('the monitor was started'));
  };
  start();
  return {
    async stop() {
      stopped = true;
      cancel();
      await monitor?.stop();
    },
  };
}

/** Collects the lines of one transaction. */
export class TransactionReader {
  readonly #handlers: WatchHandlers;
  readonly #onEvent: () => void;
  #ours = false;
  #first: string | undefined;

  constructor(handlers: WatchHandlers, onEvent: () => void = () => undefined) {
    this.#handlers = handlers;
    this.#onEvent = onEvent;
  }

  read(line: string): void {
    if (line.startsWith('# new generation')) {
      if (this.#first !== undefined && !this.#ours) this.#handlers.onForeignChange(this.#first);
      this.#ours = false;
      this.#first = undefined;
    } else if (line.startsWith('# ERROR')) {
      // The socket overflowed.
      this.#handlers.onForeignChange(line);
    } else if (ourTable.test(line)) {
      this.#onEvent();
      const revision = ourRevision.exec(line)?.[1];
      if (revision !== undefined && this.#handlers.isOurs(Number(revision))) this.#ours = true;
      this.#first ??= line.slice(0, 200);
    }
  }
}

const ourTable = new RegExp(`^(?:add|delete|replace|insert|destroy|reset) \\w+ ip6? ${tableName}(?: |$)`);
const ourRevision = new RegExp(`^add element ip ${tableName} ${revisionSet} \\{ (0x[0-9a-f]+|[0-9]+) `);
