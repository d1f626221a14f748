import { defined } from '../../lang/defined.ts';
import type { Address, Family } from '../../net/address.ts';
import type { Protocol } from '../../net/frontend.ts';
import type { Labels, ServiceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { namespaceLabels } from '../namespace-labels.ts';

interface PortUse {
  readonly protocol: Protocol;
  readonly port: number;
}

/** Everything that an allocation depends on, apart from the pools and who holds what. */
export interface AllocationRequest {
  readonly service: ServiceKey;
  /** Of the Service: another one of its name is another one. Undefined: not known. */
  readonly uid?: string;
  readonly namespace: string;
  /** Its deletion waits for finalizers. */
  readonly deleting?: true;
  readonly namespaceLabels: Labels;
  readonly labels: Labels;
  /** spec.ipFamilies, in order of preference; never empty. */
  readonly families: readonly Family[];
  readonly policy: Service['ipFamilyPolicy'];
  readonly requestedAddresses: readonly Address[];
  readonly requestedPool?: string;
  readonly sharingKey?: string;
  readonly sharingNamespaces: readonly string[];
  /** What the Service holds stays beside what it asks for. */
  readonly keepsAddresses: boolean;
  /** The request cannot be understood; see Service.invalidRequest. */
  readonly invalidRequest?: Service['invalidRequest'];
  readonly ports: readonly PortUse[];
  readonly externalTrafficPolicy: 'Cluster' | 'Local';
  readonly selectorText: string;
}

export function allocationRequest(service: Service, snapshot: Snapshot): AllocationRequest {
  const { namespace, labels } = service.metadata;
  return {
    service: serviceKey(service.metadata),
    uid: service.metadata.uid,
    namespace,
    ...(service.metadata.deleting ? { deleting: true } : {}),
    namespaceLabels: namespaceLabels(snapshot, namespace),
    labels,
    families: service.ipFamilies,
    policy: service.ipFamilyPolicy,
    requestedAddresses: service.requestedAddresses,
    ...defined({ requestedPool: service.requestedPool, sharingKey: service.sharingKey }),
    sharingNamespaces: service.sharingNamespaces,
    keepsAddresses: service.keepsAddresses,
    ...defined({ invalidRequest: service.invalidRequest }),
    ports: service.ports.map(({ protocol, port }) => ({ protocol, port })),
    externalTrafficPolicy: service.externalTrafficPolicy,
    selectorText: service.selectorText,
  };
}
