import { forecastDrain, isReporting, type DrainForecast } from '../../explain/plan/drain-forecast.ts';
import { unreadLines } from '../../explain/unread-objects.ts';
import { withFix } from '../../explain/text/reason-lines.ts';
import { annotations } from '../../model/annotations.ts';
import type { Node } from '../../model/objects/cluster.ts';
import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import { reason } from '../../model/reasons.ts';
import { count } from './drain-progress.ts';
import { openClusterDrain, openDirectoryDrain, drainRequestText, type DrainStorage, type DrainRequest } from './drain-storage.ts';
import { waitUntilRestored, waitUntilDrained, type WaitOutcome } from './drain-wait.ts';
import { jsonText, UsageError, type CommandContext } from '../context/command-context.ts';
import { limits } from '../limits.ts';
import type { CallerOptions, OutputOptions } from '../options/shared-options.ts';
import type { Reading } from '../reading/reading.ts';

export interface DrainOptions extends OutputOptions, CallerOptions {
  readonly source?: string;
  readonly force?: true;
  readonly keepLast?: true;
  readonly uncordon?: true;
  readonly dryRun?: true;
  readonly wait: 'true' | 'false';
  /** Seconds. */
  readonly timeout?: number;
}

/** Exit statuses of `herald drain`. exit-status.ts has the status of a wrong command line. */
const drainStatus = { done: 0, error: 1, refused: 3, notYet: 4 } as const;

/** The output of `-o json`, printed once at the end. */
interface Answer {
  readonly node: string;
  readonly action: 'drain' | 'undo';
  readonly result: WaitOutcome['result'] | 'refused' | 'asked' | 'dry run';
  /** True when the Node was written. */
  readonly written: boolean;
  readonly forecast?: DrainForecast;
  readonly drain?: WaitOutcome['drain'];
  readonly seconds: number;
}

export async function drain(context: CommandContext, node: string, options: DrainOptions): Promise<void> {
  const { clock, stopped, setExitStatus } = context;
  const began = clock.now();
  const target =
    options.source === undefined ? await openClusterDrain(context, options, node) : openDirectoryDrain(context, options.source, node);
  const say = (line: string): void => (options.output === 'json' ? context.printError : context.print)(line);
  try {
    const answer = await answerOf({ context, target, node, options, say });
    const seconds = Math.round((clock.now() - began) / 1000);
    if (options.output === 'json') context.print(jsonText({ ...answer, seconds } satisfies Answer));
    setExitStatus(statusOf(answer));
  } catch (error) {
    if (!stopped.aborted) throw error;
    // Not 0 as for other stopped commands: a script must not take the node for drained.
    setExitStatus(drainStatus.notYet);
  } finally {
    target.close();
  }
}

type Told = Omit<Answer, 'seconds'>;

interface Task {
  readonly context: CommandContext;
  readonly target: DrainStorage;
  readonly node: string;
  readonly options: DrainOptions;
  readonly say: (line: string) => void;
}

function statusOf({ result }: Told): number {
  if (result === 'refused') return drainStatus.refused;
  return result === 'timeout' || result === 'interrupted' ? drainStatus.notYet : drainStatus.done;
}

async function answerOf(task: Task): Promise<Told> {
  const { target, node, options } = task;
  const reading = await target.read();
  requireSight(reading);
  const object = reading.snapshot.nodes.get(node);
  if (object === undefined) {
    const names = [...reading.snapshot.nodes.keys()].toSorted().slice(0, 20).join(', ');
    throw new UsageError(`there is no valid Node ${node} in ${reading.from}: there ${names === '' ? 'are none' : `are ${names}`}`);
  }
  if (options.wait === 'true' && options.dryRun !== true && !isReporting(reading.snapshot, node, reading.now)) {
    const because = withFix('', reason('AgentSilent', { node })).join('\n');
    throw new UsageError(`nothing was written, because no agent would act on it. ${because}\n(--wait=false writes it all the same)`);
  }
  return options.uncordon === true ? putBack(task, reading, object) : takeOut(task, reading, object);
}

/** Refuses to drain when objects could not be read: they may be Services that only this node announces. */
function requireSight({ unread }: Reading): void {
  const blind = unread.filter(({ why, kind, resource }) => {
    return kind !== 'Secret' && (why === 'forbidden' || resource === 'nodestates.herald.dev');
  });
  if (blind.length === 0) return;
  const lines = unreadLines(blind).map((line) => `\n  ${line}`);
  throw new UsageError(
    `nothing was written: the effect of draining the node is unknown, as not everything could be read${lines.join('')}\n(the ClusterRole herald-drain allows all that is needed, manifests/base)`,
  );
}

async function takeOut(task: Task, reading: Reading, object: Node): Promise<Told> {
  const { node, options, say } = task;
  const { snapshot, now } = reading;
  const forecast = forecastDrain(snapshot, node, now);
  const standing = requestedDrain(snapshot.config, object);
  const request: DrainRequest = options.force === true ? 'force' : 'keepLast';
  // A forced drain continues, unless --keep-last asks for the routes that it has withdrawn.
  const stands = standing === request || (standing === 'force' && options.keepLast !== true);
  const told = { node, action: 'drain', forecast } as const;
  const alone = forecast.lastNextHops.length;
  if (!stands && request === 'keepLast' && options.keepLast !== true && alone > 0) {
    say(`refused, and nothing was written: no other node announces ${count(alone, 'Service')} of ${node}`);
    for (const line of serviceLines(forecast)) say(line);
    say('fix: move their pods, or let another node announce them (herald explain service shows why none does)');
    say('     --keep-last drains the node of everything else; --force withdraws these too, which makes them unreachable');
    return { ...told, result: 'refused', written: false };
  }
  if (options.dryRun === true) {
    say(`${node} announces ${count(forecast.announces, 'Service')} to ${forecast.peers.join(', ') || 'no peer'}`);
    if (alone === 0) say('another node announces each of them as well');
    else
      say(`no other node announces ${alone} of them, which ${request === 'force' ? 'would become unreachable' : 'would stay announced'}`);
    for (const line of serviceLines(forecast)) say(line);
    say(
      stands
        ? 'it is drained already, and nothing would be written'
        : `${annotations.nodeDrain}: "${drainRequestText(request)}" would be written; nothing was (--dry-run)`,
    );
    return { ...told, result: 'dry run', written: false };
  }
  if (alone > 0) {
    say(`no other node announces ${count(alone, 'Service')}: ${request === 'force' ? 'they become unreachable' : 'their routes stay'}`);
    for (const line of serviceLines(forecast)) say(line);
  }
  const written = await ask(task, reading, request, stands);
  if (options.wait === 'false') return { ...told, result: 'asked', written };
  const { nodeDrain } = snapshot.config;
  const timeoutSeconds = timeoutOf(options, reading);
  const { clock, stopped } = task.context;
  const keepLast = options.keepLast === true;
  const outcome = await waitUntilDrained(clock, task.target, { node, nodeDrain, keepLast, timeoutSeconds, stopped, say });
  sayEnd(task, outcome, timeoutSeconds);
  return { ...told, ...outcome, written };
}

async function putBack(task: Task, reading: Reading, object: Node): Promise<Told> {
  const { node, options, say } = task;
  const told = { node, action: 'undo' } as const;
  const { taint } = reading.snapshot.config.nodeDrain;
  if (taint !== undefined && object.taints?.includes(taint) === true) {
    throw new UsageError(`${node} is drained by its taint, which Herald does not remove: kubectl taint node ${node} ${taint}-`);
  }
  const stands = object.drain === undefined;
  if (options.dryRun === true) {
    say(
      stands
        ? `${node} is not drained, and nothing would be written`
        : `${annotations.nodeDrain} would be removed from the Node; nothing was written (--dry-run)`,
    );
    return { ...told, result: 'dry run', written: false };
  }
  const written = await ask(task, reading, undefined, stands);
  if (options.wait === 'false') return { ...told, result: 'asked', written };
  const timeoutSeconds = timeoutOf(options, reading);
  const { clock, stopped } = task.context;
  const outcome = await waitUntilRestored(clock, task.target, { node, timeoutSeconds, stopped, say });
  sayEnd(task, outcome, timeoutSeconds);
  return { ...told, ...outcome, written };
}

/**
 * Requests the drain and returns whether the Node was written: it is not when it has the value already, nor when its author must write it.
 */
async function ask({ target, node, say }: Task, { snapshot }: Reading, request: DrainRequest, stands: boolean): Promise<boolean> {
  const { manifest } = target;
  if (stands) {
    say(request === undefined ? `${node} has no annotation ${annotations.nodeDrain}` : `${node} is asked to drain already`);
    return false;
  }
  await target.write(request, snapshot.nodeStates.get(node));
  const value = `${annotations.nodeDrain}: "${drainRequestText(request)}"`;
  if (manifest === undefined) {
    say(request === undefined ? `${annotations.nodeDrain} is removed from the Node` : `${value} is written to the Node`);
    return true;
  }
  const where = await manifest();
  say(
    request === undefined
      ? `remove the annotation ${annotations.nodeDrain} from metadata of Node ${node}, ${where}`
      : `write annotations: { ${value} } into metadata of Node ${node}, ${where}`,
  );
  return false;
}

/** The longest time that the agent may take, and a minute for it to see the request and to report. */
function timeoutOf({ timeout }: DrainOptions, { snapshot }: Reading): number {
  const { settleSeconds, deadlineSeconds } = snapshot.config.nodeDrain;
  return timeout ?? Math.min(limits.drainTimeoutSeconds, settleSeconds + deadlineSeconds + 60);
}

function sayEnd({ node, options, say }: Task, { result, drain: reported }: WaitOutcome, timeoutSeconds: number): void {
  const undo = options.uncordon === true;
  if (result === 'kept') say('do not remove the node yet: move the pods of these Services, then herald drain waits for the rest');
  if (result !== 'timeout' && result !== 'interrupted') return;
  const phase = undo ? '' : reported === undefined ? ', which its agent has not begun' : `, phase ${reported.phase}`;
  const why = result === 'timeout' ? `not done after ${timeoutSeconds} s` : 'stopped waiting';
  const next = undo ? 'its agent goes on' : `the drain goes on; herald drain ${node} waits for it, --uncordon ends it`;
  say(`${why}${phase}: ${next}`);
}

function serviceLines({ lastNextHops }: DrainForecast): string[] {
  const shown = lastNextHops.slice(0, limits.drainServices).map(({ service, addresses }) => `  ${service}: ${addresses.join(', ')}`);
  const more = lastNextHops.length - shown.length;
  return more > 0 ? [...shown, `  and ${more} more`] : shown;
}
