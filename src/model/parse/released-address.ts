import { isRecord } from '../../lang/is-record.ts';
import { formatAddress, parseAddress, type Address } from '../../net/address.ts';
import { limits } from '../limits.ts';
import type { ServiceKey } from '../objects/metadata.ts';
import { formatTime, parseTime } from '../time.ts';

/** An address that was released and is kept for a Service of the same name (keepReleasedSeconds). */
export interface ReleasedAddress {
  readonly service: ServiceKey;
  readonly address: Address;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export interface WrittenRelease {
  readonly service: string;
  readonly address: string;
  /** RFC 3339. */
  readonly until: string;
}

/** Returns released addresses in the form of a pool's status. When there are too many, it keeps those with the latest `until`. */
export function releasedManifest(released: readonly ReleasedAddress[]): WrittenRelease[] {
  const latest = released.toSorted((a, b) => b.until - a.until).slice(0, limits.releasedAddresses);
  return latest.map(({ service, address, until }) => ({
    service,
    address: formatAddress(address),
    until: formatTime(until),
  }));
}

/** Reads released addresses from a pool's status. An unreadable entry counts as expired. */
export function readReleased(status: unknown): ReleasedAddress[] {
  const written = isRecord(status) ? status['released'] : undefined;
  if (!Array.isArray(written)) return [];
  return written.slice(0, limits.releasedAddresses).flatMap((one: unknown) => {
    if (!isRecord(one)) return [];
    const { service, address, until } = one;
    if (typeof service !== 'string' || typeof address !== 'string' || typeof until !== 'string') return [];
    const parsed = parseAddress(address);
    const at = parseTime(until);
    if (!parsed.ok || at === undefined || !/^[^/]+\/[^/]+$/.test(service)) return [];
    return [{ service: service as ServiceKey, address: parsed.value, until: at }];
  });
}
