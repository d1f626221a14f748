import type { Cancel, Clock } from '../../../system/clock.ts';
import { limits } from '../limits.ts';

/**
 * Collects paths until no event came for a moment and `ready` has resolved, then processes all of them; one batch at a time. Holds
 * everything until `begin`, which starts the first batch, however long it took to collect.
 */
export class PathBatch {
  readonly #clock: Clock;
  readonly #process: (paths: ReadonlySet<string>) => Promise<void>;
  readonly #ready: () => Promise<void>;
  #paths = new Set<string>();
  #first = 0;
  #cancel: Cancel | undefined;
  #running = true;
  #closed = false;

  constructor(clock: Clock, take: (paths: ReadonlySet<string>) => Promise<void>, ready: () => Promise<void> = async () => undefined) {
    this.#clock = clock;
    this.#ready = ready;
    this.#process = take;
  }

  add(path: string): void {
    if (this.#closed) return;
    if (this.#paths.size === 0) this.#first = this.#clock.now();
    this.#paths.add(path);
    this.#schedule();
  }

  begin(): Promise<void> {
    return this.#run();
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  #schedule(): void {
    if (this.#running || this.#closed || this.#paths.size === 0) return;
    this.#cancel?.();
    const latest = this.#first + limits.latestMilliseconds - this.#clock.now();
    this.#cancel = this.#clock.after(Math.max(0, Math.min(limits.quietMilliseconds, latest)), () => void this.#run());
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      await this.#ready();
      const paths = this.#paths;
      this.#paths = new Set();
      await this.#process(paths);
    } finally {
      this.#running = false;
      this.#schedule();
    }
  }
}
