import type { BfdStatus, ChecksReport, NodeState, SessionStatus } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import { sameContent } from '../../model/store/same-content.ts';

/** The content of a NodeState without the node's name and the time. */
export type ReportContent = Omit<NodeState, 'kind' | 'metadata' | 'updated' | 'version' | 'writer'>;

/**
 * How soon a report must be written. `now`: decisions of others depend on the difference. `acknowledgement`: the agent has only acted on a
 * newer version of its Node, for which `herald drain` waits. `answers`: which frontends were answered, which the first line of an explanation says.
 * `details`: counts, versions of Services, or the words about a session that is down. `none`: the written report says the same.
 */
export type WriteUrgency = 'now' | 'acknowledgement' | 'answers' | 'details' | 'none';

/** Compares the content of the written report with the present one. */
export function writeUrgency(written: ReportContent, present: ReportContent): WriteUrgency {
  if (sameContent(written, present)) return 'none';
  if (!sameContent(decidingPart(written), decidingPart(present))) return 'now';
  if (written.consumed['Node'] !== present.consumed['Node']) return 'acknowledgement';
  return sameContent(written.checks ?? {}, present.checks ?? {}) ? 'details' : 'answers';
}

/** Returns what decisions and conditions depend on. */
function decidingPart(content: ReportContent): object {
  return { ...content, consumed: undefined, sessions: content.sessions.map(decidingSession), checks: decidingChecks(content.checks) };
}

/** Clients come and go all the time, so that they are answered can wait. */
function decidingChecks(checks: ChecksReport | undefined): object | undefined {
  return checks === undefined ? undefined : { ...checks, answered: undefined, truncated: undefined };
}

/** A session that is down changes its state every few seconds, with another symptom each time, and nobody decides differently for that. */
function decidingSession({ peer, address, interface: bound, state, since, families, cause, warning, damping, bfd }: SessionStatus): object {
  const isEstablished = state === 'Established';
  return {
    peer,
    address,
    bound,
    isEstablished,
    since: isEstablished ? since : '',
    families: families?.map(({ family }) => family),
    cause: firstCause(cause),
    warning: firstCause(warning),
    until: damping?.until,
    bfd: decidingBfd(bfd),
  };
}

function decidingBfd(bfd: BfdStatus | undefined): object | undefined {
  return bfd === undefined ? undefined : { isUp: bfd.state === 'Up', isAwaited: bfd.awaited !== undefined, warning: bfd.warning };
}

/** Leaves out the latest symptom, which follows from the cause. */
function firstCause(because: Reason | undefined): object | undefined {
  return because === undefined ? undefined : { code: because.code, details: { ...(because.details as object), latest: '' } };
}
