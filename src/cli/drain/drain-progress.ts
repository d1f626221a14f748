import type { RestoredSession } from '../../explain/plan/drain-forecast.ts';
import type { HeraldConfig } from '../../model/kinds/types.ts';
import type { NodeDrainReport, NodeState } from '../../model/objects/node-state.ts';

/** Returns lines for people about everything that has changed since the report `before`. Absent `before`: this is the first report. */
export function progressLines(
  { drain, sessions }: NodeState,
  before: NodeDrainReport | undefined,
  { settleSeconds, deadlineSeconds }: HeraldConfig['nodeDrain'],
): string[] {
  if (drain === undefined) return [];
  const { phase, kept, connections } = drain;
  const entered = phase !== before?.phase;
  const left = connections === undefined ? undefined : `${count(connections, 'connection')} ${connections === 1 ? 'is' : 'are'} left`;
  const lines: string[] = [];
  if (phase === 'Draining' && entered) {
    const up = sessions.flatMap(({ peer, state }) => (state === 'Established' ? [peer] : []));
    const down = sessions.flatMap(({ peer, state }) => (state === 'Established' ? [] : [`${peer} (${state})`]));
    const rest = down.length === 0 ? '' : `; no session with ${down.join(', ')}`;
    lines.push(
      `routes to ${up.join(', ') || 'no peer'} carry GRACEFUL_SHUTDOWN${rest}: routers have ${settleSeconds} s to choose other routes`,
    );
  }
  if (phase === 'Settled' && (entered || kept !== before?.kept)) {
    lines.push(`the other routes are withdrawn; those of ${count(kept, 'Service')} stay, as no other node announces them`);
  }
  if (phase !== 'Withdrawn' && phase !== 'Drained') return lines;
  if (before?.phase !== 'Withdrawn' && before?.phase !== 'Drained') {
    lines.push(`all routes are withdrawn; connections that still arrive are forwarded, for ${deadlineSeconds} s at most`);
  }
  if (left !== undefined && phase === 'Withdrawn' && connections !== before?.connections) lines.push(left);
  if (phase === 'Drained' && entered) {
    lines.push(
      connections === 0
        ? 'drained: no connection is left'
        : `drained: the ${deadlineSeconds} s are over, ${left ?? 'and the number of remaining connections is unknown'}`,
    );
  }
  return lines;
}

/** Returns a line such as "tor1: 3 of 3 routes, tor2: Active". */
export function restoredRoutesText(sessions: readonly RestoredSession[]): string {
  if (sessions.length === 0) return 'there is nothing to announce';
  const parts = sessions.map(({ peer, state, sent, wanted }) => {
    return `${peer}: ${state === 'Established' ? `${sent} of ${count(wanted, 'route')}` : state}`;
  });
  return parts.join(', ');
}

export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
