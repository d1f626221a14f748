import type { Cancel, Clock } from '../../system/clock.ts';
import { limits } from '../limits.ts';

/** pino's number for the level. */
export const warning = 40;

/**
 * Writes the lines of a log together, at most `logMilliseconds` late: while ten thousand Services get an address, a system call for each line would
 * take as long as a tenth of all other work. A warning is written at once, with the lines before it.
 */
export class BatchedLines {
  readonly #output: { write(text: string): unknown };
  readonly #clock: Clock;
  #waiting = '';
  #cancel: Cancel | undefined;

  constructor(output: { write(text: string): unknown }, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
  }

  write(line: string, isUrgent: boolean): void {
    this.#waiting += line;
    if (isUrgent || this.#waiting.length >= limits.logCharacters) this.flush();
    else this.#cancel ??= this.#clock.after(limits.logMilliseconds, () => this.flush());
  }

  /** Writes the lines that wait. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const text = this.#waiting;
    this.#waiting = '';
    if (text !== '') this.#output.write(text);
  }
}
