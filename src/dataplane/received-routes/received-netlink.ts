import { defined } from '../../lang/defined.ts';
import type { Family } from '../../net/address.ts';
import { compareAddresses } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import { NetlinkConnection } from '../../system/netlink/connection.ts';
import { MalformedNetlink, NetlinkError } from '../../system/netlink/error.ts';
import { followChanges } from '../../system/netlink/follow-changes.ts';
import { listLinks, readLink } from '../../system/netlink/link-messages.ts';
import { openNetlink, routeProtocol as rtnetlink } from '../../system/netlink/socket.ts';
import { DataplaneError } from '../dataplane.ts';
import { routeWatchRestart } from '../limits.ts';
import {
  eventGroups,
  listRoutes,
  listRules,
  readRoute,
  readRule,
  removeRequest,
  ruleNames,
  ruleRequest,
  setRequest,
  tableOffset,
  type IndexedRoute,
} from './received-messages.ts';
import { receivedTable, type KernelRoute, type ReceivedRouteTable } from './received-table.ts';

/** Errors of the kernel that mean that the desired state already exists: EEXIST when adding a rule, ESRCH and ENOENT when removing. */
const alreadyDone = new Set(['EEXIST', 'ESRCH', 'ENOENT']);

const families: readonly Family[] = [4, 6];

/**
 * Returns the port to received routes by netlink. Undefined: FFI is not available on this machine, or the kernel refuses the socket.
 * `networkNamespace`: a file such as /run/netns/node1.
 */
export function receivedNetlink(clock: Clock, networkNamespace?: string): ReceivedRouteTable | undefined {
  const where = { protocol: rtnetlink, ...defined({ networkNamespace }) };
  let socket;
  try {
    socket = openNetlink({ ...where, strict: true });
  } catch (error) {
    if (error instanceof NetlinkError) return undefined;
    throw error;
  }
  if (socket === undefined) return undefined;
  const { port } = socket;
  const connection = new NetlinkConnection(socket, clock);

  const readLinks = async (): Promise<{ readonly indexes: Map<string, number>; readonly names: Map<number, string> }> => {
    const links = await connection.list(listLinks, readLink);
    return {
      indexes: new Map(links.map(({ name, index }) => [name, index])),
      names: new Map(links.map(({ name, index }) => [index, name])),
    };
  };
  const indexedRoutes = async (family: Family): Promise<IndexedRoute[]> => {
    try {
      return await connection.list(listRoutes(family), readRoute);
    } catch (error) {
      // The table does not exist before it has its first route.
      if (error instanceof NetlinkError && error.code === 'ENOENT') return [];
      throw error;
    }
  };
  const hasRules = async (family: Family): Promise<boolean> =>
    new Set(await connection.list(listRules(family), readRule)).size === ruleNames.length;
  const addRules = async (of: readonly Family[]): Promise<void> => {
    // In this order: a received default route must not precede the routes of the main table for a moment.
    for (const name of ruleNames) check(await connection.change(of.map((family) => ruleRequest('add', family, name))));
  };
  const removeRules = async (of: readonly Family[]): Promise<void> => {
    for (const name of ruleNames.toReversed()) check(await connection.change(of.map((family) => ruleRequest('remove', family, name))));
  };

  return {
    list: () =>
      translated(async () => {
        const unruled = new Set<Family>();
        const found: IndexedRoute[] = [];
        for (const family of families) {
          found.push(...(await indexedRoutes(family)));
          if (!(await hasRules(family))) unruled.add(family);
        }
        if (found.length === 0) return { routes: [], unruled };
        const { names } = await readLinks();
        return { routes: found.map((route) => namedRoute(route, names)), unruled };
      }),
    change: (set, remove) =>
      translated(async () => {
        const refused = new Map<number, string>();
        if (set.length > 0) {
          await addRules(families.filter((family) => set.some(({ prefix }) => prefix.address.family === family)));
          const { indexes } = await readLinks();
          const known = set.flatMap((route, at) => {
            const missing = route.hops.find((hop) => !indexes.has(hop.interface));
            if (missing !== undefined) refused.set(at, `there is no interface ${missing.interface}`);
            return missing === undefined ? [{ at, request: setRequest(indexedRoute(route, indexes)) }] : [];
          });
          const problems = await connection.change(known.map(({ request }) => request));
          for (const [index, { at }] of known.entries()) {
            const problem = problems[index];
            if (problem !== undefined) refused.set(at, problem.message);
          }
        }
        if (remove.length > 0) {
          check(await connection.change(remove.map(removeRequest)));
          const touched = families.filter((family) => remove.some(({ address }) => address.family === family));
          const ruleless: Family[] = [];
          for (const family of touched) if ((await indexedRoutes(family)).length === 0) ruleless.push(family);
          await removeRules(ruleless);
        }
        return refused;
      }),
    watch: (changed) =>
      followChanges({ ...where, groups: eventGroups, only: { offset: tableOffset, value: receivedTable } }, clock, {
        isChange: (message) => message.port !== port,
        changed,
        restartMilliseconds: routeWatchRestart,
      }),
    close: () => socket.close(),
  };
}

function indexedRoute({ prefix, hops }: KernelRoute, indexes: ReadonlyMap<string, number>): IndexedRoute {
  return { prefix, hops: hops.map((hop) => ({ address: hop.address, index: indexes.get(hop.interface) ?? 0 })) };
}

/** An interface that is gone since has its number as its name. */
function namedRoute({ prefix, hops }: IndexedRoute, names: ReadonlyMap<number, string>): KernelRoute {
  const named = hops.map(({ address, index }) => ({ address, interface: names.get(index) ?? String(index) }));
  return { prefix, hops: named.sort((a, b) => compareAddresses(a.address, b.address) || (a.interface < b.interface ? -1 : 1)) };
}

function check(problems: readonly (NetlinkError | undefined)[]): void {
  for (const problem of problems) if (problem !== undefined && !alreadyDone.has(problem.code)) throw problem;
}

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NetlinkError || error instanceof MalformedNetlink)) throw error;
    const code = error.code === 'EPERM' || error.code === 'EACCES' ? 'permission' : 'failed';
    throw new DataplaneError(code, `received routes: ${error.message}`, { cause: error });
  }
}
