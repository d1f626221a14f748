import { parsePrefixLeniently } from '../../../net/prefix.ts';
import type { ServiceCIDR } from '../../objects/cluster.ts';
import { limits } from '../../limits.ts';
import { readMetadata } from '../../reading/metadata.ts';
import type { FieldReader } from '../../reading/fields.ts';
import type { ParseOptions, ReadResult } from '../../reading/result.ts';

/** Reads a networking.k8s.io/v1 ServiceCIDR. */
export function readServiceCIDR(fields: FieldReader, options: ParseOptions): ReadResult<ServiceCIDR> {
  const metadata = readMetadata(fields, 'ServiceCIDR', 'cluster', options);
  const cidrs = fields.object('spec').parsedList('cidrs', limits.cidrs, parsePrefixLeniently);
  return metadata === undefined ? {} : { object: { kind: 'ServiceCIDR', metadata, cidrs } };
}
