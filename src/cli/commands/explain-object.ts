import { Argument, Command } from 'commander';
import { explainNode, renderNodeOverview } from '../../explain/objects/node.ts';
import { explainPeer, renderPeer } from '../../explain/objects/peer.ts';
import { explainPool, renderPool } from '../../explain/pools/pool.ts';
import type { KindName } from '../../model/store/snapshot.ts';
import type { ReleasedAddress } from '../../model/parse/released-address.ts';
import { unreadLines, markUndecided } from '../../explain/unread-objects.ts';
import { problemText } from '../../sources/source.ts';
import { jsonText, UsageError, type CommandContext } from '../context/command-context.ts';
import { withoutSelfReference } from '../../explain/text/self-reference.ts';
import { askedView } from '../reading/query-nodes.ts';
import type { UnreachableProcess } from '../live/live-client.ts';
import type { LiveNodes } from '../../explain/sessions/live-view.ts';
import { sourcesOf, type NodeSources } from '../../explain/sessions/block-source.ts';
import { addReadingOptions, openReading, type ReadingOptions } from '../reading/open-reading.ts';
import { inForceJson } from '../reading/in-force.ts';
import { linesAbove, problemLines } from '../reading/problem-lines.ts';
import { outputOption, type OutputOptions } from '../options/shared-options.ts';
import { keptNow, type Reading } from '../reading/reading.ts';
import { kindWords } from '../context/object-words.ts';
import { requireRead, unknownNameError } from '../context/unknown-name.ts';

interface Options extends OutputOptions, ReadingOptions {
  readonly node?: string;
}

/** An explanation, as data and as lines. Undefined: there is no object of that name. */
interface Explained {
  readonly data: object;
  readonly lines: (data: never) => string[];
}

interface Subject {
  readonly command: 'pool' | 'peer' | 'node';
  /** The kind as problems name it. */
  readonly kind: KindName;
  readonly description: string;
  readonly example: string;
  /** Names of all objects of the kind. */
  readonly names: (reading: Reading) => Iterable<string>;
  readonly explain: (reading: Known, name: string, options: Options) => Explained | undefined;
  /** True when agents know more of the object than their reports. */
  readonly asksAgents?: true;
}

/** The reading, with the answers of queried agents in place of their reports. */
interface Known extends Pick<Reading, 'snapshot' | 'now'> {
  /** Addresses that pools keep at the time of the reading. */
  readonly released: readonly ReleasedAddress[];
  readonly sourceOf: (node: string) => NodeSources;
  readonly live: LiveNodes;
}

export const poolSubject: Subject = {
  command: 'pool',
  kind: 'IPAddressPool',
  description:
    'show the addresses of an IPAddressPool: which Services have them, which wait and why, and which BGPAdvertisements announce them',
  example: 'herald explain pool public',
  names: ({ snapshot }) => snapshot.pools.keys(),
  explain({ snapshot, released }, name) {
    const data = explainPool(snapshot, name, released);
    return data === undefined ? undefined : { data, lines: renderPool };
  },
};

export const peerSubject: Subject = {
  command: 'peer',
  kind: 'BGPPeer',
  description: 'show the sessions of a BGPPeer, node by node: state, duration, last error, and routes',
  example: 'herald explain peer tor1\n  herald explain peer tor1 --node node1     with every route',
  names: ({ snapshot }) => snapshot.peers.keys(),
  asksAgents: true,
  explain({ snapshot, now, sourceOf, live }, name, { node }) {
    const data = explainPeer(snapshot, name, now, { sourceOf, only: node, live });
    if (data === undefined) return undefined;
    if (node !== undefined && !snapshot.nodes.has(node)) throw unknownNameError('node', node, snapshot.nodes.keys());
    return { data, lines: (of: typeof data) => renderPeer(of, node !== undefined) };
  },
};

export const nodeSubject: Subject = {
  command: 'node',
  kind: 'Node',
  description: 'show what a node forwards and announces, its sessions and problems, and the Services that differ from what was decided',
  example: 'herald explain node node1',
  names: ({ snapshot }) => snapshot.nodes.keys(),
  asksAgents: true,
  explain({ snapshot, now, sourceOf }, name) {
    const data = explainNode(snapshot, name, now, sourceOf(name));
    return data === undefined ? undefined : { data, lines: renderNodeOverview };
  },
};

export function explainObjectCommand(context: CommandContext, subject: Subject): Command {
  const command = new Command(subject.command)
    .aliases(kindWords[subject.command])
    .description(subject.description)
    .addArgument(new Argument('<name>', `the ${subject.kind}`))
    .addOption(outputOption())
    .addHelpText('after', `\nExample:\n  ${subject.example}\n  herald explain ${subject.command} NAME --source /etc/herald`)
    .action(async (name: string, options: Options) => {
      const reading = await openReading(context, options);
      reading.close();
      const { snapshot, now } = reading;
      const node = subject === nodeSubject ? name : options.node;
      const asked = subject.asksAgents === true && [...subject.names(reading)].includes(name);
      const view = await askedView(context, asked ? options : { ...options, ask: false }, reading, {
        node,
        ...(subject === peerSubject && snapshot.peers.get(name)?.import !== undefined ? { received: { peer: name } } : {}),
      });
      const known = {
        snapshot: view.snapshot,
        now,
        released: await keptNow(reading),
        sourceOf: (of: string) => sourcesOf(snapshot, of, now, view),
        live: view.live,
      };
      print(context, reading, { subject, known, unasked: view.unasked }, name, options);
    });
  if (subject === peerSubject) command.option('--node <name>', 'only this node, with every route');
  return addReadingOptions(command);
}

interface Asked {
  readonly subject: Subject;
  readonly known: Known;
  readonly unasked: readonly UnreachableProcess[];
}

function print(context: CommandContext, reading: Reading, { subject, known, unasked }: Asked, name: string, options: Options): void {
  const { problems, unread } = reading;
  const about = problems.filter(
    ({ object, severity }) => object === `${subject.kind}/${name}` || (object === undefined && severity === 'error'),
  );
  const found = subject.explain(known, name, options);
  if (found === undefined) {
    requireRead(subject.kind, name, unread);
    const because = [...about.map(problemText), ...unreadLines(unread)].map((line) => `\n  ${line}`).join('');
    throw new UsageError(`${unknownNameError(subject.kind, name, subject.names(reading)).message}${because}`);
  }
  const data = markUndecided(found.data, reading, '');
  if (options.output === 'json') {
    const asked = subject.asksAgents === true ? { unasked } : {};
    return context.print(jsonText({ ...data, problems: about, ...inForceJson(reading), unread, ...asked }));
  }
  const warnings = problemLines(about.filter(({ severity }) => severity === 'warning'));
  const command = `herald explain ${subject.command} ${name}`;
  const above = linesAbove(about, reading);
  for (const line of [...above, ...withoutSelfReference(found.lines(data as never), command), ...warnings, ...unreadLines(unread)])
    context.print(line);
}
