import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { updateHistory, emptyCursor } from '../../explain/history/history-updates.ts';
import { mergeHistory, type MergedHistory, type ProcessHistory } from '../../explain/history/merged-history.ts';
import { renderEntries, renderHistory } from '../../explain/history/render-history.ts';
import { defined } from '../../lang/defined.ts';
import { livePaths, type HistoryEntry, type HistoryKind } from '../../live/contract.ts';
import { hint, type CommandContext } from '../context/command-context.ts';
import { callerService } from '../storage/caller-connection.ts';
import { kindWords, namespaceOption, type NamespaceOption } from '../context/object-words.ts';
import { limits } from '../limits.ts';
import { addFindProcessesOptions, findProcesses, type FindProcessesOptions } from '../live/find-processes.ts';
import { askEach, fetchAllPages, type LiveClient, type UnreachableProcess } from '../live/live-client.ts';
import { addCallerOptions, sourceOption } from '../options/shared-options.ts';
import { readDirectory } from '../reading/read-directory.ts';
import { asDocument, tableOutputOption, type TableOutputOptions } from './tables/output-format.ts';
import { append, poll, watchOption, type CommandOutput, type WatchOptions } from './tables/watch.ts';

interface Options extends NamespaceOption, TableOutputOptions, WatchOptions, FindProcessesOptions {
  readonly node?: string;
  /** Milliseconds before now, or since the epoch. */
  readonly since?: Since;
}

type Since = { readonly ago: number } | { readonly at: number };

/** A query of the contract (src/live/contract.ts). */
type HistoryQuery = Readonly<Record<string, string>>;

interface Subject {
  readonly command: 'service' | 'peer' | 'node';
  readonly kind: HistoryKind;
  readonly description: string;
  readonly argument: string;
  readonly example: string;
  /** The processes to query. A controller has no sessions. */
  readonly of: readonly ('agent' | 'controller')[];
}

const subjects: readonly Subject[] = [
  {
    command: 'service',
    kind: 'Service',
    description: 'show why a Service got and lost its addresses, was programmed, announced and withdrawn, with the object that caused it',
    argument: '<namespace/name>',
    example:
      'herald history service shop/web --since 1h\n  herald history service shop/web --since 10m --watch       and what happens from now on\n  herald history service shop/web -o wide                  with routes peer by peer, and the versions of the processes\n  herald history service shop/web --node node1 -o json\n  herald history service shop/web --source /etc/herald     of the processes of this host',
    of: ['agent', 'controller'],
  },
  {
    command: 'peer',
    kind: 'BGPPeer',
    description: 'show when the sessions with a BGPPeer came up and went down, and why',
    argument: '<name>',
    example: 'herald history peer tor1\n  herald history peer tor1 --node node1 --watch',
    of: ['agent'],
  },
  {
    command: 'node',
    kind: 'Node',
    description: 'show when the thread of a node that answers ARP and NDP stalled, or lost all other candidates of a link',
    argument: '<name>',
    example: 'herald history node node1\n  herald history node node1 --since 1h --watch',
    of: ['agent'],
  },
];

export function historyCommand(context: CommandContext): Command {
  const history = new Command('history')
    .description('show what happened to an object and why, as running agents and controllers remember it')
    .addHelpText('after', '\nExample:\n  herald history service shop/web     in the cluster of $KUBECONFIG\n  herald history peer tor1');
  for (const subject of subjects) history.addCommand(subjectCommand(context, subject).exitOverride().showHelpAfterError(hint));
  return history;
}

function subjectCommand(context: CommandContext, subject: Subject): Command {
  const command = new Command(subject.command)
    .aliases(kindWords[subject.command])
    .description(subject.description)
    .addArgument(new Argument(subject.argument, `the ${subject.kind}`))
    .addOption(
      new Option('--since <when>', 'start at a time (2026-01-31T12:00:00Z), or so long ago: 90s, 10m, 2h, 1d').argParser(readSince),
    )
    .addOption(tableOutputOption())
    .addOption(watchOption('then show new entries'))
    .addOption(sourceOption())
    .addHelpText('after', `\nExample:\n  ${subject.example}`)
    .action((name: string, options: Options) => tell(context, subject, name, options));
  if (subject.kind !== 'Node') command.option('--node <name>', 'only the agent of this node, and the controllers');
  if (subject.kind === 'Service') command.addOption(namespaceOption());
  return addCallerOptions(addFindProcessesOptions(command));
}

async function tell(context: CommandContext, subject: Subject, given: string, all: Options): Promise<void> {
  const { kind } = subject;
  const options = kind === 'Node' ? { ...all, node: given } : all;
  const name = kind === 'Service' ? await callerService(context, given, options) : given;
  // Fixed once: the start does not move while the command watches.
  const query = { kind, name, ...sinceIn(context, options) };
  let followed = emptyCursor;
  return poll(context, options, async () => {
    const { tellings, unasked } = await ask(context, subject, query, options);
    const isFirst = followed === emptyCursor;
    const news = updateHistory(followed, tellings, unasked);
    followed = news.followed;
    if (isFirst) {
      append(context, firstAnswer(mergeHistory(query, tellings, unasked), options), isFirst);
      if (tellings.length > 0) return 'again';
      context.setExitStatus(1);
      return 'last';
    }
    for (const note of news.notes) context.printError(`herald: ${note}`);
    const fresh = mergeHistory(query, news.fresh, unasked);
    if (fresh.entries.length > 0) append(context, nextAnswer(fresh, options), isFirst);
    return 'again';
  });
}

function firstAnswer(history: MergedHistory, options: Options): CommandOutput {
  const document = asDocument(options, history);
  if (document !== undefined) return document;
  const lines = renderHistory(history, options.output === 'wide');
  return { lines: options.watch === undefined ? lines : [...lines, ''], separator: [] };
}

/** The output for the next poll. `fresh` has the entries that are new since the previous output. */
function nextAnswer(fresh: MergedHistory, options: Options): CommandOutput {
  return asDocument(options, fresh) ?? { lines: renderEntries(fresh, options.output === 'wide'), separator: [] };
}

/** Returns what running processes remember: of one object, of all objects of a kind, or of everything. */
export async function recallHistory(
  context: CommandContext,
  { kind, name, since }: { readonly kind?: HistoryKind; readonly name?: string; readonly since?: string },
  options: FindProcessesOptions,
): Promise<Omit<MergedHistory, 'kind' | 'name'>> {
  const subject = subjects.find((one) => one.kind === kind) ?? everything;
  const node = kind === 'Node' ? name : undefined;
  const { tellings, unasked } = await ask(context, subject, defined({ kind, name, since }), { ...options, ...defined({ node }) });
  const { entries, told, ...rest } = mergeHistory({ kind: 'Service', name: '' }, tellings, unasked);
  return { entries, told, unasked: rest.unasked };
}

const everything: Pick<Subject, 'of'> = { of: ['agent', 'controller'] };

/** Queries all processes for their history. */
async function ask(
  context: CommandContext,
  subject: Pick<Subject, 'of'>,
  query: HistoryQuery,
  options: FindProcessesOptions & { readonly node?: string },
): Promise<{ readonly tellings: readonly ProcessHistory[]; readonly unasked: readonly UnreachableProcess[] }> {
  const found = await findProcesses(context, options, { node: options.node, of: subject.of });
  const { answers: tellings, unasked } = await askEach(found, (client) => tellingOf(client, query));
  return { tellings, unasked: [...unasked, ...(await agentsOnOtherHosts(context, options, found.clients))] };
}

async function tellingOf(source: LiveClient, query: HistoryQuery): Promise<ProcessHistory> {
  const { items, process, more } = await fetchAllPages<HistoryEntry>(source, livePaths.history, query, limits.liveHistory);
  const { command, node, started, version } = process;
  // `herald run` is agent and controller in one process. Its entries differ by their wording.
  const by = command === 'controller' ? 'controller' : (node ?? command);
  return { who: source.who, by, since: started, version, entries: items, ...(more ? { more } : {}) };
}

/** Of a directory: the agents of other nodes, which may run on other hosts and do not answer here. */
async function agentsOnOtherHosts(
  context: CommandContext,
  { source, node }: FindProcessesOptions & { readonly node?: string },
  asked: readonly LiveClient[],
): Promise<UnreachableProcess[]> {
  if (source === undefined) return [];
  const { snapshot } = await readDirectory(context, source);
  const names = [...snapshot.nodes.keys()].filter(
    (name) => (node === undefined || name === node) && !asked.some(({ process }) => process.node === name),
  );
  return names.map((name) => ({
    who: `the agent of ${name}`,
    node: name,
    why: 'no answer on this host',
    fix: 'run the command on that host, or name the socket: --socket',
  }));
}

function sinceIn({ clock }: CommandContext, { since }: Options): { readonly since?: string } {
  if (since === undefined) return {};
  return { since: new Date('at' in since ? since.at : clock.date().getTime() - since.ago).toISOString() };
}

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function readSince(text: string): Since {
  const [, digits, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (digits !== undefined) return { ago: Number(digits) * units[unit as keyof typeof units] };
  const at = Date.parse(text);
  if (!/^\d{4}-\d{2}-\d{2}T/.test(text) || Number.isNaN(at)) throw new InvalidArgumentError('Write 10m, 2h, 1d or 2026-01-31T12:00:00Z.');
  return { at };
}
