import { InvalidArgumentError, Option } from 'commander';
import { KubeError } from '../../../kube/error.ts';
import { SourceError } from '../../../sources/source.ts';
import { sleep } from '../../../system/clock.ts';
import { UsageError, type CommandContext } from '../../context/command-context.ts';
import { limits } from '../../limits.ts';

export interface WatchOptions {
  /** Seconds between two readings; absent: read once. */
  readonly watch?: number;
}

export const watchOption = (shows = 'show it again when it has changed'): Option =>
  new Option('-w, --watch [seconds]', `${shows}, reading at this interval in seconds (default: ${limits.watchSeconds}), until Ctrl-C`)
    .argParser(readSeconds)
    .preset(String(limits.watchSeconds));

/** The lines of an output, and the separator from the previous output when there is no terminal to redraw. */
export interface CommandOutput {
  readonly lines: readonly string[];
  readonly separator: readonly string[];
}

/** Prints the output, and under --watch prints it again whenever it changes. */
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
 * Calls `look` once, and under --watch repeatedly, until the signal aborts or `look` returns 'last'. The pause is at least as long as the
 * last call took, so that a large cluster is not read all the time. A first call that fails ends the command; a later failure is printed
 * and retried.
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
      printError(`herald: ${error.message} (trying again in ${watch} s)`);
    }
    if (watch === undefined) return;
    await sleep(clock, Math.max(watch * 1000, clock.now() - began), stopped).catch(() => undefined);
    if (stopped.aborted) return;
  }
}

/** Clears a terminal and moves to its upper left corner (ECMA-48 ED, CUP). */
const clearScreen = '\u001B[2J\u001B[H';

function show(context: CommandContext, answer: CommandOutput, isFirst: boolean, title: string | undefined): void {
  const { print, clock, isTerminal } = context;
  if (isTerminal !== true || title === undefined) return append(context, answer, isFirst);
  print(`${clearScreen}${title}  ${clock.date().toISOString()}\n`);
  for (const line of answer.lines) print(line);
}

/** Prints an output below the previous ones. */
export function append({ print }: CommandContext, { lines, separator }: CommandOutput, isFirst: boolean): void {
  for (const line of isFirst ? lines : [...separator, ...lines]) print(line);
}

function readSeconds(text: string): number {
  const seconds = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > limits.watchMaximumSeconds)
    throw new InvalidArgumentError(`Write seconds, 1 to ${limits.watchMaximumSeconds}.`);
  return seconds;
}
