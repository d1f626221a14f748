import { reasonText } from '../../model/reasons.ts';
import { shortCount } from './pool.ts';
import type { PoolRow, PoolReport } from './pool-report.ts';
import type { UnreadableKind } from '../../model/store/unreadable-kind.ts';
import { unshownLines } from '../unread-objects.ts';
import { countsText, tableLines, type Cell } from '../text/table-text.ts';

const titles = ['Pool', 'Family', 'Addresses', 'Given', 'Free', 'Announced By', 'Pending'];

/** Returns a row for each family of each pool, with kept addresses if there are any. `wide` adds ranges, and why a pool gives no more. */
export function renderPools({ pools, waiting }: PoolReport, wide: boolean, unread: readonly UnreadableKind[] = []): string[] {
  const unshown = unshownLines(unread, ['IPAddressPool']);
  if (pools.length === 0) return [...(unshown.length > 0 ? unshown : ['There are no IPAddressPools.']), ...waitingLine(waiting)];
  const keeps = pools.some(({ usage }) => usage.some(({ kept }) => kept > 0));
  const counted = keeps ? titles.toSpliced(4, 0, 'Kept') : titles;
  const all = wide ? [...counted, 'Ranges', 'Gives No More'] : counted;
  const rows = pools.flatMap((row) => rowsOf(row, keeps).map((cells, index) => (index === 0 ? [...cells, ...widely(row)] : cells)));
  return [...tableLines(all, rows), ...waitingLine(waiting)];
}

/** A Service counts in each pool that refuses it, so the sum of that column is not the number of waiting Services. */
function waitingLine(waiting: number): string[] {
  if (waiting === 0) return [];
  return ['', waiting === 1 ? '1 Service waits for an address.' : `${waiting} Services wait for an address.`];
}

function rowsOf({ pool, usage, advertisements, l2Advertisements = [], unannounced, pending }: PoolRow, keeps: boolean): Cell[][] {
  const counts = usage.map(({ family, given, kept, free, total }) => [
    family,
    shortCount(total),
    String(given),
    ...(keeps ? [String(kept)] : []),
    shortCount(free),
  ]);
  const [first = keeps ? ['', '', '', '', ''] : ['', '', '', ''], ...others] = counts;
  const announced =
    unannounced === undefined
      ? [...new Set([...advertisements, ...l2Advertisements])].join(',')
      : unannounced.code === 'Undecided'
        ? 'not known'
        : 'none';
  return [[pool, ...first, announced, countsText(pending)], ...others.map((cells) => [undefined, ...cells])];
}

function widely({ addresses, givesNothing }: PoolRow): string[] {
  return [addresses.join(','), givesNothing === undefined ? '' : reasonText(givesNothing)];
}
