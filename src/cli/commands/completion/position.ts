import type { Command, Option } from 'commander';

/** The place of the word that a shell completes. */
export interface Position {
  readonly place:
    | { readonly type: 'command' }
    | { readonly type: 'option' }
    | { readonly type: 'value'; readonly option: Option }
    | { readonly type: 'argument'; readonly index: number };
  /** The innermost command that the words name. */
  readonly command: Command;
  /** The names of the commands on the way to it, as in "explain service". */
  readonly path: string;
  /** Values of the options that were given, by long name without dashes: "source", "context". */
  readonly given: ReadonlyMap<string, string>;
  /** The part of the word that a candidate must begin with. */
  readonly stem: string;
  /** The part of the word before the stem, as in "--output=". A candidate repeats it. */
  readonly before: string;
}

/**
 * Finds what the last word is. `words` are those after the name of the program; the last one may be empty or incomplete. Words that are
 * wrong are skipped, because a user who still types has made no mistake yet.
 */
export function positionOf(program: Command, words: readonly string[]): Position {
  const done = words.slice(0, -1);
  const last = words.at(-1) ?? '';
  const given = new Map<string, string>();
  const path: string[] = [];
  let command = program;
  let index = 0;
  let open: Option | undefined;
  let onlyArguments = false;
  for (const word of done) {
    if (open !== undefined) {
      given.set(nameOf(open), word);
      open = undefined;
    } else if (word === '--') onlyArguments = true;
    else if (word.startsWith('-') && !onlyArguments) {
      const [flag = '', value] = splitOnce(word);
      const option = optionOf(command, flag);
      if (option !== undefined && value !== undefined) given.set(nameOf(option), value);
      else if (option !== undefined && option.required) open = option;
      else if (option !== undefined) given.set(nameOf(option), 'true');
    } else {
      const inner = innerCommand(command, word);
      if (inner === undefined) index++;
      else {
        command = inner;
        path.push(inner.name());
      }
    }
  }
  const at = { command, path: path.join(' '), given };
  if (open !== undefined) return { ...at, place: { type: 'value', option: open }, stem: last, before: '' };
  if (last.startsWith('-') && !onlyArguments) {
    const [flag = '', value] = splitOnce(last);
    const option = optionOf(command, flag);
    if (value === undefined) return { ...at, place: { type: 'option' }, stem: last, before: '' };
    if (option !== undefined) return { ...at, place: { type: 'value', option }, stem: value, before: `${flag}=` };
  }
  const place = command.commands.length > 0 ? ({ type: 'command' } as const) : ({ type: 'argument', index } as const);
  return { ...at, place, stem: last, before: '' };
}

/** Returns the name of an option without dashes: "source". */
export const nameOf = (option: Option): string => (option.long ?? option.short ?? '').replace(/^--?/, '');

function innerCommand(command: Command, word: string): Command | undefined {
  return command.commands.find((one) => one.name() === word || one.aliases().includes(word));
}

function optionOf(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long, short }) => flag === long || flag === short);
}

/** Splits "--output=json" at its first "=". */
function splitOnce(word: string): readonly string[] {
  const at = word.indexOf('=');
  return at === -1 || !word.startsWith('--') ? [word] : [word.slice(0, at), word.slice(at + 1)];
}
