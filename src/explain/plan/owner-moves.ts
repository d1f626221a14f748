import { l2DecisionsOf } from '../../decisions/l2/decisions-of.ts';
import { defined } from '../../lang/defined.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import { assignedAddresses } from '../../model/objects/service.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../net/address.ts';

/**
 * An address for which another node than before would answer ARP or NDP. An entry without `before` and `after` moves nothing: no node answers,
 * and an L2Advertisement that covers the address now, or another reason than before, does not change that.
 */
export interface OwnerMove {
  readonly address: string;
  /** Sorted. */
  readonly services: readonly ServiceKey[];
  /** The best placed node, with its interfaces: "n1 (eth0)". Absent: none, or no L2Advertisement announces the address. */
  readonly before?: string;
  readonly after?: string;
  /** Why no node would answer any more. */
  readonly reason?: Reason;
  /** Who would answer is not known: nodes report their links only while there is an advertisement. */
  readonly unknown?: true;
}

/** Returns whether the address has an owner before or after. */
export function isMove({ before, after }: OwnerMove): boolean {
  return before !== undefined || after !== undefined;
}

/** Returns the moves of addresses of LoadBalancer Services, sorted by address. Both snapshots have the reports of the nodes as they are now. */
export function ownerMoves(current: Snapshot, proposed: Snapshot): OwnerMove[] {
  const [before, after] = [ownersIn(current), ownersIn(proposed)];
  return [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((address): OwnerMove[] => {
    const [old, next] = [before.get(address), after.get(address)];
    if (old?.owner === next?.owner && old?.reason?.code === next?.reason?.code) return [];
    const services = [...new Set([...(old?.services ?? []), ...(next?.services ?? [])])].toSorted();
    if (next?.reason !== undefined && !hasLinks(proposed))
      return [{ address, services, unknown: true, ...defined({ before: old?.owner }) }];
    return [{ address, services, ...defined({ before: old?.owner, after: next?.owner, reason: next?.reason }) }];
  });
}

function hasLinks({ nodeStates }: Snapshot): boolean {
  return nodeStates.values().some(({ links }) => links !== undefined);
}

interface Owner {
  readonly services: readonly ServiceKey[];
  readonly owner?: string;
  readonly reason?: Reason;
}

/** By address as text. Addresses without a node of their own have no entry, unless an L2Advertisement covers them. */
function ownersIn(snapshot: Snapshot): Map<string, Owner> {
  const decisions = l2DecisionsOf(snapshot);
  const owners = new Map<string, Owner>();
  if (decisions === undefined) return owners;
  const addresses = new Map<string, { readonly address: Address; readonly services: ServiceKey[] }>();
  for (const service of snapshot.services.values()) {
    if (service.type !== 'LoadBalancer') continue;
    for (const address of assignedAddresses(service)) {
      const known = addresses.get(formatAddress(address)) ?? { address, services: [] };
      known.services.push(serviceKey(service.metadata));
      addresses.set(formatAddress(address), known);
    }
  }
  for (const [text, { address, services }] of addresses) {
    const decision = decisions.decide(address);
    if ('reason' in decision) {
      if (decision.reason.code !== 'NoAdvertisement') owners.set(text, { services, reason: decision.reason });
      continue;
    }
    const [best] = decision.candidates;
    const owner = best === undefined ? {} : { owner: `${best.node} (${best.links.map(({ name }) => name).join(', ')})` };
    owners.set(text, { services, ...owner });
  }
  return owners;
}
