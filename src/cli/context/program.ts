import { Command } from 'commander';
import { rewriteHelp } from './called-as.ts';
import { addColourOption, painterFor, plain } from './colour.ts';
import { hint, type CommandContext, type MakeCommand } from './command-context.ts';
import { failureOf } from './exit-status.ts';

/** Makes the program of some commands, with the settings that every command shares. */
export function makeProgram(
  context: CommandContext,
  makers: readonly MakeCommand[],
  about: { readonly version: string; readonly example: string; readonly rewrite?: (text: string) => string },
): Command {
  const program = new Command('herald')
    .description('Gives Kubernetes Services of type LoadBalancer an address and makes it work.')
    .version(about.version)
    .exitOverride()
    .showHelpAfterError(hint)
    .addHelpText('after', `\nExample:\n  ${about.example}\n`);
  for (const make of makers) program.addCommand(make(context).exitOverride().showHelpAfterError(hint));
  addColourOption(program);
  if (about.rewrite !== undefined) rewriteHelp(program, about.rewrite);
  return program;
}

/**
 * Returns the words as commander takes them. As for kubectl, `svc/web` means `svc web`, and a command that only has further commands shows its help
 * when none is named.
 */
function asParsed(program: Command, words: readonly string[]): readonly string[] {
  let command = program;
  for (const [at, word] of words.entries()) {
    const named = (name: string): Command | undefined =>
      command.commands.find((one) => one.name() === name || one.aliases().includes(name));
    const next = named(word);
    const [kind = '', ...rest] = word.split('/');
    if (next === undefined && rest.length > 0 && command !== program && named(kind) !== undefined)
      return [...words.slice(0, at), kind, rest.join('/'), ...words.slice(at + 1)];
    if (next === undefined) return words;
    command = next;
  }
  const isGroup = command.commands.length > 0 && command.registeredArguments.length === 0;
  return isGroup ? [...words, '--help'] : words;
}

/**
 * Runs the command that these words name, with its lines in colour where its options and the terminal want that. Resolves to the exit status
 * of a failure, which it has printed. Undefined: the command ended, and has set its status. Rejects with an error that is a bug.
 */
export async function runProgram(make: MakeCommand, context: CommandContext, words: readonly string[]): Promise<number | undefined> {
  let paint = plain;
  const program = make({ ...context, print: (line) => context.print(paint(line)) });
  program.hook('preAction', (_, action) => void (paint = painterFor(action.opts(), context)));
  try {
    await program.parseAsync(asParsed(program, words), { from: 'user' });
    return undefined;
  } catch (error) {
    const failure = failureOf(error);
    if (failure?.message !== undefined) context.printError(`herald: ${failure.message}`);
    if (failure !== undefined) return failure.status;
    // Stopped before the command had begun.
    if (context.stopped.aborted && error === context.stopped.reason) return 0;
    throw error;
  }
}
