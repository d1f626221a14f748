import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import type { HeldBackFamily } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Family } from '../../net/address.ts';
import { isHeard } from './next-hops/heard-routes.ts';
import { heldBackFamily } from './next-hops/hold-back.ts';
import type { PeerAnnouncement } from './peer-routes.ts';

/** Facts about the node, its drain above all, that the snapshot alone does not contain. */
export interface OwnState {
  /** True when the node's settle time is over. Default: as its agent reported; the agent itself knows earlier. */
  readonly settled?: boolean;
  /** The address families that the node holds back. Default: as its agent reported; the agent itself knows earlier. */
  readonly heldBack?: readonly HeldBackFamily[];
  /** Why the agent announces nothing at all. `null`: it may announce. Default: as the node's report says. */
  readonly refusal?: Reason | null;
  /** Milliseconds since the epoch, to ignore old reports of other nodes. Default: no report is too old. */
  readonly now?: number;
  /** True for an agent: it never counts on a node whose report it has not read. Default: without any report every node counts as heard. */
  readonly awaitsReports?: true;
}

/** True when routers have had time to move to other nodes, as the node's agent reported. */
export function isDrainSettled(snapshot: Snapshot, node: string): boolean {
  const phase = snapshot.nodeStates.get(node)?.drain?.phase;
  return phase !== undefined && phase !== 'Draining';
}

/**
 * True when another node keeps announcing an address that `node` withdraws. Among nodes that drain too, one keeps announcing: the node
 * whose drain was requested last, so that no route has to come back. Nodes that drain by force do not count, and nodes that hold back the
 * family do only if `node` does too (`heldBack`). `routesAt` returns what a node would announce if no node drained. Every node with the
 * same snapshot gets the same answer.
 */
export function isAnnouncedElsewhere(
  snapshot: Snapshot,
  service: Service,
  { node, family, heldBack }: { readonly node: string; readonly family: Family; readonly heldBack: boolean },
  routesAt: (node: string) => readonly PeerAnnouncement[],
  now?: number,
): boolean {
  for (const [name, other] of snapshot.nodes) {
    if (name === node) continue;
    const wish = requestedDrain(snapshot.config, other);
    if (wish === 'force' || (wish === 'keepLast' && !staysLonger(snapshot, name, node))) continue;
    if (!heldBack && heldBackFamily(snapshot, name, family) !== undefined) continue;
    if (isHeard(snapshot, service, name, () => routesAt(name), now)) return true;
  }
  return false;
}

/** Of two draining nodes, true for the one whose drain was requested later. A drain that is not reported yet counts as later. */
function staysLonger(snapshot: Snapshot, node: string, than: string): boolean {
  const rank = (name: string): string => `${snapshot.nodeStates.get(name)?.drain?.since ?? '~'} ${name}`;
  return rank(node) > rank(than);
}
