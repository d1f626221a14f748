import { defined } from '../../lang/defined.ts';
import type { Address, Family } from '../../net/address.ts';
import { serviceKey, type Labels, type ServiceKey } from '../../model/objects/metadata.ts';
import type { Service, ServicePort } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { namespaceLabels } from '../namespace-labels.ts';

/** Everything that an allocation depends on, except pools and held addresses. */
export interface AllocationRequest {
  readonly service: ServiceKey;
  /** The Service's UID: a new Service under the same name has another one. Undefined when unknown. */
  readonly uid?: string;
  readonly namespace: string;
  /** The Service is being deleted and waits for finalizers. */
  readonly deleting?: true;
  readonly namespaceLabels: Labels;
  readonly labels: Labels;
  /** spec.ipFamilies in order of preference. Never empty. */
  readonly families: readonly Family[];
  readonly policy: Service['ipFamilyPolicy'];
  readonly requestedAddresses: readonly Address[];
  readonly requestedPool?: string;
  /** See Service.recordedPools. */
  readonly recordedPools?: Service['recordedPools'];
  readonly sharingKey?: string;
  readonly sharingNamespaces: readonly string[];
  /** Held addresses stay beside the requested ones. */
  readonly keepsAddresses: boolean;
  /** Why the request cannot be understood; see Service.invalidRequest. */
  readonly invalidRequest?: Service['invalidRequest'];
  readonly ports: readonly Pick<ServicePort, 'protocol' | 'port'>[];
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
    ...defined({ requestedPool: service.requestedPool, recordedPools: service.recordedPools, sharingKey: service.sharingKey }),
    sharingNamespaces: service.sharingNamespaces,
    keepsAddresses: service.keepsAddresses,
    ...defined({ invalidRequest: service.invalidRequest }),
    ports: service.ports.map(({ protocol, port }) => ({ protocol, port })),
    externalTrafficPolicy: service.externalTrafficPolicy,
    selectorText: service.selectorText,
  };
}
