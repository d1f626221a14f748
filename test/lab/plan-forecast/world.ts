import type { Plan } from '../../../src/explain/plan/plan.ts';
import type { Lab } from '../lab.ts';

export const nodes = ['node1', 'node2', 'node3'];
const tors = ['tor1', 'tor2'] as const;

/** What routers and kernels have. */
export interface World {
  /** Attributes by "198.51.100.10/32 to tor1-v4 on node1". */
  readonly routes: ReadonlyMap<string, string>;
  /** The ports of the connection, by "tor1-v4 on node1". */
  readonly sessions: ReadonlyMap<string, string>;
  /** "198.51.100.10 TCP 80 on node1". */
  readonly rules: ReadonlySet<string>;
}

interface Neighbor {
  readonly bgpState: string;
  readonly portLocal?: number;
  readonly portForeign?: number;
}

interface FrrPath {
  readonly aspath: { readonly string: string };
  readonly community?: { readonly string: string };
  readonly peer: { readonly peerId: string };
}

/** Reads the tables of the ToRs: routes that they have from nodes themselves. */
export async function readRoutes(lab: Lab): Promise<Map<string, string>> {
  const routes = new Map<string, string>();
  for (const tor of tors) {
    for (const family of ['ipv4', 'ipv6']) {
      const { routes: table = {} } = await lab.router(tor).show<{ routes?: object }>(`show bgp ${family} unicast json`);
      for (const prefix of Object.keys(table)) {
        const { paths = [] } = await lab.router(tor).show<{ paths?: readonly FrrPath[] }>(`show bgp ${family} unicast ${prefix} json`);
        for (const { aspath, community, peer } of paths) {
          const session = sessionWith(tor, peer.peerId);
          if (session !== undefined) routes.set(`${prefix} to ${session}`, `${aspath.string}, ${community?.string ?? ''}`);
        }
      }
    }
  }
  return routes;
}

export async function readSessions(lab: Lab): Promise<Map<string, string>> {
  const sessions = new Map<string, string>();
  for (const tor of tors) {
    const neighbors = await lab.router(tor).show<Readonly<Record<string, Neighbor>>>('show bgp neighbors json');
    for (const [address, { bgpState, portLocal, portForeign }] of Object.entries(neighbors)) {
      const session = sessionWith(tor, address);
      if (session !== undefined && bgpState === 'Established') sessions.set(session, `${portLocal} ${portForeign}`);
    }
  }
  return sessions;
}

/** Returns the session of a node's address on the network of a ToR: "tor1-v4 on node1". */
function sessionWith(tor: string, address: string): string | undefined {
  const network = tor.slice(-1);
  const index = new RegExp(`^(?:10\\.${network}\\.0\\.|fd00:${network}::)1([1-9])$`).exec(address)?.[1];
  return index === undefined ? undefined : `${tor}-v${address.includes(':') ? 6 : 4} on node${index}`;
}

/** Reads the frontends at addresses from the kernels' maps. */
export async function readRules(lab: Lab): Promise<Set<string>> {
  const rules = new Set<string>();
  for (const node of nodes) {
    const { stdout } = await lab.node(node).exec(['nft', 'list', 'ruleset']);
    for (const [, address = '', protocol = '', port = ''] of stdout.matchAll(/([0-9a-f.:]+) \. (tcp|udp|sctp) \. (\d+)/g))
      rules.add(`${address} ${protocol.toUpperCase()} ${port} on ${node}`);
  }
  return rules;
}

export async function readWorld(lab: Lab): Promise<World> {
  return { routes: await readRoutes(lab), sessions: await readSessions(lab), rules: await readRules(lab) };
}

/** Differences between two worlds, or between a world and its forecast: "- 198.51.100.10/32 to tor1-v4 on node1". Sorted. */
export interface Differences {
  readonly routes: readonly string[];
  readonly sessions: readonly string[];
  readonly rules: readonly string[];
}

/** Changed rules have other endpoints or settings, which do not show in their keys. */
export function differences(before: World, after: World): Differences {
  return {
    routes: compare(before.routes, after.routes),
    sessions: compare(before.sessions, after.sessions),
    rules: compare(keyed(before.rules), keyed(after.rules)),
  };
}

const keyed = (texts: ReadonlySet<string>): Map<string, string> => new Map([...texts].map((text) => [text, '']));

function compare(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((key) => {
    if (!after.has(key)) return [`- ${key}`];
    if (!before.has(key)) return [`+ ${key}`];
    return before.get(key) === after.get(key) ? [] : [`~ ${key}`];
  });
}

/** Returns the differences that a plan forecasts, when everything has happened. A session that resets has another connection. */
export function forecast({ routes, sessions, rules }: Plan, before: World): Differences {
  const signs = { add: '+', remove: '-', change: '~' } as const;
  const changed = new Map(routes.map(({ node, what, change }) => [`${what} on ${node}`, signs[change]]));
  const unwilling = new Set(sessions.flatMap(({ node, peer, agreed }) => (agreed === undefined ? [] : [`${peer} on ${node}`])));
  for (const key of before.routes.keys()) if (unwilling.has(sessionOf(key))) changed.set(key, '-');
  for (const [key, sign] of changed) if (sign === '+' && unwilling.has(sessionOf(key))) changed.delete(key);
  return {
    routes: [...changed].toSorted(byKey).map(([key, sign]) => `${sign} ${key}`),
    sessions: sessions
      .flatMap(({ node, peer, change, agreed }): [string, string][] => {
        const sign = { start: '+', stop: '-', reset: agreed === undefined ? '~' : '-', live: '' }[change];
        return sign === '' ? [] : [[`${peer} on ${node}`, sign]];
      })
      .toSorted(byKey)
      .map(([key, sign]) => `${sign} ${key}`),
    rules: rules
      .filter(({ what, change }) => /^[0-9a-f.:]+ /.test(what) && change !== 'change')
      .map(({ node, what, change }): [string, string] => [`${what} on ${node}`, signs[change]])
      .toSorted(byKey)
      .map(([key, sign]) => `${sign} ${key}`),
  };
}

const byKey = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : a > b ? 1 : 0);
const sessionOf = (route: string): string => route.slice(route.indexOf(' to ') + ' to '.length);
