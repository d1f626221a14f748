import { InvalidArgumentError, Option } from 'commander';
import { KubeError } from '../../../kube/error.ts';
import { SourceError } from '../../../sources/source.ts';
import { sleep } from '../../../system/clock.ts';
import { UsageError, type CommandContext } from '../../context/command-context.ts';
import { limits } from '../../limits.ts';

export interface WatchOptions {
  /** Seconds between two readings; absent: there is one. */
  readonly watch?: number;
}

export const watchOption = (shows = 'show it again when it has changed'): Option =>
  new Option('-w, --watch [seconds]', `${shows}, looking every so many seconds (${limits.watchSeconds}), until Ctrl-C`)
    .argParser(readSeconds)
    .preset(String(limits.watchSeconds));

/** An answer and how it is separated from the one before it, where there is no terminal to redraw. */
export interface CommandOutput {
  readonly lines: readonly string[];
  readonly separator: readonly string[];
}

/** Gives an answer, and under --watch a new one whenever it differs. */
export async function answerAndWatch(
  context: CommandContext,
  options: WatchOptions,
  title: string,
  answer: () => Promise<CommandOutput>,
): Promise<void> {
  const { watch } = options;
  const heading = watch === undefined ? undefined : `${title}, every ${watch} s`;
  let before: string | undefined;
  await poll(context, options, async () => {
    const next = await answer();
    const text = next.lines.join('\n');
    if (text !== before) show(context, next, before === undefined, heading);
    before = text;
    return 'again';
  });
}

/**
 * Looks once, and under --watch again and again, until the signal or until a look says that it was the last. The pause is at least as long as looking
 * took, so that a large cluster is not read all the time. What fails once is told and tried again; the first time it is the answer.
 */
export async function poll(
  { clock, printError, stopped }: CommandContext,
  { watch }: WatchOptions,
  look: () => Promise<'again' | 'last'>,
): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const began = clock.now();
    try {
      if ((await look()) === 'last') return;
    } catch (error) {
      if (stopped.aborted) return;
      const known = error instanceof KubeError || error instanceof SourceError || error instanceof UsageError;
      if (isFirst || !known) throw error;
      printError(`herald: ${error.message} (looked at again in ${watch} s)`);
    }
    if (watch === undefined) return;
    await sleep(clock, Math.max(watch * 1000, clock.now() - began), stopped).catch(() => undefined);
    if (stopped.aborted) return;
  }
}

/** Clears a terminal and goes to its upper left corner (ECMA-48 ED, CUP). */
const anew = '\u001B[2J\u001B[H';

function show(context: CommandContext, answer: CommandOutput, isFirst: boolean, title: string | undefined): void {
  const { print, clock, isTerminal } = context;
  if (isTerminal !== true || title === undefined) return append(context, answer, isFirst);
  print(`${anew}${title}  ${clock.date().toISOString()}\n`);
  for (const line of answer.lines) print(line);
}

/** Prints an answer below those before it. */
export function append({ print }: CommandContext, { lines, separator }: CommandOutput, isFirst: boolean): void {
  for (const line of isFirst ? lines : [...separator, ...lines]) print(line);
}

function readSeconds(text: string): number {
  const seconds = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > limits.watchMaximumSeconds)
    throw new InvalidArgumentError(`Write seconds, 1 to ${limits.watchMaximumSeconds}.`);
  return seconds;
}
