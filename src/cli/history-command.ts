import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { inOrder, renderHistory, type MergedHistory, type ToldEntry } from '../explain/merged-history.ts';
import { livePaths, type HistoryEntry, type HistoryKind } from '../live/contract.ts';
import { hint, type Environment } from './environment.ts';
import { limits } from './limits.ts';
import { addFindLiveOptions, findLive, type FindLiveOptions } from './live/find-live.ts';
import { askAll, LiveError, type LiveSource, type Unasked } from './live/live-source.ts';
import { addCallerOptions, outputOption, sourceOption, type OutputOptions } from './options.ts';
import { readDirectory } from './read-directory.ts';

interface Options extends OutputOptions, FindLiveOptions {
  readonly node?: string;
  /** Milliseconds before now, or since the epoch. */
  readonly since?: Since;
}

type Since = { readonly ago: number } | { readonly at: number };

interface Subject {
  readonly command: string;
  readonly kind: HistoryKind;
  readonly description: string;
  readonly argument: string;
  readonly example: string;
  /** A controller knows nothing of sessions. */
  readonly of: readonly ('agent' | 'controller')[];
}

const subjects: readonly Subject[] = [
  {
    command: 'service',
    kind: 'Service',
    description: 'why a Service got and lost its addresses, was programmed, announced and withdrawn, with the object that caused it',
    argument: '<namespace/name>',
    example:
      'herald history service shop/web --since 1h\n  herald history service shop/web --node node1 -o json\n  herald history service shop/web --source /etc/herald     of the processes of this host',
    of: ['agent', 'controller'],
  },
  {
    command: 'peer',
    kind: 'BGPPeer',
    description: 'when the sessions with a BGPPeer came up and went down, and why',
    argument: '<name>',
    example: 'herald history peer tor1\n  herald history peer tor1 --node node1',
    of: ['agent'],
  },
];

export function historyCommand(environment: Environment): Command {
  const history = new Command('history')
    .description('what happened to an object and why, as running agents and controllers remember it')
    .addHelpText('after', '\nExample:\n  herald history service shop/web     in the cluster of $KUBECONFIG\n  herald history peer tor1');
  for (const subject of subjects) history.addCommand(subjectCommand(environment, subject).exitOverride().showHelpAfterError(hint));
  return history;
}

function subjectCommand(environment: Environment, subject: Subject): Command {
  const command = new Command(subject.command)
    .description(subject.description)
    .addArgument(new Argument(subject.argument, `the ${subject.kind}`))
    .option('--node <name>', 'of the agent of this node, and the controllers')
    .addOption(new Option('--since <when>', 'since a time (2026-01-31T12:00:00Z), or so long ago: 90s, 10m, 2h, 1d').argParser(readSince))
    .addOption(outputOption())
    .addOption(sourceOption())
    .addHelpText('after', `\nExample:\n  ${subject.example}`)
    .action((name: string, options: Options) => tell(environment, subject, name, options));
  return addCallerOptions(addFindLiveOptions(command));
}

async function tell(environment: Environment, subject: Subject, given: string, options: Options): Promise<void> {
  const { kind } = subject;
  const name = kind === 'Service' && !given.includes('/') ? `default/${given}` : given;
  const found = await findLive(environment, options, { node: options.node, of: subject.of });
  try {
    const [told, unasked, entries]: [MergedHistory['told'][number][], Unasked[], ToldEntry[]] = [[], [...found.unasked], []];
    await Promise.all(
      found.sources.map(async (source) => {
        try {
          const { items, since } = await historyFrom(environment, source, kind, name, options.since);
          told.push({ who: source.who, since });
          entries.push(...items);
        } catch (error) {
          if (!(error instanceof LiveError)) throw error;
          unasked.push({ who: source.who, ...nodeOf(source), why: error.message, fix: error.fix });
        }
      }),
    );
    unasked.push(...(await elsewhere(environment, options, found.sources)));
    const history: MergedHistory = { kind, name, entries: inOrder(entries), told: told.toSorted(byWho), unasked };
    if (told.length === 0) environment.endWith(1);
    if (options.output === 'json') environment.print(JSON.stringify(history, undefined, 2));
    else for (const line of renderHistory(history)) environment.print(line);
  } finally {
    found.close();
  }
}

async function historyFrom(
  { clock }: Environment,
  source: LiveSource,
  kind: HistoryKind,
  name: string,
  since: Since | undefined,
): Promise<{ items: ToldEntry[]; since: string }> {
  const at = since === undefined ? undefined : 'at' in since ? since.at : clock.date().getTime() - since.ago;
  const query = { kind, name, ...(at === undefined ? {} : { since: new Date(at).toISOString() }) };
  const { items, process } = await askAll<HistoryEntry>(source, livePaths.history, query, limits.liveHistory);
  const { command, node } = process;
  const by = command === 'controller' ? 'controller' : (node ?? command);
  // One process is both: what it says of nodes and of addresses are told apart by its words.
  return { items: items.map((entry) => ({ ...entry, by })), since: process.started };
}

/** Of a directory: nodes whose agents run elsewhere, as far as their own hosts can tell. */
async function elsewhere(environment: Environment, { source, node }: Options, asked: readonly LiveSource[]): Promise<Unasked[]> {
  if (source === undefined) return [];
  const { snapshot } = await readDirectory(environment, source);
  const names = [...snapshot.nodes.keys()].filter(
    (name) => (node === undefined || name === node) && !asked.some(({ process }) => process.node === name),
  );
  return names.map((name) => ({
    who: `the agent of ${name}`,
    node: name,
    why: 'it does not answer on this host',
    fix: 'run the command on its host, or say its socket: --socket',
  }));
}

const nodeOf = ({ process: { node } }: LiveSource): { readonly node?: string } => (node === undefined ? {} : { node });
const byWho = (a: { readonly who: string }, b: { readonly who: string }): number => (a.who < b.who ? -1 : 1);

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function readSince(text: string): Since {
  const [, digits, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (digits !== undefined) return { ago: Number(digits) * units[unit as keyof typeof units] };
  const at = Date.parse(text);
  if (!/^\d{4}-\d{2}-\d{2}T/.test(text) || Number.isNaN(at)) throw new InvalidArgumentError('Write 10m, 2h, 1d or 2026-01-31T12:00:00Z.');
  return { at };
}
