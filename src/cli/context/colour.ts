import { Option, type Command } from 'commander';
import type { CommandContext } from './command-context.ts';

/** Adds colour to lines of text that a command prints, or none. */
export type Painter = (text: string) => string;

export const plain: Painter = (text) => text;

/** SGR parameters (ECMA-48 8.3.117). */
const codes = { red: 31, yellow: 33, green: 32 } as const;
type Colour = keyof typeof codes;

/** A state stands alone in a column, or after a colon, an equals sign or at the end of a lead. It is never a part of a name. */
const state = (words: string): string => String.raw`(?<=(?:^| {2}|[:=] ?))(?:${words})(?= {2}|[,;:.]|$| for | since | \()`;

/** The status of a condition: "Announced=True". */
const status = (word: string): string => String.raw`(?<=[a-z]=)${word}\b`;

/** Words to paint, by colour. One pattern of all of them runs over each line once, so nothing is painted twice. */
const patterns: Readonly<Record<Colour, readonly string[]>> = {
  red: [
    String.raw`^(?:Verdict +)?Not served\b`,
    String.raw`^(?:problem|herald):(?= )`,
    String.raw`^ {2}[-] `,
    state('False|Down|Idle|no'),
    status('False'),
    String.raw`(?<=^Nodes +)0 of [1-9]\d* report(?=$|,)`,
  ],
  yellow: [
    String.raw`^(?:Verdict +)?(?:Not fully served\b|Announced\b[^:]*, but\b|Unknown(?=:)|Served by another program, or not at all)`,
    String.raw`^warning:(?= )`,
    String.raw`^ {2}[!~] `,
    status('Unknown'),
    state('Unknown|Connect|Active|OpenSent|OpenConfirm|Init|AdminDown|not reported'),
  ],
  green: [String.raw`^(?:Verdict +)?Served\b`, String.raw`^ {2}[+] `, state('True|Established|Up|yes'), status('True')],
};

const anything = new RegExp(
  Object.entries(patterns)
    .map(([colour, some]) => `(?<${colour}>${some.join('|')})`)
    .join('|'),
  'gm',
);

const coloured: Painter = (text) =>
  text.replace(anything, (...match) => {
    const groups = match.at(-1) as Readonly<Record<Colour, string | undefined>>;
    const colour = (Object.keys(codes) as Colour[]).find((one) => groups[one] !== undefined) ?? 'yellow';
    return `\u001B[${codes[colour]}m${match[0]}\u001B[0m`;
  });

export interface ColourOptions {
  readonly color?: 'auto' | 'always' | 'never';
  readonly output?: string;
}

const colourOption = (): Option =>
  new Option('--color <when>', 'colour of states and verdicts: auto, on a terminal and without NO_COLOR; always; or never')
    .choices(['auto', 'always', 'never'])
    .default('auto');

/** Adds --color to a command and its sub-commands where they print text for people. */
export function addColourOption(command: Command): void {
  const output = command.options.find(({ long }) => long === '--output');
  if (output?.argChoices?.includes('text') === true) command.addOption(colourOption());
  for (const inner of command.commands) addColourOption(inner);
}

/**
 * Returns the painter of a command's output. Documents have no colour. `auto` follows https://no-color.org and terminals that have none
 * (TERM=dumb).
 */
export function painterFor(options: ColourOptions, { isTerminal, variables }: Pick<CommandContext, 'isTerminal' | 'variables'>): Painter {
  const isText = options.output === 'text' || options.output === 'wide';
  if (!isText || options.color === undefined || options.color === 'never') return plain;
  if (options.color === 'always') return coloured;
  const { NO_COLOR: noColour = '', TERM: terminal = '' } = variables;
  return isTerminal === true && noColour === '' && terminal !== 'dumb' ? coloured : plain;
}
