import { InvalidArgumentError, Option } from 'commander';
import { KubeError } from '../kube/error.ts';
import { SourceError } from '../sources/source.ts';
import { sleep } from '../system/clock.ts';
import { UsageError, type Environment } from './environment.ts';
import { limits } from './limits.ts';

export interface WatchOptions {
  /** Seconds between two readings; absent: there is one. */
  readonly watch?: number;
}

export const watchOption = (): Option =>
  new Option(
    '-w, --watch [seconds]',
    `show it again when it has changed, looking every so many seconds (${limits.watchSeconds}), until Ctrl-C`,
  )
    .argParser(readSeconds)
    .preset(String(limits.watchSeconds));

/** An answer and how it is separated from the one before it, where there is no terminal to redraw. */
export interface Answer {
  readonly lines: readonly string[];
  readonly separator: readonly string[];
}

/**
 * Gives an answer, and under --watch a new one whenever it differs. The pause is at least as long as reading took, so that a large cluster is
 * not read all the time. What fails once is told and tried again; the first time it is the answer. Ends with the signal.
 */
export async function answerAndWatch(
  environment: Environment,
  { watch }: WatchOptions,
  title: string,
  answer: () => Promise<Answer>,
): Promise<void> {
  const { clock, note, stopped } = environment;
  let before: string | undefined;
  for (;;) {
    const began = clock.now();
    try {
      const next = await answer();
      const text = next.lines.join('\n');
      if (text !== before) show(environment, next, before === undefined, watch === undefined ? undefined : `${title}, every ${watch} s`);
      before = text;
    } catch (error) {
      if (stopped.aborted) return;
      const known = error instanceof KubeError || error instanceof SourceError || error instanceof UsageError;
      if (before === undefined || !known) throw error;
      note(`herald: ${error.message} (looked at again in ${watch} s)`);
    }
    if (watch === undefined) return;
    await sleep(clock, Math.max(watch * 1000, clock.now() - began), stopped).catch(() => undefined);
    if (stopped.aborted) return;
  }
}

/** Clears a terminal and goes to its upper left corner (ECMA-48 ED, CUP). */
const anew = '\u001B[2J\u001B[H';

function show({ print, clock, isTerminal }: Environment, { lines, separator }: Answer, isFirst: boolean, title: string | undefined): void {
  if (isTerminal === true && title !== undefined) print(`${anew}${title}  ${clock.date().toISOString()}\n`);
  else if (!isFirst) for (const line of separator) print(line);
  for (const line of lines) print(line);
}

function readSeconds(text: string): number {
  const seconds = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > limits.watchMaximumSeconds)
    throw new InvalidArgumentError(`Write seconds, 1 to ${limits.watchMaximumSeconds}.`);
  return seconds;
}
