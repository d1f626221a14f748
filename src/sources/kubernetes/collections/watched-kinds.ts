import type { Resource } from '../../../kube/reflector/reflector.ts';
import { watchedKinds } from '../../../model/metallb/kinds.ts';
import { heraldApiVersion, pluralOf } from '../../../model/kinds.ts';
import type { KindName } from '../../../model/store/snapshot.ts';
import type { CollectionKind } from './collection.ts';

/** A kind of which every object is read. */
export interface WatchedKind extends CollectionKind {
  readonly resource: Resource;
}

const core = (kind: KindName, plural: string): WatchedKind => ({ kind, apiVersion: 'v1', resource: { path: `/api/v1/${plural}` } });

const grouped = (kind: KindName, apiVersion: string, plural: string, optional: boolean): WatchedKind => ({
  kind,
  apiVersion,
  resource: { path: `/apis/${apiVersion}/${plural}`, optional },
});

/** Our own kinds are there once their CRDs are installed, which may be after us. */
const ours = (kind: KindName): WatchedKind => grouped(kind, heraldApiVersion, pluralOf(kind), true);

/** Says how others are read, and is read before them. */
export const configKind = ours('HeraldConfig');

/** What MetalLB's annotations are on. */
export const serviceKind = core('Service', 'services');

/** What every agent and the controller read besides; Secrets are read by name. */
const common: readonly WatchedKind[] = [
  core('Node', 'nodes'),
  core('Namespace', 'namespaces'),
  grouped('EndpointSlice', 'discovery.k8s.io/v1', 'endpointslices', false),
  // Since Kubernetes 1.33.
  grouped('ServiceCIDR', 'networking.k8s.io/v1', 'servicecidrs', true),
  ours('IPAddressPool'),
  ours('BGPPeer'),
  ours('BGPAdvertisement'),
  ours('BFDProfile'),
  ours('Community'),
  ours('ExternalIPPolicy'),
];

export const kindsOfAgent = common;

/** What agents report. The controller reads it; agents do only while they need to know what other nodes can do. */
export const reports = ours('NodeState');

export const kindsOfController: readonly WatchedKind[] = [...common, reports];

/** Kinds of MetalLB, in the one namespace that counts. Their CRDs need not be there. */
export const kindsOfMetalLB = (namespace: string): WatchedKind[] =>
  watchedKinds.map(({ kind, apiVersion, plural, label }) => ({
    kind: kind as KindName,
    apiVersion,
    label,
    resource: { path: `/apis/${apiVersion}/namespaces/${encodeURIComponent(namespace)}/${plural}`, optional: true },
  }));
