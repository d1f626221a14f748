import { formatAddress, type Address } from '../../net/address.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { haveSameSharingKey, type Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { decideAllocationClaim } from './claim.ts';

/**
 * Returns why an address recorded for the Service belongs to another one: both record it and they have different sharing keys. Two
 * controllers that both believe they lead can cause this (docs/adr/0014), and so can a person who edits a status. Every process that sees
 * the same objects answers the same (docs/adr/0006), so at most one of the two Services is announced and forwarded. Undefined when the
 * address is the Service's own.
 *
 * Only the sharing key counts, not the other rules of sharing. Services that shared under older rules, or changed their own since, keep the
 * address, and the condition AddressAssigned reports it.
 */
export function whyHeldTwice(snapshot: Snapshot, service: Service, address: Address): Reason | undefined {
  const key = serviceKey(service.metadata);
  const others = snapshot.holdersOf(address).filter((other) => other !== key);
  if (others.length === 0 || !decideAllocationClaim(service, snapshot.config).mine) return undefined;
  const holders = others
    .flatMap((other) => snapshot.services.get(other) ?? [])
    .filter((other) => decideAllocationClaim(other, snapshot.config).mine);
  const [first] = [service, ...holders].sort(byPrecedence);
  if (first === undefined || first === service || haveSameSharingKey(first, service)) return undefined;
  return reason('AddressHeldTwice', { address: formatAddress(address), by: serviceKey(first.metadata) });
}

/** Sorts Services by their right to an address that not all of them can have. */
export function inOrderOfPrecedence({ services }: Snapshot): Service[] {
  return [...services.values()].sort(byPrecedence);
}

/**
 * Services that were told to give up the address to share it come last. Otherwise the older one comes first, because it had the address; a
 * Service without a creation time counts as young. The API server sets the creation time, so no user can make a Service older.
 */
function byPrecedence(a: Service, b: Service): number {
  const [one, other] = [precedence(a), precedence(b)];
  return one === other ? 0 : one < other ? -1 : 1;
}

function precedence({ addressTaken, metadata }: Service): `${0 | 1} ${string} ${ServiceKey}` {
  return `${addressTaken === true ? 1 : 0} ${metadata.creationTimestamp === '' ? '~' : metadata.creationTimestamp} ${serviceKey(metadata)}`;
}
