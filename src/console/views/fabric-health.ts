import type { Health } from '../contract.ts';

interface Line {
  readonly node: string;
  readonly peer: string;
  readonly health: Health;
}

/** The health of routers and nodes by that of their sessions. A name without a session has no entry. */
export interface EndHealths {
  readonly peers: ReadonlyMap<string, Health>;
  readonly nodes: ReadonlyMap<string, Health>;
}

/**
 * Colours the ends of sessions as `herald status --problems` blames them. A router is bad when it has no session that is up, and so is a node.
 * Each other session that is down between a router and a node that are both connected elsewhere makes both doubtful. A session that a bad end
 * explains says nothing about its other end, and neither does one that is off or of a silent node.
 */
export function endHealths(sessions: readonly Line[]): EndHealths {
  const down = sessions.filter(({ health }) => health === 'bad');
  const up = sessions.filter(isUp);
  const reachable = new Set(up.map(({ peer }) => peer));
  const connected = new Set(up.map(({ node }) => node));
  const single = down.filter(({ peer, node }) => reachable.has(peer) && connected.has(node));
  const doubtful = [...single, ...sessions.filter(({ health }) => health === 'doubtful')];
  return {
    peers: byEnd(sessions, ({ peer }) => peer, doubtful),
    nodes: byEnd(sessions, ({ node }) => node, doubtful),
  };
}

function byEnd(sessions: readonly Line[], endOf: (line: Line) => string, doubtful: readonly Line[]): ReadonlyMap<string, Health> {
  const troubled = new Set(doubtful.map(endOf));
  return new Map(
    [...Map.groupBy(sessions, endOf)].map(([end, own]): [string, Health] => {
      if (own.some(isUp)) return [end, troubled.has(end) ? 'doubtful' : 'good'];
      if (own.some(({ health }) => health === 'bad')) return [end, 'bad'];
      return [end, own.some(({ health }) => health === 'unknown') ? 'unknown' : 'off'];
    }),
  );
}

function isUp({ health }: Line): boolean {
  return health === 'good' || health === 'doubtful';
}
