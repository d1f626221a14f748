import { defined } from '../../lang/defined.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import { canServeTogether, changedSinceDecision, commonPort, haveSameSharingKey } from '../../model/objects/sharing-terms.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { decideAllocationClaim } from './claim.ts';
import { sortedBy } from './order.ts';

/**
 * Returns why an address recorded for the Service belongs to another one: both record it, and nodes cannot serve both there, because they
 * have different sharing keys or one port in common. A change of one of two sharers can cause this until the controller has decided; so can
 * two controllers that both believe they lead (docs/adr/0014), and a person who edits a status. Every process that sees the same objects
 * answers the same (docs/adr/0006), so nodes announce and forward at most one of the two. Undefined when the address is the Service's own.
 *
 * The other rules of sharing do not count. Services that shared under older rules, or changed their own since, keep the address, and the
 * condition AddressAssigned reports it.
 */
export function whyHeldTwice(snapshot: Snapshot, service: Service, address: Address): Reason | undefined {
  const key = serviceKey(service.metadata);
  const others = snapshot.holdersOf(address).filter((other) => other !== key);
  if (others.length === 0 || !decideAllocationClaim(service, snapshot.config).mine) return undefined;
  const holders = others
    .flatMap((other) => snapshot.services.get(other) ?? [])
    .filter((other) => decideAllocationClaim(other, snapshot.config).mine);
  const rightful: Service[] = [];
  for (const holder of sortedBy([service, ...holders], precedence)) {
    const first = rightful.find((other) => !canServeTogether(holder, other));
    if (first === undefined) rightful.push(holder);
    if (holder !== service) continue;
    if (first === undefined) return undefined;
    const port = haveSameSharingKey(first, service) ? commonPort(first, service) : undefined;
    return reason('AddressHeldTwice', { address: formatAddress(address), by: serviceKey(first.metadata), ...defined({ port }) });
  }
  return undefined;
}

/** Sorts Services by their right to an address that not all of them can have. */
export function inOrderOfPrecedence({ services }: Snapshot): Service[] {
  return sortedBy(services.values(), precedence);
}

/**
 * Services that were told to give up the address to share it come last, and before them those whose terms of sharing changed since the
 * controller decided: the others were there first. Otherwise the older one comes first, because it had the address; a Service without a
 * creation time counts as young. The API server sets the creation time, so no user can make a Service older.
 */
function precedence(service: Service): `${0 | 1 | 2} ${string} ${ServiceKey}` {
  const { addressTaken, metadata } = service;
  const rank = addressTaken === true ? 2 : changedSinceDecision(service) ? 1 : 0;
  return `${rank} ${metadata.creationTimestamp === '' ? '~' : metadata.creationTimestamp} ${serviceKey(metadata)}`;
}
