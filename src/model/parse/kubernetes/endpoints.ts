import { formatAddress, parseAddressLeniently, type Family } from '../../../net/address.ts';
import { labels, mirrorManager } from '../../annotations.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../objects/endpoint-slice.ts';
import { limits } from '../../limits.ts';
import { serviceKey, type Metadata } from '../../objects/metadata.ts';
import { readMetadata } from '../../reading/metadata.ts';
import type { FieldReader } from '../../reading/fields.ts';
import type { ParseOptions, ReadResult } from '../../reading/result.ts';
import { protocols } from '../service/service-ports.ts';
import { specialAddress } from '../../reading/special-address.ts';

interface Subset {
  readonly endpoints: readonly Endpoint[];
  readonly ports: readonly EndpointPort[];
}

interface FamilySubset extends Subset {
  readonly family: Family;
}

/**
 * Reads core/v1 Endpoints and mirrors them into slices as Kubernetes' mirroring controller does: one slice for each family of each subset,
 * named NAME-mirror, NAME-mirror-2 and so on. Annotations are not copied, because some programs keep a lease in them that changes every two
 * seconds.
 */
export function readEndpoints(fields: FieldReader, options: ParseOptions): ReadResult<EndpointSlice> {
  const metadata = readMetadata(fields, 'Endpoints', 'namespaced', options);
  const subsets = fields.objects('subsets', limits.subsets).map((item) => readSubset(item));
  if (metadata === undefined || metadata.labels[labels.skipMirror] === 'true') return {};
  const slices = subsets.flatMap(({ endpoints, ports }) =>
    ([4, 6] as const).flatMap((family): FamilySubset[] => {
      const ofFamily = endpoints.filter(({ address }) => address.family === family);
      if (ofFamily.length === 0) return [];
      return [{ family, ports, endpoints: ofFamily }];
    }),
  );
  // Endpoints without addresses still need a slice: it says that the Service has no endpoints, which a missing slice does not.
  const none: FamilySubset = { family: 4, ports: [], endpoints: [] };
  const [object, ...companions] = (slices.length === 0 ? [none] : slices).map(({ family, ports, endpoints }, index): EndpointSlice => ({
    kind: 'EndpointSlice',
    metadata: mirrorMetadata(metadata, index),
    service: serviceKey(metadata),
    family,
    ports,
    endpoints,
  }));
  return object === undefined ? {} : { object, companions };
}

function mirrorMetadata(metadata: Metadata, index: number): Metadata {
  const suffix = index === 0 ? '-mirror' : `-mirror-${index + 1}`;
  return {
    ...metadata,
    name: metadata.name + suffix,
    uid: metadata.uid + suffix,
    labels: { ...metadata.labels, [labels.serviceName]: metadata.name, [labels.managedBy]: mirrorManager },
    annotations: {},
  };
}

function readSubset(item: FieldReader): Subset {
  const ports = item.objects('ports', limits.portsPerSlice).flatMap((port): EndpointPort[] => {
    port.require('port', 'write the port that the endpoints listen on');
    const name = port.text('name') ?? '';
    const protocol = port.oneOf('protocol', protocols) ?? 'TCP';
    const number = port.integer('port', 1, 65_535);
    return number === undefined ? [] : [{ name, protocol, port: number }];
  });
  const endpoints = [...readAddresses(item, 'addresses', true), ...readAddresses(item, 'notReadyAddresses', false)];
  return { ports, endpoints };
}

function readAddresses(subset: FieldReader, name: string, ready: boolean): Endpoint[] {
  return subset.objects(name, limits.endpointsPerSlice).flatMap((item): Endpoint[] => {
    item.require('ip', 'write the address of the endpoint');
    const address = item.parsed('ip', parseAddressLeniently);
    const nodeName = item.text('nodeName') ?? '';
    if (address === undefined) return [];
    const special = specialAddress(address);
    if (special !== undefined) item.problem('ip', `${formatAddress(address)} is ${special}`, 'use an address that nodes can reach');
    const where = nodeName === '' ? {} : { nodeName };
    return [{ address, ready, serving: ready, terminating: false, ...where, hintZones: [], hintNodes: [] }];
  });
}
