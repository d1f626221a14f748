import { sameAddress, type Address } from '../../../net/address.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { AddressSpace } from '../pools/address-space.ts';
import type { Holdings } from './holdings.ts';
import type { NamespaceUse } from './namespace-use.ts';
import type { AllocationRequest } from '../request.ts';
import type { Reservations } from './reservations.ts';
import type { SoleHolders } from './sole-holders.ts';

/** The inputs of a decision: pools, held addresses and reservations. A decision changes none of them. */
export interface Ledger {
  readonly space: AddressSpace;
  readonly holdings: Holdings;
  readonly reservations: Reservations;
  readonly use: NamespaceUse;
  readonly soles: SoleHolders;
}

export function holds({ holdings }: Ledger, service: ServiceKey, address: Address): boolean {
  return holdings.holdingOf(service)?.addresses.some((own) => sameAddress(own, address)) === true;
}

/** Returns the Service for which the address is kept, when that is another one. Once the other Service holds it, this one may share it. */
export function keptForAnother(ledger: Ledger, request: AllocationRequest, address: Address): ServiceKey | undefined {
  const owner = ledger.reservations.ownerOf(address);
  return owner === undefined || owner === request.service || holds(ledger, owner, address) ? undefined : owner;
}
