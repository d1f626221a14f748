import { formatAddress, type Address } from '../../../net/address.ts';
import type { IPAddressPool } from '../../../model/kinds/types.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { ReleasedAddress } from '../../../model/parse/released-address.ts';
import { limits } from '../limits.ts';

export type Reservations = ReturnType<typeof createReservations>;

/** Addresses for one Service only: those that pools reserve, and for a time those that the Service released. */
export function createReservations() {
  const reserved = new Map<string, { readonly service: ServiceKey; readonly address: Address }>();
  const kept = new Map<string, ReleasedAddress>();
  const byService = new Map<ServiceKey, Map<string, Address>>();
  const keptOf = new Map<ServiceKey, Map<string, Address>>();

  const end = (text: string): Address[] => {
    const entry = kept.get(text);
    if (entry === undefined) return [];
    kept.delete(text);
    const addresses = keptOf.get(entry.service);
    addresses?.delete(text);
    if (addresses?.size === 0) keptOf.delete(entry.service);
    return [entry.address];
  };

  return {
    /** Returns the Service that the address is for. Undefined means any Service. */
    ownerOf: (address: Address) => (reserved.get(formatAddress(address)) ?? kept.get(formatAddress(address)))?.service,
    /** Returns the addresses for one Service, those that it held last first. */
    addressesFor: (service: ServiceKey): readonly Address[] => [
      ...(keptOf.get(service)?.values() ?? []),
      ...(byService.get(service)?.values() ?? []),
    ],
    *all(): Iterable<Address> {
      for (const { address } of reserved.values()) yield address;
      for (const { address } of kept.values()) yield address;
    },
    /** Replaces what pools reserve. Kept addresses stay. */
    setPools(pools: readonly IPAddressPool[]): void {
      reserved.clear();
      byService.clear();
      for (const reservation of pools.flatMap(({ reservations }) => reservations)) {
        reserved.set(formatAddress(reservation.address), reservation);
        add(byService, reservation.service, reservation.address);
      }
    },
    /** Keeps a released address for its Service until `until` (milliseconds). Returns addresses that the bound pushed out. */
    keep(service: ServiceKey, address: Address, until: number): readonly Address[] {
      const text = formatAddress(address);
      // A pool's own reservation takes precedence over a kept address.
      if (reserved.has(text)) return [];
      end(text);
      kept.set(text, { service, address, until });
      add(keptOf, service, address);
      const [first] = kept.keys();
      return kept.size > limits.keptAddresses && first !== undefined ? end(first) : [];
    },
    /** Returns the kept addresses, the first released first. */
    kept: (): Iterable<ReleasedAddress> => kept.values(),
    /** Ends the reservation because a Service holds the address again. */
    endKeeping: (address: Address): void => void end(formatAddress(address)),
    /** Ends reservations that expired by `now` and returns their addresses. */
    expire: (now: number): readonly Address[] => [...kept].flatMap(([text, { until }]) => (until <= now ? end(text) : [])),
  };
}

function add(index: Map<ServiceKey, Map<string, Address>>, service: ServiceKey, address: Address): void {
  const addresses = index.get(service) ?? new Map<string, Address>();
  index.set(service, addresses.set(formatAddress(address), address));
}
