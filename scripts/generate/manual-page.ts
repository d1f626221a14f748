import type { Command, Option } from 'commander';
import { commandsFor } from '../../src/cli/command-list.ts';
import type { CommandContext } from '../../src/cli/context/command-context.ts';
import { makeProgram } from '../../src/cli/context/program.ts';
import { example } from '../../src/cli/processes.ts';
import { version } from '../../src/model/objects/version.ts';

/** Returns herald.1, the manual page in the macros of man(7), from the tree of commands: the same source as --help. */
export async function manualPage(): Promise<string> {
  // Commands read their context only when they run.
  const program = makeProgram({} as CommandContext, await commandsFor([]), { version, example });
  return `${[
    `.\\" Made by npm run generate from the commands in src/cli.`,
    `.TH HERALD 1 "" "Herald ${version}" "User Commands"`,
    '.SH NAME',
    `herald \\- ${escaped(lowered(program.description()))}`,
    '.SH SYNOPSIS',
    '.B herald',
    '.I COMMAND',
    '.RI [ OPTIONS ]',
    '.PP',
    '.B kubectl herald',
    '.I COMMAND',
    '.RI [ OPTIONS ]',
    '.SH COMMANDS',
    ...program.commands.flatMap((command) => sectionsOf(command, ['herald'])),
    '.SH EXIT STATUS',
    ...statuses.flatMap(([status, means]) => ['.TP', `.B ${status}`, escaped(means)]),
    '.SH ENVIRONMENT',
    ...variables.flatMap(([name, means]) => ['.TP', `.B ${name}`, escaped(means)]),
    '.SH EXAMPLES',
    '.nf',
    ...['herald status --source /etc/herald', 'herald explain svc web -n shop', 'herald plan -f manifests/'].map(escaped),
    '.fi',
    '.SH SEE ALSO',
    '.BR kubectl (1),',
    '.BR nft (8)',
  ].join('\n')}\n`;
}

const statuses = [
  ['0', 'Done.'],
  ['1', 'Not done, or not completely. Standard error names the cause.'],
  ['64', 'The command line is wrong. Nothing was read or written.'],
  ['2, 3, 4', 'Results of single commands. Their descriptions list them.'],
] as const;

const variables = [
  ['KUBECONFIG', 'Files of clusters and credentials, separated by colons, as for kubectl.'],
  ['NO_COLOR', 'No colour in text on a terminal, unless --color always.'],
] as const;

/** A command that does something gets a section. One that only holds others passes its name on to them. */
function sectionsOf(command: Command, before: readonly string[]): string[] {
  const path = [...before, command.name()];
  if (command.commands.length > 0) return command.commands.flatMap((inner) => sectionsOf(inner, path));
  const words = command.registeredArguments.map((argument) => (argument.required ? `<${argument.name()}>` : `[${argument.name()}]`));
  const aliases = command.aliases();
  return [
    `.SS "${escaped([...path, ...words].join(' '))}"`,
    `${escaped(raised(command.description()))}.`,
    ...(aliases.length === 0 ? [] : [`Also: ${escaped(aliases.join(', '))}.`]),
    ...command.options.filter(({ hidden }) => !hidden).flatMap(optionLines),
  ];
}

function optionLines(option: Option): string[] {
  const { argChoices, defaultValue, defaultValueDescription } = option;
  const usual = defaultValueDescription ?? (typeof defaultValue === 'string' ? defaultValue : undefined);
  const more = [
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`]),
    ...(usual === undefined ? [] : [`default: ${usual}`]),
    ...(option.mandatory && usual === undefined ? ['required'] : []),
  ];
  return [
    '.TP',
    `.B ${escaped(option.flags)}`,
    `${escaped(option.description)}${more.length === 0 ? '' : ` (${escaped(more.join('; '))})`}`,
  ];
}

/** Escapes what roff would take for its own: backslashes, hyphens that would become dashes, and a dot or quote that begins a line. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replaceAll(/^(?=[.'])/gm, '\\&');
}

const raised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1).replace(/\.$/, '');
const lowered = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, '');
