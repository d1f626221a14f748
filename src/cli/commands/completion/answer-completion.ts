import type { Command } from 'commander';
import type { CommandContext } from '../../context/command-context.ts';
import { limits } from '../../limits.ts';
import { nameOf, positionOf, type Position } from './position.ts';
import { objectNames } from './object-names.ts';
import { valueKindAt } from './value-kinds.ts';

/** Actions of a shell besides offering the candidates. The numbers are those of cobra, which kubectl uses. */
const directive = { files: 0, nothing: 4, directories: 16 } as const;

interface Answer {
  readonly candidates: readonly Candidate[];
  readonly after: (typeof directive)[keyof typeof directive];
}

interface Candidate {
  readonly word: string;
  readonly about?: string;
}

/**
 * Prints the candidates for the last of the words, one a line, with a description after a tab, and then ":" and a directive. `load` makes
 * the program with the commands that the words need. An object that cannot be read is no error here: a shell must not print one while the
 * user types.
 */
export async function answerCompletion(
  context: CommandContext,
  words: readonly string[],
  load: (words: readonly string[]) => Promise<Command>,
): Promise<void> {
  const program = await load(words.length > 1 ? words : []);
  const position = positionOf(program, words);
  const { candidates, after } = await answerAt(context, position);
  for (const { word, about } of candidates.filter((one) => one.word.startsWith(position.stem)))
    context.print(about === undefined ? `${position.before}${word}` : `${position.before}${word}\t${about}`);
  context.print(`:${after}`);
}

async function answerAt(context: CommandContext, position: Position): Promise<Answer> {
  const { place, command } = position;
  const offer = (candidates: readonly Candidate[]): Answer => ({ candidates, after: directive.nothing });
  if (place.type === 'command') return offer(command.commands.map((one) => ({ word: one.name(), about: brief(one.description()) })));
  if (place.type === 'option') return offer(optionCandidates(position));
  if (place.type === 'value' && place.option.argChoices !== undefined) return offer(place.option.argChoices.map((word) => ({ word })));
  const fixed = place.type === 'argument' ? command.registeredArguments[place.index]?.argChoices : undefined;
  if (fixed !== undefined) return offer(fixed.map((word) => ({ word })));
  const kind = valueKindAt(position);
  if (kind === undefined || kind === 'free') return offer([]);
  if (kind === 'file') return { candidates: [], after: directive.files };
  if (kind === 'directory') return { candidates: [], after: directive.directories };
  return offer((await inTime(context, (limited) => objectNames(limited, kind, position.given))).map((word) => ({ word })));
}

/** Offers each option once, except those that may be given several times, which have no way to say so: they are offered again. */
function optionCandidates({ command, given }: Position): Candidate[] {
  const repeatable = new Set(['file', 'socket', 'provider']);
  const open = command.options.filter((option) => !option.hidden && (!given.has(nameOf(option)) || repeatable.has(nameOf(option))));
  const all = open.map((option) => ({ word: option.long ?? option.short ?? '', about: brief(option.description) }));
  return [...all, { word: '--help', about: 'show the help of this command' }];
}

/** The first part of a description: a shell has one line for it. */
function brief(description: string): string {
  const [first = ''] = description.split(/[:;(,]/, 1);
  return first.trim();
}

/** Runs `read`, but not longer than the limit. Returns nothing when it fails or takes longer. */
async function inTime(context: CommandContext, read: (context: CommandContext) => Promise<readonly string[]>): Promise<readonly string[]> {
  const late = new AbortController();
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const cancel = context.clock.after(limits.completionMilliseconds, () => {
    late.abort();
    resolve([]);
  });
  const stopped = AbortSignal.any([context.stopped, late.signal]);
  try {
    return await Promise.race([promise, read({ ...context, stopped }).catch(() => [])]);
  } finally {
    cancel();
  }
}
