import { defined } from '../../lang/defined.ts';
import { compareAddresses } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import { NetlinkError } from '../../system/netlink/error.ts';
import { listLinks, readLink } from '../../system/netlink/link-messages.ts';
import { openNetlink, routeProtocol as rtnetlink } from '../../system/netlink/socket.ts';
import { translated } from '../required-netlink.ts';
import { isAlreadyDone, RoutingTable } from '../routes/routing-table.ts';
import { familiesOf } from '../routes/unreachable-routes.ts';
import { receivedForm, setRequest, type IndexedRoute } from './received-messages.ts';
import type { KernelRoute, ReceivedRouteTable } from './received-table.ts';

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
  const table = new RoutingTable<IndexedRoute>(receivedForm, socket, clock);

  const readLinks = async (): Promise<{ readonly indexes: Map<string, number>; readonly names: Map<number, string> }> => {
    const links = await table.connection.list(listLinks, readLink);
    return {
      indexes: new Map(links.map(({ name, index }) => [name, index])),
      names: new Map(links.map(({ name, index }) => [index, name])),
    };
  };

  return {
    list: () =>
      translated('received routes', async () => {
        const { routes, unruled } = await table.list();
        if (routes.length === 0) return { routes: [], unruled };
        const { names } = await readLinks();
        return { routes: routes.map((route) => namedRoute(route, names)), unruled };
      }),
    change: (set, remove) =>
      translated('received routes', async () => {
        const refused = new Map<number, string>();
        if (set.length > 0) {
          await table.addRules(familiesOf(set.map(({ prefix }) => prefix)));
          const { indexes } = await readLinks();
          const known = set.flatMap((route, at) => {
            const missing = route.hops.find((hop) => !indexes.has(hop.interface));
            if (missing !== undefined) refused.set(at, `there is no interface ${missing.interface}`);
            return missing === undefined ? [{ at, request: setRequest(table, indexedRoute(route, indexes)) }] : [];
          });
          const problems = await table.connection.change(known.map(({ request }) => request));
          for (const [index, { at }] of known.entries()) {
            const problem = problems[index];
            if (problem !== undefined) refused.set(at, problem.message);
          }
        }
        const removed = await table.connection.change(remove.map((prefix) => table.removeRequest(prefix)));
        for (const problem of removed) if (problem !== undefined && !isAlreadyDone(problem)) throw problem;
        await table.removeUnusedRules(familiesOf(remove));
        return refused;
      }),
    watch: (changed) => table.watch(where, changed),
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
