import type { Family } from '../../../net/address.ts';
import { requestedDrain } from '../../../model/kinds/requested-drain.ts';
import type { HeldBackFamily } from '../../../model/objects/node-state.ts';
import { reasonText, remedyText, type Reason } from '../../../model/reasons.ts';
import type { Service } from '../../../model/objects/service.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { isHeard } from './heard-routes.ts';
import type { PeerAnnouncement } from '../peer-routes.ts';

/**
 * Returns why a node does not forward a family, as its agent found. `own` is the agent's own view, which is newer than its report.
 * Undefined: it forwards as far as known, or HeraldConfig has `hostProblems: report`.
 */
export function heldBackFamily(
  snapshot: Snapshot,
  node: string,
  family: Family,
  own: readonly HeldBackFamily[] | undefined = snapshot.nodeStates.get(node)?.heldBack,
): HeldBackFamily | undefined {
  return snapshot.config.hostProblems === 'report' ? undefined : own?.find((entry) => entry.family === `IPv${family}`);
}

/**
 * True when another node that forwards keeps announcing the address. Nodes that hold back the family do not count, whether or not they have
 * settled; so if all nodes hold back, all keep announcing. Nodes that drain by force do not count either. `routesAt` returns what a node
 * would announce if no node drained or held back.
 */
export function isForwardedElsewhere(
  snapshot: Snapshot,
  service: Service,
  { node, family }: { readonly node: string; readonly family: Family },
  routesAt: (node: string) => readonly PeerAnnouncement[],
  now?: number,
): boolean {
  for (const [name, other] of snapshot.nodes) {
    if (name === node || heldBackFamily(snapshot, name, family) !== undefined) continue;
    if (requestedDrain(snapshot.config, other) === 'force') continue;
    if (isHeard(snapshot, service, name, () => routesAt(name), now)) return true;
  }
  return false;
}

/** Returns cause and fix of a problem of the host, for the texts of reasons about held back routes. */
export function causeOf(because: Reason): { readonly cause: string; readonly remedy: string } {
  return { cause: reasonText(because), remedy: remedyText(because) };
}
