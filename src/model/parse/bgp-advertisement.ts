import type { BGPAdvertisement } from '../configuration.ts';
import { limits } from '../limits.ts';
import { parseCommunity } from './community-value.ts';
import { readMetadata } from './metadata.ts';
import type { Fields } from './fields.ts';
import type { ParseOptions, Read } from './result.ts';
import { readSelectors } from './selector.ts';

const maxUint32 = 2 ** 32 - 1;

/** Fields and defaults are MetalLB's (v1beta1), with our additions. */
export function readBGPAdvertisement(fields: Fields, options: ParseOptions): Read<BGPAdvertisement> {
  const metadata = readMetadata(fields, 'BGPAdvertisement', 'cluster', options);
  const spec = fields.object('spec');
  const addressTypes = spec.manyOf('addressTypes', ['LoadBalancer', 'ClusterIP', 'ExternalIP']);
  refuseDuplicates(spec, 'addressTypes', addressTypes);
  const ipAddressPools = names(spec, 'ipAddressPools');
  const ipAddressPoolSelectors = readSelectors(spec, 'ipAddressPoolSelectors');
  const aggregationLength = spec.integer('aggregationLength', 1, 32) ?? 32;
  const aggregationLengthV6 = spec.integer('aggregationLengthV6', 1, 128) ?? 128;
  const localPref = spec.integer('localPref', 0, maxUint32) ?? 0;
  const med = spec.integer('med', 0, maxUint32);
  const asPathPrepend = spec.integer('asPathPrepend', 0, limits.asPathPrepend) ?? 0;
  const communities = spec.parsedList('communities', limits.communities, parseCommunity);
  refuseDuplicates(spec, 'communities', communities);
  const nodeSelectors = readSelectors(spec, 'nodeSelectors');
  const serviceSelectors = readSelectors(spec, 'serviceSelectors');
  if (serviceSelectors.length > 0 && (aggregationLength !== 32 || aggregationLengthV6 !== 128)) {
    spec.problem(
      'serviceSelectors',
      'select single Services, and an aggregate covers others too',
      'use aggregationLength 32 and aggregationLengthV6 128',
    );
  }
  const peers = names(spec, 'peers');
  spec.unsupported('maxNextHops', 'linkBandwidth');
  fields.raw('status');
  if (metadata === undefined) return {};
  return {
    object: {
      kind: 'BGPAdvertisement',
      metadata,
      addressTypes: addressTypes.length === 0 ? ['LoadBalancer'] : addressTypes,
      ipAddressPools,
      ipAddressPoolSelectors,
      aggregationLength,
      aggregationLengthV6,
      localPref,
      ...(med === undefined ? {} : { med }),
      asPathPrepend,
      communities,
      nodeSelectors,
      serviceSelectors,
      peers,
    },
  };
}

function names(spec: Fields, name: string): string[] {
  const values = spec.texts(name, limits.names);
  refuseDuplicates(spec, name, values);
  return values;
}

function refuseDuplicates(spec: Fields, name: string, values: readonly string[]): void {
  for (const [index, value] of values.entries()) {
    if (values.indexOf(value) !== index) spec.problem([name, index], `"${value}" is there twice`, 'remove one');
  }
}
