import { formatAddress, type Address } from '../../../net/address.ts';
import type { IPAddressPool } from '../../../model/kinds/types.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { ReleasedAddress } from '../../../model/parse/released-address.ts';
import { limits } from '../limits.ts';

/** Addresses that only one Service gets: those that pools reserve, and for a while those that a Service has let go. */
export interface Reservations {
  /** The Service that the address is for; undefined: for anybody. */
  ownerOf(address: Address): ServiceKey | undefined;
  /** Those of one Service, first those that it held last. */
  of(service: ServiceKey): readonly Address[];
  all(): Iterable<Address>;
  /** Replaces what pools reserve. What is kept stays kept. */
  setPools(pools: readonly IPAddressPool[]): void;
  /** Keeps an address for the Service that lets it go; `until` in milliseconds. Returns what is kept no longer, as there is a bound. */
  keep(service: ServiceKey, address: Address, until: number): readonly Address[];
  /** What is kept, those first that were let go first. */
  kept(): Iterable<ReleasedAddress>;
  /** The address is held again: it need not be kept. */
  endKeeping(address: Address): void;
  /** Ends what was kept until now. Returns those addresses. */
  expire(now: number): readonly Address[];
}

export function createReservations(): Reservations {
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
    ownerOf: (address) => (reserved.get(formatAddress(address)) ?? kept.get(formatAddress(address)))?.service,
    of: (service) => [...(keptOf.get(service)?.values() ?? []), ...(byService.get(service)?.values() ?? [])],
    *all() {
      for (const { address } of reserved.values()) yield address;
      for (const { address } of kept.values()) yield address;
    },
    setPools(pools) {
      reserved.clear();
      byService.clear();
      for (const reservation of pools.flatMap(({ reservations }) => reservations)) {
        reserved.set(formatAddress(reservation.address), reservation);
        add(byService, reservation.service, reservation.address);
      }
    },
    keep(service, address, until) {
      const text = formatAddress(address);
      // A pool's own word goes further than what was.
      if (reserved.has(text)) return [];
      end(text);
      kept.set(text, { service, address, until });
      add(keptOf, service, address);
      const [first] = kept.keys();
      return kept.size > limits.keptAddresses && first !== undefined ? end(first) : [];
    },
    kept: () => kept.values(),
    endKeeping: (address) => void end(formatAddress(address)),
    expire: (now) => [...kept].flatMap(([text, { until }]) => (until <= now ? end(text) : [])),
  };
}

function add(index: Map<ServiceKey, Map<string, Address>>, service: ServiceKey, address: Address): void {
  const addresses = index.get(service) ?? new Map<string, Address>();
  index.set(service, addresses.set(formatAddress(address), address));
}
