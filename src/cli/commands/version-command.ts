import { Command } from 'commander';
import { version } from '../../model/objects/version.ts';
import { tableLines } from '../../explain/text/table-text.ts';
import type { CommandContext } from '../context/command-context.ts';
import { addFindProcessesOptions, findProcessesIfAny, type FindProcessesOptions } from '../live/find-processes.ts';
import type { UnreachableProcess } from '../live/live-client.ts';
import { addCallerOptions, sourceOption } from '../options/shared-options.ts';
import { asDocument, tableOutputOption, type TableOutputOptions } from './tables/output-format.ts';

interface Options extends FindProcessesOptions, TableOutputOptions {
  readonly client: boolean;
}

interface VersionReport {
  readonly client: { readonly version: string; readonly nodejs: string };
  /** Absent: with --client. */
  readonly processes?: readonly { readonly who: string; readonly version: string; readonly started: string }[];
  readonly unasked?: readonly UnreachableProcess[];
}

export function versionCommand(context: CommandContext): Command {
  const command = new Command('version')
    .description('show the version of this program, of the controllers, and of every agent, and where they differ')
    .option('--client', 'only the version of this program', false)
    .addOption(tableOutputOption())
    .addOption(sourceOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald version                       in the cluster of $KUBECONFIG\n  herald version --client\n  herald version --source /etc/herald  the processes of this host\n  herald version -o json',
    )
    .action(async (options: Options) => {
      const report = await read(context, options);
      const { lines } = asDocument(options, report) ?? { lines: versionLines(report) };
      for (const line of lines) context.print(line);
    });
  return addCallerOptions(addFindProcessesOptions(command));
}

async function read(context: CommandContext, options: Options): Promise<VersionReport> {
  const client = { version, nodejs: context.nodejs };
  if (options.client) return { client };
  const found = await findProcessesIfAny(context, options, {}, 'agents and controllers');
  const processes = found.clients.map(({ who, process }) => ({ who, version: process.version, started: process.started }));
  found.close();
  return { client, processes, unasked: found.unasked };
}

/** Returns a row for each process. One that cannot be asked has no version. */
function versionLines({ client, processes, unasked = [] }: VersionReport): string[] {
  const own = `herald ${client.version} (Node.js ${client.nodejs})`;
  if (processes === undefined) return [own];
  const others = processes.filter((process) => process.version !== client.version);
  const newest = [client, ...processes]
    .map((one) => one.version)
    .toSorted(byVersion)
    .at(-1);
  return [
    own,
    ...(processes.length === 0
      ? []
      : [
          '',
          ...tableLines(
            ['Process', 'Version', 'Started'],
            processes.map(({ who, ...one }) => [who, one.version, one.started]),
          ),
        ]),
    ...(others.length === 0
      ? []
      : [
          '',
          `Versions differ: ${others.length} of ${processes.length} processes and this program. Fix: bring all to ${newest ?? client.version}, as for an upgrade.`,
        ]),
    ...unasked.map(({ who, why, fix }) => `not queried: ${who}: ${why}${fix === '' ? '' : `. Fix: ${fix}`}`),
  ];
}

/** Compares versions such as 0.10.1 by their numbers. */
const byVersion = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });
