import { defined } from '../../lang/defined.ts';
import type { Family } from '../../net/address.ts';
import { formatPrefix, type Prefix } from '../../net/prefix.ts';
import type { Clock } from '../../system/clock.ts';
import { NetlinkConnection } from '../../system/netlink/connection.ts';
import { MalformedNetlink, NetlinkError } from '../../system/netlink/error.ts';
import { followChanges } from '../../system/netlink/follow-changes.ts';
import { routeProtocol as rtnetlink } from '../../system/netlink/socket.ts';
import { DataplaneError } from '../dataplane.ts';
import { requiredNetlink } from '../required-netlink.ts';
import { routeWatchRestart } from '../limits.ts';
import { eventGroups, listRoutes, listRules, readRoute, readRule, routeRequest, ruleRequest, tableOffset } from './route-messages.ts';
import { familiesOf, findRoutes, routingTable, type UnreachableRouteTable } from './unreachable-routes.ts';

/** Errors of the kernel that mean that the desired state already exists: EEXIST when adding a rule, ESRCH and ENOENT when removing. */
const alreadyDone = new Set(['EEXIST', 'ESRCH', 'ENOENT']);

/** Returns the port to routes by netlink. Throws DataplaneError `unavailable`. `networkNamespace`: a file such as /run/netns/node1. */
export function routeNetlink(clock: Clock, networkNamespace?: string): UnreachableRouteTable {
  const where = { protocol: rtnetlink, ...defined({ networkNamespace }) };
  const socket = requiredNetlink({ ...where, strict: true });
  const { port } = socket;
  const connection = new NetlinkConnection(socket, clock);

  const routesOf = async (family: Family): Promise<Prefix[]> => {
    try {
      return await connection.list(listRoutes(family), readRoute);
    } catch (error) {
      // The table does not exist before it has its first route.
      if (error instanceof NetlinkError && error.code === 'ENOENT') return [];
      throw error;
    }
  };
  const hasRule = async (family: Family): Promise<boolean> => (await connection.list(listRules(family), readRule)).length > 0;
  const changeRules = async (verb: 'add' | 'remove', of: readonly Family[]): Promise<void> => {
    const problems = await connection.change(of.map((family) => ruleRequest(verb, family)));
    for (const problem of problems) if (problem !== undefined && !alreadyDone.has(problem.code)) throw problem;
  };

  return {
    list: () => translated(() => findRoutes(routesOf, hasRule)),
    change: (add, remove) =>
      translated(async () => {
        await changeRules('add', familiesOf(add));
        const added = await connection.change(add.map((prefix) => routeRequest('add', prefix)));
        const removed = await connection.change(remove.map((prefix) => routeRequest('remove', prefix)));
        const ruleless: Family[] = [];
        for (const family of familiesOf(remove)) if ((await routesOf(family)).length === 0) ruleless.push(family);
        await changeRules('remove', ruleless);
        for (const [index, problem] of [...added, ...removed].entries()) {
          if (problem === undefined || (index >= added.length && alreadyDone.has(problem.code))) continue;
          const prefix = [...add, ...remove][index];
          throw new DataplaneError(codeOf(problem), `route ${prefix === undefined ? '' : formatPrefix(prefix)}: ${problem.message}`, {
            cause: problem,
          });
        }
      }),
    watch: (changed) =>
      followChanges({ ...where, groups: eventGroups, only: { offset: tableOffset, value: routingTable } }, clock, {
        isChange: (message) => message.port !== port,
        changed,
        restartMilliseconds: routeWatchRestart,
      }),
    close: () => socket.close(),
  };
}

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NetlinkError || error instanceof MalformedNetlink)) throw error;
    throw new DataplaneError(codeOf(error), `routes: ${error.message}`, { cause: error });
  }
}

function codeOf({ code }: NetlinkError | MalformedNetlink): DataplaneError['code'] {
  return code === 'EPERM' || code === 'EACCES' ? 'permission' : 'failed';
}
