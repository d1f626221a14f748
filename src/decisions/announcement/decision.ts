import type { Address } from '../../net/address.ts';
import type { AddressType } from '../../model/configuration.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/service.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import type { RouteIntent } from './route.ts';

/** What one node announces for one Service. */
export interface ServiceAnnouncement {
  /** Sorted by type (LoadBalancer, ClusterIP, ExternalIP) and as the Service lists them. Empty where `reason` is there. */
  readonly addresses: readonly AddressAnnouncement[];
  /** Why nothing of the Service is announced by this node, whatever the address. */
  readonly reason?: Reason;
}

export interface AddressAnnouncement {
  readonly address: Address;
  readonly type: AddressType;
  readonly result: AddressResult;
  /** BGPAdvertisements that cover the address and were left out for an error of their own. */
  readonly refused: readonly RefusedAdvertisement[];
}

/** With `announce: true` at least one peer is listed and at least one of them has routes. */
export type AddressResult =
  | { readonly announce: false; readonly reason: Reason; readonly peers?: readonly PeerAnnouncement[] }
  | { readonly announce: true; readonly peers: readonly PeerAnnouncement[] };

export interface PeerAnnouncement {
  readonly peer: string;
  readonly result: { readonly routes: readonly RouteIntent[] } | { readonly reason: Reason };
}

export interface RefusedAdvertisement {
  readonly advertisement: string;
  readonly reason: Reason;
}

export function decideAnnouncement(snapshot: Snapshot, service: Service, nodeName: string): ServiceAnnouncement {
  void [snapshot, service, nodeName];
  return { addresses: [] };
}
