import { sameAddress, type Address } from '../../../net/address.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { AddressSpace } from '../pools/address-space.ts';
import type { Holdings } from './holdings.ts';
import type { NamespaceUse } from './namespace-use.ts';
import type { AllocationRequest } from '../request.ts';
import type { Reservations } from './reservations.ts';

/** What a decision looks at: the pools, who holds what, and what is kept for whom. It changes none of them. */
export interface Ledger {
  readonly space: AddressSpace;
  readonly holdings: Holdings;
  readonly reservations: Reservations;
  readonly use: NamespaceUse;
}

export function holds({ holdings }: Ledger, service: ServiceKey, address: Address): boolean {
  return holdings.get(service)?.addresses.some((own) => sameAddress(own, address)) === true;
}

/** The Service that the address waits for, so that this one does not get it. Whoever it was for may share it once he holds it. */
export function keptForAnother(ledger: Ledger, request: AllocationRequest, address: Address): ServiceKey | undefined {
  const owner = ledger.reservations.ownerOf(address);
  return owner === undefined || owner === request.service || holds(ledger, owner, address) ? undefined : owner;
}
