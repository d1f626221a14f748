import type { Cancel, Clock } from '../../system/clock.ts';
import { MalformedNetlink, NetlinkError } from '../../system/netlink/error.ts';
import type { Begun } from './dropped-connections.ts';
import type { Pair } from './flow-reader.ts';
import { answerTime, begunFactor, begunPause, lookPause } from './limits.ts';

interface AwaitedComponents {
  readonly clock: Clock;
  /** Rejects with NetlinkError or MalformedNetlink. */
  readonly listBegun: () => Promise<Map<string, Begun>>;
  /** Returns a function that returns the milliseconds of a processor spent since. */
  readonly stopwatch: () => () => number;
  /** Called with them. */
  readonly spent: (milliseconds: number) => void;
  /** As of WatchHandlers. */
  readonly isAwaited: (pair: Pair, at: number) => boolean;
  /** Called with the time at which a look would show whether an awaited connection was answered. */
  readonly found: (at: number) => void;
  /** When the last look ended. */
  readonly lookEnded: () => number;
}

/**
 * Notices that connections begin whose answer would be news: of clients that connect again after a repair. Listing them is some twenty times as
 * cheap as a look, so it may be done while nobody connects.
 */
export class AwaitedConnections {
  readonly #components: AwaitedComponents;
  #cancel: Cancel | undefined;

  constructor(components: AwaitedComponents) {
    this.#components = components;
  }

  start(): void {
    if (this.#cancel === undefined) this.#schedule(begunPause);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(pause: number): void {
    this.#cancel = this.#components.clock.after(pause, () => void this.#list());
  }

  async #list(): Promise<void> {
    const { clock, stopwatch, spent, listBegun } = this.#components;
    const cancel = this.#cancel;
    const took = stopwatch();
    let begun: Iterable<Begun> = [];
    try {
      begun = (await listBegun()).values();
    } catch (error) {
      // A look meets the same error, and reports it.
      if (!(error instanceof NetlinkError || error instanceof MalformedNetlink)) throw error;
    }
    // Stopped, or started anew.
    if (this.#cancel !== cancel) return;
    this.#ask(begun, clock.now());
    const milliseconds = took();
    spent(milliseconds);
    this.#schedule(Math.max(begunPause, milliseconds * begunFactor));
  }

  /** Looks that show nothing new keep their distance, so that some are left when connections are answered. */
  #ask(begun: Iterable<Begun>, now: number): void {
    const { isAwaited, found, lookEnded } = this.#components;
    let earliest = Number.POSITIVE_INFINITY;
    for (const { pair, at } of begun) if (at + answerTime < earliest && isAwaited(pair, at)) earliest = at + answerTime;
    if (earliest < Number.POSITIVE_INFINITY) found(Math.max(now, earliest, lookEnded() + lookPause));
  }
}
