import { defined } from '../../lang/defined.ts';
import { sameAddress, type Family } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import { NetlinkConnection } from '../../system/netlink/connection.ts';
import { netfilterProtocol } from '../../system/netlink/socket.ts';
import { requiredNetlink, translated } from '../required-netlink.ts';
import type { ConntrackCleaner, Flow, StaleFlows } from './conntrack-cleaner.ts';
import { deleteRequest, listRequest, readFlow, type Selection, type TrackedFlow } from './flow-messages.ts';

/**
 * Returns the port to conntrack by netlink. Throws DataplaneError `unavailable`. `networkNamespace`: a file such as /run/netns/node1.
 * Absent: that of this process.
 */
export function conntrackNetlink(clock: Clock, networkNamespace?: string): ConntrackCleaner {
  const socket = requiredNetlink({ protocol: netfilterProtocol, ...defined({ networkNamespace }) });
  const connection = new NetlinkConnection(socket, clock);

  /** Lists the flows of a selection for which `wanted` returns true. */
  const find = (selection: Selection, wanted: (flow: TrackedFlow) => boolean): Promise<TrackedFlow[]> =>
    connection.list(listRequest(selection), (payload) => {
      const flow = readFlow(payload);
      return flow?.protocol === selection.protocol && wanted(flow) ? flow : undefined;
    });

  return {
    delete: (stale) =>
      translated('connection tracking', async () => {
        const index = new StaleIndex(stale);
        let deleted = 0;
        for (const selection of selections(stale)) {
          const flows = await find(selection, (flow) => index.has(flow));
          const problems = await connection.change(flows.map(deleteRequest));
          // ENOENT: the flow ended meanwhile, which is the desired result.
          const problem = problems.find((each) => each !== undefined && each.code !== 'ENOENT');
          if (problem !== undefined) throw problem;
          deleted += problems.filter((each) => each === undefined).length;
        }
        return deleted;
      }),
    each: (see) =>
      translated('connection tracking', async () => {
        const seen = (flow: Flow): boolean => {
          if (flow.protocol !== 'TCP' || !flow.replied) see(flow);
          return false;
        };
        for (const family of [4, 6] as const) {
          await find({ family, protocol: 'TCP', unreplied: true }, seen);
          for (const protocol of ['UDP', 'SCTP'] as const) await find({ family, protocol }, seen);
        }
      }),
    close: () => socket.close(),
  };
}

/** Returns one list request for each family and protocol: selective when there is one description, otherwise for all flows. */
function selections(stale: readonly StaleFlows[]): Selection[] {
  const familyOf = ({ replySource }: StaleFlows): Family => replySource.family;
  return [...Map.groupBy(stale, (each) => `${familyOf(each)} ${each.protocol}`).values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const family = familyOf(first);
    if (group.length === 1) return [{ ...first, family }];
    return [{ family, protocol: first.protocol, ...(group.every(({ unreplied }) => unreplied === true) ? { unreplied: true } : {}) }];
  });
}

/** Tells whether a flow matches any of many descriptions, at about the cost of comparing it with one. */
class StaleIndex {
  /** By "UDP 53", then by the replying address. Most flows have other ports and need only the first lookup. */
  readonly #kinds = new Map<string, Map<bigint, StaleFlows[]>>();

  constructor(stale: readonly StaleFlows[]) {
    for (const kind of stale) {
      const port = `${kind.protocol} ${kind.port}`;
      const byAddress = this.#kinds.get(port) ?? new Map<bigint, StaleFlows[]>();
      this.#kinds.set(port, byAddress);
      const kinds = byAddress.get(kind.replySource.value);
      if (kinds === undefined) byAddress.set(kind.replySource.value, [kind]);
      else kinds.push(kind);
    }
  }

  has(flow: Flow): boolean {
    const kinds = this.#kinds.get(`${flow.protocol} ${flow.port}`)?.get(flow.replySource.value);
    return kinds?.some((kind) => isOfKind(flow, kind)) ?? false;
  }
}

function isOfKind(flow: Flow, { destination, replySource, replyPort, unreplied }: StaleFlows): boolean {
  return (
    sameAddress(replySource, flow.replySource) &&
    (destination === undefined || sameAddress(destination, flow.destination)) &&
    (replyPort === undefined || replyPort === flow.replyPort) &&
    (unreplied !== true || !flow.replied)
  );
}
