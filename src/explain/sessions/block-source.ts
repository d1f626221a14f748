import { reportAge, runningReport } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { ageText } from '../text/age.ts';
import type { LiveView } from './live-view.ts';

/** Where a block comes from: the agent's answer of this moment, its last report, or, where both lack, the decisions alone. */
export type BlockSource = 'asked now' | 'reported' | 'decided';

/** The source of each block of a node. */
export interface NodeSources {
  readonly sessions: BlockSource;
  readonly routes: BlockSource;
  readonly forwarding: BlockSource;
  /** Age of the report; absent: there is none. */
  readonly reportedSecondsAgo?: number;
}

/** `view` has the answers of queried agents; `snapshot` is what was read. */
export function sourcesOf(snapshot: Snapshot, node: string, now: number, view?: LiveView): NodeSources {
  const last = snapshot.nodeStates.get(node);
  const known = runningReport(snapshot.nodeStates, node, now) !== undefined && view?.unreported.has(node) !== true;
  const report: BlockSource = known ? 'reported' : 'decided';
  const live = view?.live.get(node);
  return {
    sessions: live === undefined ? report : 'asked now',
    routes: live?.routes === undefined ? report : 'asked now',
    forwarding: report,
    ...(last === undefined ? {} : { reportedSecondsAgo: reportAge(last, now) }),
  };
}

/** Returns what follows a node's name: "  (asked now; forwarding reported 12 s ago)". Empty: nothing is reported, as a line below says. */
export function sourceText({ sessions, forwarding, reportedSecondsAgo: age }: NodeSources): string {
  if (sessions !== 'asked now') return age === undefined ? '' : `  (reported ${ageText(age)} ago)`;
  return `  (asked now; forwarding ${forwarding === 'reported' && age !== undefined ? `reported ${ageText(age)} ago` : 'as decided, no report'})`;
}

/** Returns what follows the name of a node of which only the session is shown. */
export function sessionSourceText({ sessions, reportedSecondsAgo: age }: NodeSources): string {
  if (sessions === 'asked now') return '  (asked now)';
  return age === undefined ? '' : `  (reported ${ageText(age)} ago)`;
}
