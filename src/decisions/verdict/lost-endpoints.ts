import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { sameAddress, type Address, type Family } from '../../net/address.ts';
import { causeOf, heldBackFamily } from '../announcement/hold-back.ts';
import { chooseEndpoints, targetsOf } from '../forwarding/endpoints.ts';

/** Endpoints on a node that does not let the packets of other nodes through to them. */
export interface LostEndpoints {
  readonly family: Family;
  /** No endpoint of the family is elsewhere. */
  readonly areAll: boolean;
  readonly reason: Reason;
}

/**
 * Returns the families in which other nodes send connections to endpoints on this node that never arrive, because it does not forward the
 * family. Under policy Local no other node does. An endpoint at an address of the node itself needs no forwarding.
 */
export function lostEndpoints(snapshot: Snapshot, service: Service, node: string): LostEndpoints[] {
  if (service.externalTrafficPolicy === 'Local') return [];
  const own = snapshot.nodes.get(node)?.internalIPs ?? [];
  return service.ipFamilies.flatMap((family): LostEndpoints[] => {
    const held = heldBackFamily(snapshot, node, family);
    if (held === undefined) return [];
    const choices = service.ports.map((port) => chooseEndpoints(targetsOf(snapshot, service, port, family), { name: node }));
    const isLost = ({ nodeName, address }: { readonly nodeName?: string; readonly address: Address }): boolean =>
      nodeName !== undefined && heldBackFamily(snapshot, nodeName, family) !== undefined && !own.some((one) => sameAddress(one, address));
    if (!choices.some(({ local }) => local.some(isLost))) return [];
    const areAll = choices.every(({ everywhere }) => everywhere.every(isLost));
    return [{ family, areAll, reason: reason('EndpointsCutOff', { node, family: held.family, ...causeOf(held.reason) }) }];
  });
}
