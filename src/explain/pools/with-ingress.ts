import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Ingress, Service } from '../../model/objects/service.ts';
import { addressLookups } from '../../model/store/address-index.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { valuesOf } from '../../model/store/snapshot-values.ts';
import { address } from '../../net/address.ts';
import type { ExpectedAddresses } from './allocation.ts';

type RecordedAddresses = Pick<Service, 'ingress' | 'recordedPools'>;

/** Returns the snapshot with other assigned addresses. Services for which `recordOf` returns undefined keep theirs. */
export function withIngress(snapshot: Snapshot, recordOf: (key: ServiceKey) => RecordedAddresses | undefined): Snapshot {
  const services = new Map(
    [...snapshot.services].map(([key, service]): [ServiceKey, Service] => {
      return [key, { ...service, ...recordOf(key) }];
    }),
  );
  return { ...valuesOf(snapshot), services, ...addressLookups(services) };
}

/** Returns the snapshot after every Service got its expected addresses. */
export function withExpectedIngress(snapshot: Snapshot, expected: ExpectedAddresses): Snapshot {
  return withIngress(snapshot, (key) => {
    const ingress = expected.get(key)?.addresses.map((text): Ingress => ({ address: address(text), ipMode: 'VIP' }));
    return ingress === undefined ? undefined : { ingress };
  });
}
