import { reasonText } from '../../model/reasons.ts';
import { shortAge } from '../text/age.ts';
import type { UnreadableKind } from '../../model/store/unreadable-kind.ts';
import { unshownLines } from '../unread-objects.ts';
import type { SessionRow, SessionReport } from './session-report.ts';
import { tableLines, type Cell } from '../text/table-text.ts';

const titles = ['Node', 'Peer', 'Local AS', 'Peer AS', 'Peer Address', 'Session', 'Uptime', 'Family', 'Received', 'Advertised'];

/** Returns a row for each family; the first has the columns of the session. `wide` adds BFD, the age of the report, and why not. */
export function renderSessions({ sessions }: SessionReport, wide: boolean, unread: readonly UnreadableKind[] = []): string[] {
  const unshown = unshownLines(unread, ['BGPPeer', 'Node']);
  if (sessions.length === 0) return unshown.length > 0 ? unshown : ['There are no sessions.'];
  const all = wide ? [...titles, 'BFD', 'Reported', 'Why Not'] : titles;
  const rows = sessions.flatMap((row) => rowsOf(row).map((cells, index) => (index === 0 ? [...cells, ...widely(row)] : cells)));
  return tableLines(all, rows);
}

function rowsOf(row: SessionRow): Cell[][] {
  const { node, peer, localASN, peerASN, address, state, secondsInState, reason, families, prefixesSent } = row;
  const up = state === 'Established' ? secondsInState : undefined;
  // Older agents report only a sum. It belongs to the family when there is only one.
  const sum = families.length === 1 ? prefixesSent : undefined;
  const counts = families.map(({ family, sent = sum, received }) => [family, text(received), text(sent)]);
  const [first = ['', '', text(prefixesSent)], ...others] = counts;
  const session = state ?? (reason?.code === 'AgentSilent' ? 'not reported' : 'none');
  return [
    [node, peer, String(localASN), String(peerASN), address, session, up === undefined ? '' : shortAge(up), ...first],
    ...others.map((cells) => [...Array<Cell>(7).fill(undefined), ...cells]),
  ];
}

function widely({ bfd, reportedSecondsAgo, source, reason, warning }: SessionRow): string[] {
  const why = reason ?? warning;
  return [
    bfd?.state ?? '',
    source ?? (reportedSecondsAgo === undefined ? 'never' : `${shortAge(reportedSecondsAgo)} ago`),
    why === undefined ? '' : reasonText(why),
  ];
}

function text(count: number | undefined): string {
  return count === undefined ? '' : String(count);
}
