import { endpointSlice, endpointSliceOfAgent } from '../../../kube/format/protobuf/kinds/endpoint-slice.ts';
import { namespace } from '../../../kube/format/protobuf/kinds/namespace.ts';
import { node } from '../../../kube/format/protobuf/kinds/node.ts';
import { service } from '../../../kube/format/protobuf/kinds/service.ts';
import type { ObjectTable } from '../../../kube/format/protobuf/object-table.ts';
import type { Resource } from '../../../kube/reflector/reflector.ts';
import { labels } from '../../../model/annotations.ts';
import { watchedKinds } from '../../../model/metallb/kinds.ts';
import { heraldApiVersion, pluralOf } from '../../../model/kinds.ts';
import type { KindName } from '../../../model/store/snapshot.ts';
import type { CollectionKind } from './collection.ts';

/** A kind whose objects are all read. */
export interface WatchedKind extends CollectionKind {
  readonly resource: Resource;
}

const core = (kind: KindName, plural: string, table: ObjectTable): WatchedKind => ({
  kind,
  apiVersion: 'v1',
  resource: { path: `/api/v1/${plural}`, table },
});

const grouped = (kind: KindName, apiVersion: string, plural: string, optional: boolean): WatchedKind => ({
  kind,
  apiVersion,
  resource: { path: `/apis/${apiVersion}/${plural}`, optional },
});

/** Herald's kinds exist after their CRDs are installed, which may happen after a start. */
const optional = (kind: KindName): WatchedKind => grouped(kind, heraldApiVersion, pluralOf(kind), true);

const ours = (kind: KindName): WatchedKind => ({ ...optional(kind), isKeptAsWritten: true });

/** HeraldConfig decides how other kinds are read and is read before them. */
export const configKind = ours('HeraldConfig');

/** Services carry MetalLB's annotations. */
export const serviceKind = core('Service', 'services', service);

const slices = grouped('EndpointSlice', 'discovery.k8s.io/v1', 'endpointslices', false);

/** Further kinds that every agent and the controller read. Secrets are read by name. */
const common: readonly WatchedKind[] = [
  core('Node', 'nodes', node),
  core('Namespace', 'namespaces', namespace),
  // Exists since Kubernetes 1.33.
  grouped('ServiceCIDR', 'networking.k8s.io/v1', 'servicecidrs', true),
  ours('IPAddressPool'),
  ours('BGPPeer'),
  ours('BGPAdvertisement'),
  ours('L2Advertisement'),
  ours('BFDProfile'),
  ours('Community'),
  ours('ExternalIPPolicy'),
];

/** Agents do not forward headless Services, so they need not hear of their endpoints. kube-proxy leaves them out in the same way. */
export const kindsOfAgent: readonly WatchedKind[] = [
  ...common,
  { ...slices, resource: { ...slices.resource, labelSelector: `!${labels.headless}`, table: endpointSliceOfAgent } },
];

/** Agents' reports. The controller reads them; agents only while they need to know the abilities of other nodes. */
export const reports = optional('NodeState');

export const kindsOfController: readonly WatchedKind[] = [
  ...common,
  { ...slices, resource: { ...slices.resource, table: endpointSlice } },
  reports,
];

/** MetalLB's kinds, in its one namespace. Their CRDs may be missing. */
export const kindsOfMetalLB = (namespace: string): WatchedKind[] =>
  watchedKinds.map(({ kind, apiVersion, plural, label }) => ({
    kind: kind as KindName,
    apiVersion,
    label,
    isKeptAsWritten: true,
    resource: { path: `/apis/${apiVersion}/namespaces/${encodeURIComponent(namespace)}/${plural}`, optional: true },
  }));
