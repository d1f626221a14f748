import { defined } from '../../lang/defined.ts';
import { formatPrefix, type Prefix } from '../../net/prefix.ts';
import type { Clock } from '../../system/clock.ts';
import { routeProtocol as rtnetlink } from '../../system/netlink/socket.ts';
import { DataplaneError } from '../dataplane.ts';
import { codeOf, requiredNetlink, translated } from '../required-netlink.ts';
import { isAlreadyDone, routeTypes, RoutingTable } from './routing-table.ts';
import { familiesOf, routeProtocol, routingTable, rulePreference, type UnreachableRouteTable } from './unreachable-routes.ts';

/** The rule is for forwarded packets only: packets of the node itself are routed before they are translated, and must find a route. */
const form = {
  table: routingTable,
  protocol: routeProtocol,
  rules: [{ preference: rulePreference, table: routingTable, forwardedOnly: true }],
  type: routeTypes.unreachable,
  read: (prefix: Prefix, type: number | undefined) => (type === routeTypes.unreachable ? prefix : undefined),
} as const;

/** Returns the port to routes by netlink. Throws DataplaneError `unavailable`. `networkNamespace`: a file such as /run/netns/node1. */
export function routeNetlink(clock: Clock, networkNamespace?: string): UnreachableRouteTable {
  const where = { protocol: rtnetlink, ...defined({ networkNamespace }) };
  const socket = requiredNetlink({ ...where, strict: true });
  const table = new RoutingTable<Prefix>(form, socket, clock);
  return {
    list: () =>
      translated('routes', async () => {
        const { routes, unruled } = await table.list();
        return { prefixes: routes, unruled };
      }),
    change: (add, remove) =>
      translated('routes', async () => {
        await table.addRules(familiesOf(add));
        const added = await table.connection.change(add.map((prefix) => table.setRequest(prefix, routeTypes.unreachable)));
        const removed = await table.connection.change(remove.map((prefix) => table.removeRequest(prefix)));
        await table.removeUnusedRules(familiesOf(remove));
        for (const [index, problem] of [...added, ...removed].entries()) {
          if (problem === undefined || (index >= added.length && isAlreadyDone(problem))) continue;
          const prefix = [...add, ...remove][index];
          throw new DataplaneError(codeOf(problem), `route ${prefix === undefined ? '' : formatPrefix(prefix)}: ${problem.message}`, {
            cause: problem,
          });
        }
      }),
    watch: (changed) => table.watch(where, changed),
    close: () => socket.close(),
  };
}
