import { Command, type Argument, type Option } from 'commander';
import { unreadLines, unshownLines, markUndecided } from '../../../explain/unread-objects.ts';
import type { KindName } from '../../../model/store/snapshot.ts';
import type { UnreadableKind } from '../../../model/store/unreadable-kind.ts';
import { exitStatus } from '../../context/exit-status.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { addReadingOptions, openReading, type ReadingOptions } from '../../reading/open-reading.ts';
import { inForceJson } from '../../reading/in-force.ts';
import { linesAbove } from '../../reading/problem-lines.ts';
import type { Reading } from '../../reading/reading.ts';
import { asDocument, namedOutputOption, type TableOutputOptions } from './output-format.ts';
import { answerAndWatch, watchOption, type CommandOutput, type WatchOptions } from './watch.ts';

export interface TableOptions extends ReadingOptions, WatchOptions, TableOutputOptions {}

/** A command that prints a table: its data, computed from a reading of all objects, and the lines that show them. */
interface Table<O extends TableOptions, D extends object> {
  readonly command: string;
  /** The singular, for users who type that. command-list.ts has it too. */
  readonly alias?: string;
  readonly description: string;
  readonly examples: readonly string[];
  readonly options: readonly Option[];
  /** A name that the command takes. Default: none. */
  readonly argument?: Argument;
  /** `name`: the argument, if it was given. Throws UsageError for an unknown name. */
  readonly data: (reading: Reading, options: O, name: string | undefined) => D | Promise<D>;
  /** The objects of the table, such as "ipaddresspool/public". */
  readonly names: (data: D) => readonly string[];
  /** Kinds without which the table says nothing. If one cannot be read, the command fails, and shows what it can. */
  readonly needs: readonly KindName[];
  readonly lines: (data: D, wide: boolean, unread: readonly UnreadableKind[]) => string[];
}

/** Makes a command that prints a table once, or under --watch until it is stopped. */
export function tableCommand<O extends TableOptions, D extends object>(context: CommandContext, table: Table<O, D>): Command {
  const command = new Command(table.command).description(table.description);
  if (table.alias !== undefined) command.alias(table.alias);
  if (table.argument !== undefined) command.addArgument(table.argument);
  for (const option of [...table.options, namedOutputOption(), watchOption()]) command.addOption(option);
  command
    .addHelpText('after', `\nExample:\n${table.examples.map((line) => `  ${line}`).join('\n')}`)
    .action((...given: readonly unknown[]) => {
      // commander passes the arguments, the options, and the command.
      const [name, options] = [table.argument === undefined ? undefined : given[0], given.at(-2) as O];
      return answerAndWatch(context, options, `herald ${table.command}`, () =>
        answerOf(context, table, options, name as string | undefined),
      );
    });
  return addReadingOptions(command);
}

async function answerOf<O extends TableOptions, D extends object>(
  context: CommandContext,
  table: Table<O, D>,
  options: O,
  name: string | undefined,
): Promise<CommandOutput> {
  const reading = await openReading(context, options);
  try {
    const { problems, unread } = reading;
    const data = markUndecided(await table.data(reading, options, name), reading, '');
    const isBroken = !('problems' in data) && problems.some(({ severity, object }) => severity === 'error' && object === undefined);
    if (isBroken || unshownLines(unread, table.needs).length > 0) context.setExitStatus(exitStatus.error);
    const document = asDocument(options, { problems, ...inForceJson(reading), unread, ...data });
    if (document !== undefined) return document;
    if (options.output === 'name') return { lines: [...new Set(table.names(data))], separator: [''] };
    const beside = unreadLines(unread);
    const lines = [
      ...('problems' in data ? [] : linesAbove(problems, reading)),
      ...table.lines(data, options.output === 'wide', unread),
      ...(beside.length === 0 ? [] : ['', ...beside]),
    ];
    return { lines, separator: [''] };
  } finally {
    reading.close();
  }
}
