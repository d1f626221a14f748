import { Option, type Command } from 'commander';
import type { CommandContext } from '../context/command-context.ts';
import { addFindProcessesOptions } from '../live/find-processes.ts';
import { addCallerOptions, oneMore, sourceOption } from '../options/shared-options.ts';
import type { AskOptions } from './in-force.ts';
import { readCluster } from './read-cluster.ts';
import { readDirectory } from './read-directory.ts';
import { readManifestFiles } from './read-manifests.ts';
import type { Reading } from './reading.ts';

export interface ReadingOptions extends AskOptions {
  readonly file?: readonly string[];
}

/** Adds the options that choose where to read objects, and which processes to query. The default is a cluster. */
export function addReadingOptions(command: Command): Command {
  return addAskOptions(
    addCallerOptions(
      command.addOption(sourceOption()).addOption(manifestsOption().conflicts(['source', 'kubeconfig', 'apiserver', 'context'])),
    ),
  );
}

/** Adds the options that choose the processes to query. */
export function addAskOptions(command: Command): Command {
  return addFindProcessesOptions(
    command.addOption(
      new Option('--no-ask', 'do not query running processes: show only what is decided from the objects and what nodes report'),
    ),
  );
}

/** The option may be given several times. */
export const manifestsOption = (): Option =>
  new Option('-f, --file <path>', 'a file, a directory of manifests, or - for standard input; may be given several times').argParser(
    oneMore,
  );

/**
 * Reads objects from the files, directory or cluster that the options name. A caller without the right to read the whole cluster reads only
 * `namespace`. Rejects with KubeError, SourceError or UsageError.
 */
export function openReading(context: CommandContext, options: ReadingOptions, namespace?: string): Promise<Reading> {
  if (options.file !== undefined) return readManifestFiles(context, options.file);
  if (options.source !== undefined) return readDirectory(context, options.source);
  return readCluster(context, options, namespace);
}
