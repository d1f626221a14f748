import { isRestored, restoredSessions } from '../../explain/plan/drain-forecast.ts';
import { KubeError, type KubeErrorCode } from '../../kube/error.ts';
import type { HeraldConfig } from '../../model/kinds/types.ts';
import { isCurrent, reportAge, type NodeDrainReport, type NodeState } from '../../model/objects/node-state.ts';
import { sleep, type Clock } from '../../system/clock.ts';
import { progressLines, restoredRoutesText } from './drain-progress.ts';
import type { DrainStorage } from './drain-storage.ts';
import { limits } from '../limits.ts';

interface WaitOptions {
  readonly node: string;
  readonly timeoutSeconds: number;
  /** Aborts when the user does not want to wait any longer. */
  readonly stopped: AbortSignal;
  readonly say: (line: string) => void;
}

interface DrainWait extends WaitOptions {
  readonly nodeDrain: HeraldConfig['nodeDrain'];
  /** Finish when all routes are withdrawn except those of Services that only this node announces. */
  readonly keepLast: boolean;
}

/** kept: routes stay, as the user agreed. undone: the drain was ended and all is announced as before. */
type WaitResult = 'drained' | 'kept' | 'undone' | 'timeout' | 'interrupted';

export interface WaitOutcome {
  readonly result: WaitResult;
  /** The last report of the drain. */
  readonly drain?: NodeDrainReport;
}

/** Prints what the agent reports until the node is drained. */
export async function waitUntilDrained(clock: Clock, target: DrainStorage, options: DrainWait): Promise<WaitOutcome> {
  let drain: NodeDrainReport | undefined;
  const outcome = await follow(clock, target, options, async (state) => {
    if (state.drain === undefined) return undefined;
    for (const line of progressLines(state, drain, options.nodeDrain)) options.say(line);
    drain = state.drain;
    if (state.drain.phase === 'Drained') return 'drained';
    return state.drain.phase === 'Settled' && options.keepLast ? 'kept' : undefined;
  });
  return drain === undefined ? { result: outcome } : { result: outcome, drain };
}

/** Prints what the agent reports until everything that should be announced is announced. */
export async function waitUntilRestored(clock: Clock, target: DrainStorage, options: WaitOptions): Promise<WaitOutcome> {
  let computed = { updated: '', at: 0 };
  let said = '';
  const result = await follow(clock, target, options, async (state) => {
    // The expected routes are computed for each report, and now and then for the same report: what is expected may have changed since.
    const at = clock.date().getTime();
    if (state.drain !== undefined || (state.updated === computed.updated && at < computed.at + limits.drainExpectMilliseconds))
      return undefined;
    computed = { updated: state.updated, at };
    const { snapshot, now } = await target.read();
    const sessions = restoredSessions(snapshot, options.node, state, now);
    const back = isRestored(sessions);
    const line = `${back ? 'announced again' : 'not everything is announced yet'}: ${restoredRoutesText(sessions)}`;
    if (line !== said) options.say(line);
    said = line;
    return back ? 'undone' : undefined;
  });
  return { result };
}

/** An API server may be unreachable while the node that it runs on is drained. These errors are retried. */
const passing: ReadonlySet<KubeErrorCode> = new Set(['unreachable', 'busy', 'failing', 'stalled']);

async function follow(
  clock: Clock,
  target: DrainStorage,
  { timeoutSeconds, stopped, say }: WaitOptions,
  look: (state: NodeState) => Promise<WaitResult | undefined>,
): Promise<WaitResult> {
  const over = new AbortController();
  const cancel = clock.after(timeoutSeconds * 1000, () => over.abort());
  const signal = AbortSignal.any([over.signal, stopped]);
  const heardBy = clock.date().getTime() + 5 * limits.drainLookMilliseconds;
  let trouble = '';
  const once = (kind: string, line: string): void => {
    if (trouble !== kind) say(line);
    trouble = kind;
  };
  try {
    for (;;) {
      try {
        const { state, acknowledged } = await target.observe(signal);
        const now = clock.date().getTime();
        // The kubelet answers for an agent in a Pod, which writes nothing while nothing changes. It has to take the request soon.
        const isHeard = state?.pod === undefined ? state !== undefined && isCurrent(state, now) : acknowledged || now < heardBy;
        if (state === undefined) once('none', 'there is no report of its agent: waiting for one');
        else if (!isHeard) once('stale', `its agent has not reported for ${reportAge(state, now)} s: waiting for it`);
        else trouble = '';
        const result = state !== undefined && acknowledged ? await look(state) : undefined;
        if (result !== undefined) return result;
      } catch (error) {
        if (signal.aborted || !(error instanceof KubeError) || !passing.has(error.code)) throw error;
        once('away', `${error.message}: asking again`);
      }
      await sleep(clock, limits.drainLookMilliseconds, signal);
    }
  } catch (error) {
    if (stopped.aborted) return 'interrupted';
    if (over.signal.aborted) return 'timeout';
    throw error;
  } finally {
    cancel();
  }
}
