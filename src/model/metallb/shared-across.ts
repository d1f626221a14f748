import { formatAddress } from '../../net/address.ts';
import { annotations } from '../annotations.ts';
import { serviceKey, type ServiceKey } from '../objects/metadata.ts';
import type { Service } from '../objects/service.ts';

/** A Service whose address Services of other namespaces share because of their key alone. */
export interface SharedAcross {
  readonly service: ServiceKey;
  /** The addresses, and the Services of other namespaces that share them. */
  readonly addresses: readonly string[];
  readonly others: readonly ServiceKey[];
  /** The value of herald.dev/allow-shared-ip-namespaces that admits them. */
  readonly admitted: string;
}

/**
 * Finds Services that hold or request one address with one sharing key, are in different namespaces, and do not admit each other. MetalLB
 * lets them share by the key alone; in Herald each must admit the namespace of the other.
 */
export function sharedAcross(services: readonly Service[]): SharedAcross[] {
  const sharing = services.filter(({ type, sharingKey = '' }) => type === 'LoadBalancer' && sharingKey !== '');
  const uses = sharing.flatMap((service) => addressesOf(service).map((address) => ({ service, id: `${address} ${service.sharingKey}` })));
  const groups = Map.groupBy(uses, ({ id }) => id);
  return services.flatMap((service) => {
    const addresses = addressesOf(service).filter((address) => strangers(address).length > 0);
    const others = addresses.flatMap(strangers);
    if (others.length === 0) return [];
    const admitted = new Set([...service.sharingNamespaces, ...others.map(({ metadata }) => metadata.namespace)]);
    const keys = new Set(others.map(({ metadata }) => serviceKey(metadata)));
    return [
      { service: serviceKey(service.metadata), addresses, others: [...keys].toSorted(), admitted: [...admitted].toSorted().join(',') },
    ];

    function strangers(address: string): Service[] {
      const users = groups.get(`${address} ${service.sharingKey ?? ''}`) ?? [];
      return users.map((use) => use.service).filter((other) => !admits(service, other));
    }
  });
}

/** The annotation that admits other namespaces. */
export const consent = annotations.allowSharedIPNamespaces;

function admits({ metadata, sharingNamespaces }: Service, other: Service): boolean {
  const { namespace } = other.metadata;
  return namespace === metadata.namespace || sharingNamespaces.includes('*') || sharingNamespaces.includes(namespace);
}

/** Returns the addresses on record and those requested, each once. */
function addressesOf({ ingress, requestedAddresses }: Service): string[] {
  const recorded = ingress.flatMap(({ address }) => address ?? []);
  return [...new Set([...recorded, ...requestedAddresses].map(formatAddress))];
}
