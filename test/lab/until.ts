import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

export type Note = <V>(seen: V) => V;

/**
 * The time between two attempts: 20 ms at first, and a twentieth of the time that has passed, up to 100 ms. Most attempts start a program, and a long wait
 * would otherwise take the processor from what it waits for.
 */
const pause = (waited: number): number => Math.min(Math.max(20, waited / 20), 100);

/**
 * Default timeout of `until` in milliseconds. Most waits end within two seconds, but shared machines can be slow. A project of vitest can set another: a little
 * less than its limit of a test, so that the error says what was awaited.
 */
export const patience = Number(process.env['HERALD_TEST_PATIENCE'] ?? 60_000);

/**
 * Repeats `attempt` until it returns a value other than false, null or undefined, and returns that value.
 *
 * An attempt that throws is repeated too. At the timeout, AwaitedError says what was awaited and what was seen last: the value given to
 * `note`, or else the result of the last attempt. The error of the last attempt is added.
 */
export async function until<T>(
  what: string,
  attempt: (note: Note) => T | Promise<T>,
  timeoutMs = patience,
): Promise<Exclude<T, false | null | undefined>> {
  const began = performance.now();
  for (;;) {
    let seen: unknown = nothing;
    let failure: unknown = nothing;
    let result: T | undefined;
    try {
      result = await attempt((value) => {
        seen = value;
        return value;
      });
    } catch (error) {
      failure = error;
    }
    if (failure === nothing && result !== false && result !== null && result !== undefined) {
      return result as Exclude<T, false | null | undefined>;
    }
    const waited = performance.now() - began;
    if (waited >= timeoutMs) throw new AwaitedError(what, timeoutMs, seen === nothing ? result : seen, failure);
    await sleep(pause(waited));
  }
}

const nothing = Symbol('nothing');

export class AwaitedError extends Error {
  readonly code = 'awaited-in-vain';

  constructor(what: string, timeoutMs: number, seen: unknown, failure: unknown) {
    const error = failure === nothing ? '' : `; it failed with: ${failure instanceof Error ? failure.message : inspect(failure)}`;
    super(`not within ${timeoutMs} ms: ${what}; last seen: ${inspect(seen, { depth: 8, breakLength: 140 })}${error}`);
    this.name = 'AwaitedError';
  }
}
