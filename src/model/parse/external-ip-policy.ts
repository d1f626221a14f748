import { parsePrefix } from '../../net/prefix.ts';
import type { ExternalIPPolicy } from '../configuration.ts';
import { limits } from '../limits.ts';
import { readMetadata } from './metadata.ts';
import type { Fields } from './fields.ts';
import type { ParseOptions, Read } from './result.ts';
import { readSelector } from './selector.ts';

/** Both fields are required: what is allowed is said, never assumed. */
export function readExternalIPPolicy(fields: Fields, options: ParseOptions): Read<ExternalIPPolicy> {
  const metadata = readMetadata(fields, 'ExternalIPPolicy', 'cluster', options);
  const spec = fields.object('spec');
  spec.require('namespaceSelector', 'write {} to allow every namespace');
  spec.require('cidrs', 'list the prefixes that external IPs may come from');
  const namespaceSelector = readSelector(spec.object('namespaceSelector'));
  const cidrs = spec.parsedList('cidrs', limits.cidrs, parsePrefix);
  fields.raw('status');
  return metadata === undefined ? {} : { object: { kind: 'ExternalIPPolicy', metadata, namespaceSelector, cidrs } };
}
