import type { Service } from '../../../model/objects/service.ts';
import { serviceKey } from '../../../model/objects/metadata.ts';
import { addressesOfEndpoints } from '../../../model/reasons/listed-endpoints.ts';
import { reason } from '../../../model/reasons.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { formatAddress } from '../../../net/address.ts';
import { limitsOf, type Cause } from './causes.ts';
import { nodesOfViews, type NodeView } from '../node-view.ts';

/** Where the EndpointSlices of a Service have an endpoint. */
export interface EndpointPlace {
  /** Absent: the slice names no node. */
  readonly node?: string;
  /** "shop/web-abc". Absent: all endpoints of its family are in one slice. */
  readonly slice?: string;
}

/** Finds an endpoint by its address as text. */
export type PlaceOf = (address: string) => EndpointPlace | undefined;

/** The EndpointSlices are read when the first endpoint is looked for. */
export function endpointPlaces(snapshot: Snapshot, service: Service): PlaceOf {
  let places: Map<string, EndpointPlace> | undefined;
  return (address) => (places ??= readPlaces(snapshot, service)).get(address);
}

function readPlaces(snapshot: Snapshot, service: Service): Map<string, EndpointPlace> {
  const slices = [...snapshot.endpointSlices(serviceKey(service.metadata))];
  const ofFamily = Map.groupBy(slices, ({ family }) => family);
  const places = new Map<string, EndpointPlace>();
  for (const { metadata, family, endpoints } of slices) {
    const isOnly = ofFamily.get(family)?.length === 1;
    for (const { address, nodeName } of endpoints)
      places.set(formatAddress(address), {
        ...(nodeName === undefined ? {} : { node: nodeName }),
        ...(isOnly ? {} : { slice: `${metadata.namespace}/${metadata.name}` }),
      });
  }
  return places;
}

/**
 * Says of endpoints that do not answer on which node they are, which slice has them, and puts before them what explains them: another cause, or a
 * limit on the node of an endpoint, which also slows down what others pass to it.
 */
export function explainSilent(
  causes: readonly Cause[],
  nodes: readonly NodeView[],
  addresses: readonly string[],
  placeOf: PlaceOf,
): Cause[] {
  const located = causes.map((cause) => ({ ...cause, ...locate(cause, placeOf) }));
  const homes = new Set(located.flatMap(({ homes }) => homes));
  const told = new Set(causes.map(({ reason: { code } }) => code));
  const ofHomes = nodes.filter((view) => nodesOfViews([view]).some((node) => homes.has(node)));
  const limits = told.has('ServiceLimited') ? [] : limitsOf(ofHomes, addresses);
  const isSymptom = ({ reason: { code, details } }: Cause): boolean => code === 'EndpointSilent' && details.declared === undefined;
  const found = [...limits, ...located.map(({ reason: because, nodes: where }) => ({ reason: because, nodes: where }))];
  return found.toSorted((a, b) => Number(isSymptom(a)) - Number(isSymptom(b)));
}

/** `homes`: the nodes of the endpoints that do not answer. */
function locate(
  { reason: because, nodes }: Cause,
  placeOf: PlaceOf,
): { readonly reason: Cause['reason']; readonly homes: readonly string[] } {
  if (because.code !== 'EndpointSilent') return { reason: because, homes: [] };
  const { details } = because;
  const places = addressesOfEndpoints(details.endpoints).flatMap((address) => placeOf(address) ?? []);
  const homes = [...new Set(places.flatMap(({ node }) => node ?? []))];
  const slices = [...new Set(places.map(({ slice }) => slice))];
  const [home] = homes.length === 1 ? homes : [];
  const [slice] = slices.length === 1 ? slices : [];
  return {
    reason: reason('EndpointSilent', {
      ...details,
      ...(home === undefined ? {} : { home }),
      ...(home !== undefined && nodes.includes(home) ? { node: home } : {}),
      ...(slice === undefined ? {} : { slice }),
    }),
    homes,
  };
}
