import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { defined } from '../../lang/defined.ts';
import { readRawObjects } from '../../sources/directory/raw-objects.ts';
import { addCluster } from './cluster-parts.ts';
import { addExplanations, addTables } from './decision-parts.ts';
import { addHost, addLocalMetrics, isNode } from './host-parts.ts';
import { addLive } from './live-parts.ts';
import { Bundle } from './bundle.ts';
import { Redaction } from '../reading/redaction.ts';
import { requireDirectory } from '../storage/directory-storage.ts';
import { cannotWrite, UsageError, type CommandContext } from '../context/command-context.ts';
import { findProcesses } from '../live/find-processes.ts';
import { agentSocket, controllerSocket, readSocket } from '../options/live-options.ts';
import { openReading, type ReadingOptions } from '../reading/open-reading.ts';
import { defaultNamespace, addCallerOptions, sourceOption } from '../options/shared-options.ts';
import type { Reading } from '../reading/reading.ts';
import { version } from '../../model/objects/version.ts';

interface Options extends Omit<ReadingOptions, 'socket'> {
  readonly output?: string;
  readonly host: 'auto' | 'always' | 'never';
  readonly socket: string;
  readonly heraldNamespace?: string;
}

export function bundleCommand(context: CommandContext): Command {
  const command = new Command('bundle')
    .description(
      'collect everything that a bug report needs in one file, with secrets removed: objects, decisions, logs, metrics, and on a node its kernel (exit status 0: the file is written, and lists what is missing; 1: it is not written)',
    )
    .option('-o, --output <file>', 'file to write, or - for standard output (default: herald-bundle-TIME.tar.gz)')
    .addOption(sourceOption())
    .addOption(
      new Option('--host <when>', "include this host's kernel: auto, where an agent of Herald runs or has left nftables, always or never")
        .choices(['auto', 'always', 'never'])
        .default('auto'),
    )
    .addOption(new Option('--socket <path>', 'Unix socket of the agent of this host').argParser(readSocket).default(agentSocket))
    .addOption(new Option('--herald-namespace <name>', `namespace of Herald's pods (default: ${defaultNamespace})`).conflicts('source'))
    .addHelpText(
      'after',
      '\nExample:\n  herald bundle                                of the cluster of $KUBECONFIG\n  herald bundle -o /tmp/report.tar.gz\n  sudo herald bundle --source /etc/herald      of a host without Kubernetes\n  sudo herald bundle --kubeconfig admin.conf   on a node: with its nftables, routes and settings\n  kubectl -n herald-system exec herald-agent-x7k2p -- herald bundle -o - > report.tar.gz\n                                               the same without a shell on the node, with what the agent may read\n  tar -tzf herald-bundle-*.tar.gz              lists its files; README.txt describes them\n\nCheck its content before you share it: it has names and addresses, but no passwords.',
    )
    .action((options: Options) => collect(context, options));
  return addCallerOptions(command);
}

async function collect(context: CommandContext, options: Options): Promise<void> {
  const { clock, stopped, printError, nodejs, hostname } = context;
  if (options.source !== undefined) await requireDirectory(options.source);
  const made = clock.date().toISOString();
  const name = `herald-bundle-${made.slice(0, 19).replaceAll(':', '-')}Z`;
  const bundle = new Bundle({ clock, redaction: new Redaction(), progress: (line) => printError(`herald: ${line}`) });
  const { socket, source, ...cluster } = options;
  const local = await findProcesses(context, { socket: [socket, controllerSocket], ...defined({ source }) });
  const agent = local.clients.find(({ process }) => process.command !== 'controller');
  const withHost = options.host === 'always' || (options.host === 'auto' && (agent !== undefined || (await isNode())));
  if (options.host === 'auto' && !withHost)
    bundle.recordFailure(
      'host',
      new Error('this host is not a node: no agent of Herald runs here; --host always includes it all the same'),
    );
  const reading = await readAll(bundle, context, options, withHost);
  try {
    const objects = await objectsOf(bundle, reading, options);
    // First of all, so that these secrets are recognized in logs as well.
    for (const { raw } of objects) bundle.redaction.learn(raw);
    await bundle.collect('objects', async () => addObjects(bundle, objects));
    if (options.source !== undefined) await bundle.collect('records', () => addRecords(bundle, options.source ?? ''));
    if (reading !== undefined) {
      await bundle.collect('tables', () => addTables(bundle, reading));
      await bundle.collect('explanations', () => addExplanations(bundle, context, reading));
    }
    if (withHost) {
      await addLive(bundle, local);
      const node = agent?.process.node ?? hostname;
      await bundle.collect('metrics of the agent', () => addLocalMetrics(bundle, reading?.snapshot, node));
      await addHost(bundle);
    }
    // Last, because logs may take all the room that is left.
    if (options.source === undefined && reading !== undefined) await addCluster(bundle, context, cluster);
    if (stopped.aborted) throw new UsageError('stopped: nothing was written');
    const about = {
      made,
      herald: version,
      nodejs,
      ...(reading === undefined ? {} : { from: reading.from }),
      host: withHost ? hostname : '',
    };
    await write(context, options.output ?? `${name}.tar.gz`, await bundle.archive(name, about));
  } finally {
    reading?.close();
  }
  const failed = bundle.reports.filter(({ problem }) => problem !== undefined);
  if (failed.length > 0)
    printError(`herald: ${failed.length} parts are missing or incomplete: README.txt in the bundle says which, and why`);
}

/** Reads the objects. A cluster that does not answer is a reason for a bundle, but a bundle of nothing at all is an error. */
async function readAll(bundle: Bundle, context: CommandContext, options: Options, withHost: boolean): Promise<Reading | undefined> {
  try {
    // The option names the socket of the agent of this host, not the processes of the cluster.
    const { socket: _, ...where } = options;
    return await openReading(context, where);
  } catch (error) {
    if (!withHost) throw error;
    bundle.recordFailure('objects', error);
    return undefined;
  }
}

type Objects = Awaited<ReturnType<typeof readRawObjects>>['objects'] | Reading['objects'];

async function objectsOf(bundle: Bundle, reading: Reading | undefined, { source }: Options): Promise<Objects> {
  if (source === undefined) return reading?.objects ?? [];
  try {
    return (await readRawObjects(source)).objects;
  } catch (error) {
    bundle.recordFailure('manifests', error);
    return [];
  }
}

/** Adds a file for each kind. */
function addObjects(bundle: Bundle, entries: Objects): void {
  const kindOf = ({ raw }: { readonly raw: unknown }): string => {
    const kind = typeof raw === 'object' && raw !== null && 'kind' in raw ? raw.kind : undefined;
    return typeof kind === 'string' && /^[A-Za-z]{1,63}$/.test(kind) ? kind : 'unknown';
  };
  for (const [kind, some] of Map.groupBy<string, { readonly raw: unknown }>(entries, kindOf))
    bundle.addObjects(
      `objects/${kind}.json`,
      some.map(({ raw }) => raw),
    );
}

/** Adds Herald's records of a directory: conditions of Services and reports of nodes. */
async function addRecords(bundle: Bundle, directory: string): Promise<void> {
  const folder = join(directory, '.herald');
  const files = await readdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []; // Herald has not run on this directory yet.
    throw error;
  });
  for (const file of files) if (file.endsWith('.yaml')) bundle.addText(`records/${file}`, await readFile(join(folder, file), 'utf8'));
}

async function write({ printError, write: toStandardOutput }: CommandContext, file: string, archive: Uint8Array): Promise<void> {
  if (file === '-') return toStandardOutput(archive);
  await writeFile(file, archive, { mode: 0o600 }).catch(cannotWrite(file));
  printError(`herald: ${file}, ${Math.ceil(archive.length / 1024)} KiB`);
}
