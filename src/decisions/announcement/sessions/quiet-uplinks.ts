import { reason, type Reason } from '../../../model/reasons.ts';
import type { Family } from '../../../net/address.ts';

/** An interface by which routers that have routes of a family send packets of clients, with its connections so far. */
export interface UplinkCount {
  readonly family: Family;
  readonly interface: string;
  /** The BGPPeers behind it that have routes of the family, sorted. */
  readonly peers: readonly string[];
  /** An announced prefix. */
  readonly prefix: string;
  /** Equal while the sessions with these peers are the same ones. */
  readonly sessions: string;
  /** New connections that came in by it. It may begin anew. */
  readonly connections: number;
}

/** What is remembered of an uplink and a family. */
interface UplinkRecord extends UplinkCount {
  /** Connections that came in by it, and by the others until its latest one. */
  readonly own: number;
  readonly others: number;
  /** Connections that came in by the others since its latest one, or since the sessions with its routers began. */
  readonly unmatched: number;
  /** RFC 3339: since when none came. */
  readonly since: string;
}

export type UplinkRecords = ReadonlyMap<string, UplinkRecord>;

/** Adds the present counts. Uplinks that are not among them are forgotten. `date`: RFC 3339. */
export function noteUplinks(records: UplinkRecords, counts: readonly UplinkCount[], date: string): UplinkRecords {
  const keyOf = (count: UplinkCount): string => `${count.family} ${count.interface}`;
  const added = new Map(
    counts.map((count) => {
      // The kernel also knows those that came before this process began.
      const before = records.get(keyOf(count))?.connections ?? 0;
      return [keyOf(count), count.connections < before ? count.connections : count.connections - before];
    }),
  );
  return new Map(
    counts.map((count) => {
      const key = keyOf(count);
      const ofOthers = counts
        .filter((one) => one.family === count.family && one.interface !== count.interface)
        .reduce((sum, one) => sum + (added.get(keyOf(one)) ?? 0), 0);
      return [key, noteUplink(records.get(key), count, { own: added.get(key) ?? 0, others: ofOthers, date })] as const;
    }),
  );
}

function noteUplink(
  known: UplinkRecord | undefined,
  count: UplinkCount,
  added: { readonly own: number; readonly others: number; readonly date: string },
): UplinkRecord {
  const { own, others, unmatched, since } = known ?? { own: 0, others: 0, unmatched: 0, since: added.date };
  // Nobody knows when these came: by others, they may be older than the sessions.
  if (known === undefined) return { ...count, own: added.own, others: added.own > 0 ? added.others : 0, unmatched, since };
  if (added.own > 0) {
    // What came long ago tells little of now.
    const part = own + others > rememberedConnections ? 0.5 : 1;
    return { ...count, own: own * part + added.own, others: others * part + unmatched + added.others, unmatched: 0, since: added.date };
  }
  if (known.sessions !== count.sessions) return { ...count, own, others, unmatched: 0, since: added.date };
  return { ...count, own, others, unmatched: unmatched + added.others, since };
}

/**
 * Returns the uplinks by which no connection comes although many come by others of the node: fewer than ever if it were chance. A router that is
 * only a backup gets none either, so this is a hint.
 */
export function judgeUplinks(records: UplinkRecords): Reason[] {
  return [...records.values()].flatMap((record): Reason[] => {
    const { family, interface: name, peers, prefix, own, others, unmatched, since } = record;
    const expected = others === 0 ? 0 : (unmatched * own) / others;
    const hasEnded = own > 0 && unmatched >= certainConnections && expected >= expectedConnections;
    if (!hasEnded && (own > 0 || unmatched < hundreds)) return [];
    const besides = [...records.values()].filter((one) => one.family === family && one.interface !== name);
    return [
      reason('UplinkWithoutConnections', {
        interface: name,
        peers: peers.join(', '),
        family: `IPv${family}`,
        prefix,
        since,
        besides: besides.map((one) => one.interface).join(', '),
        // Every new number is written to the NodeState.
        connections: certainConnections * 2 ** Math.floor(Math.log2(unmatched / certainConnections)),
        ...(own > 0 ? { before: Math.round((100 * own) / (own + others)) } : {}),
      }),
    ];
  });
}

/** Connections by others from which on an uplink is judged that had some, and one that never had one. */
const certainConnections = 100;
const hundreds = 200;
/** Connections that should have come by an uplink as often as before. By chance none of as many comes once in 500 million cases. */
const expectedConnections = 20;
const rememberedConnections = 20_000;
