import type { Cancel, Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import { SerialQueue } from '../lang/serial-queue.ts';
import { repairDelay, repairInterval } from './limits.ts';

export interface KernelSetPorts {
  readonly clock: Clock;
  readonly log: Log;
}

interface CheckOptions {
  /** Names the objects for people: "unreachable routes". */
  readonly what: string;
  /** Milliseconds between two checks. */
  readonly interval: number;
  /** The level of the line that says that a check failed. */
  readonly level: 'warn' | 'error';
}

/**
 * Base class of a set of objects that Herald wants in the kernel. The subclass knows the wanted objects and the present ones, and brings
 * the kernel from these to those. This class runs its work one piece at a time, and schedules the checks that find what another program
 * changed.
 */
export abstract class KernelSet<P extends KernelSetPorts> {
  protected readonly ports: P;
  readonly #options: CheckOptions;
  readonly #serial = new SerialQueue();
  #cancel: Cancel | undefined;
  /** The time of the next check, on the clock. */
  #checkAt = Number.POSITIVE_INFINITY;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #stopWatching: (() => void) | undefined;
  #closed = false;

  constructor(ports: P, options: CheckOptions) {
    this.ports = ports;
    this.#options = options;
  }

  /** Compares the kernel with the wanted objects and restores them. */
  protected abstract check(): Promise<void>;

  /** Schedules the check after a check, if one is needed. */
  protected abstract scheduleNextCheck(): void;

  /** Stops watching. The objects stay, so that traffic flows while an agent restarts. */
  async close(): Promise<void> {
    this.#closed = true;
    this.cancelCheck();
    this.#stopWatching?.();
    await this.#serial.idle();
  }

  protected get isClosed(): boolean {
    return this.#closed;
  }

  protected get isWatched(): boolean {
    return this.#stopWatching !== undefined;
  }

  /** Runs work that reads or changes the kernel after that which runs already. */
  protected run<T>(work: () => Promise<T>): Promise<T> {
    return this.#serial.run(work);
  }

  /** Checks soon after each event of the kernel. Later calls do nothing. Undefined: there are no events. */
  protected watch(subscribe: ((changed: () => void) => () => void) | undefined): void {
    if (!this.#closed) this.#stopWatching ??= subscribe?.(() => this.scheduleCheckSoon());
  }

  /** Limits the rate of repairs: a program that fights for our objects must not keep a core busy. */
  protected scheduleCheckSoon(): void {
    this.scheduleCheck(Math.max(repairDelay, this.#checkedAt + repairInterval - this.ports.clock.now()));
  }

  /** Keeps one scheduled check: the earlier one. */
  protected scheduleCheck(delay = this.#options.interval): void {
    const { clock, log } = this.ports;
    const { what, level } = this.#options;
    const at = clock.now() + delay;
    if (this.#closed || at >= this.#checkAt) return;
    this.#cancel?.();
    this.#checkAt = at;
    this.#cancel = clock.after(delay, () => {
      this.#checkAt = Number.POSITIVE_INFINITY;
      this.#checkedAt = clock.now();
      this.run(async () => {
        if (!this.#closed) await this.check();
      })
        .catch((error: unknown) => log[level]({ error: String(error) }, `${what} could not be checked`))
        .finally(() => this.scheduleNextCheck());
    });
  }

  protected cancelCheck(): void {
    this.#cancel?.();
    this.#checkAt = Number.POSITIVE_INFINITY;
  }
}
