import assert from 'node:assert';
import { FifoSet } from '../../lang/fifo-set.ts';
import { limits } from '../limits.ts';

const lines = ['first', 'next', 'last'] as const;
export type Line = (typeof lines)[number];

/** The keys that wait, in three lines. An earlier line goes first, but now and then one key of the last goes before the next. */
export class WaitingLines<K> {
  readonly #lines: Readonly<Record<Line, FifoSet<K>>> = { first: new FifoSet(), next: new FifoSet(), last: new FifoSet() };
  #takenBeforeLast = 0;

  get size(): number {
    return lines.reduce((sum, line) => sum + this.#lines[line].size, 0);
  }

  /** A key that waits in this line or an earlier one keeps its place. */
  add(key: K, line: Line): void {
    const known = lines.find((one) => this.#lines[one].has(key));
    if (known !== undefined && earlierLine(known, line) === known) return;
    if (known !== undefined) this.#lines[known].delete(key);
    this.#lines[line].add(key);
  }

  /** Takes the key whose turn it is. There must be one. */
  take(): K {
    const { first, next, last } = this.#lines;
    const isTurnOfLast = first.size === 0 && last.size > 0 && this.#takenBeforeLast >= limits.keysBeforeLastLine;
    const line = isTurnOfLast ? last : ([first, next, last].find(({ size }) => size > 0) ?? last);
    const key = line.first();
    assert(key !== undefined);
    if (line === last) this.#takenBeforeLast = 0;
    else if (line === next && last.size > 0) this.#takenBeforeLast++;
    line.delete(key);
    return key;
  }

  clear(): void {
    for (const line of lines) this.#lines[line].clear();
  }
}

export function earlierLine(a: Line, b: Line | undefined): Line {
  return b === undefined || lines.indexOf(a) <= lines.indexOf(b) ? a : b;
}
