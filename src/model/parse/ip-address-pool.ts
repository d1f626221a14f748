import { refused, type Parsed } from '../../net/parsed.ts';
import { formatRange, parseRange, rangesOverlap, type AddressRange } from '../../net/range.ts';
import type { IPAddressPool, ServiceAllocation } from '../configuration.ts';
import { limits } from '../limits.ts';
import { readMetadata } from './metadata.ts';
import type { Fields } from './fields.ts';
import { readPromises } from './pool-promises.ts';
import type { ParseOptions, Read } from './result.ts';
import { readSelectors } from './selector.ts';
import { unusableIn } from './special-address.ts';

/** Fields and defaults are MetalLB's (v1beta1), and some of ours. */
export function readIPAddressPool(fields: Fields, options: ParseOptions): Read<IPAddressPool> {
  const metadata = readMetadata(fields, 'IPAddressPool', 'cluster', options);
  const spec = fields.object('spec');
  const addresses = spec.parsedList('addresses', limits.poolRanges, parseUsableRange);
  const written = spec.raw('addresses');
  if (written === undefined || (Array.isArray(written) && written.length === 0)) {
    spec.problem('addresses', 'is required', 'list CIDRs or ranges: 192.0.2.0/24, 192.0.2.1-192.0.2.9');
  }
  for (const [index, range] of addresses.entries()) {
    const other = addresses.slice(0, index).find((before) => rangesOverlap(before, range));
    if (other !== undefined) spec.problem('addresses', `${formatRange(range)} overlaps ${formatRange(other)}`, 'make the ranges disjoint');
  }
  const autoAssign = spec.boolean('autoAssign') ?? true;
  const avoidBuggyIPs = spec.boolean('avoidBuggyIPs') ?? false;
  const serviceAllocation = readAllocation(spec.object('serviceAllocation'));
  const promises = readPromises(spec, addresses);
  fields.raw('status');
  if (metadata === undefined) return {};
  const allocation = spec.has('serviceAllocation') ? { serviceAllocation } : {};
  return { object: { kind: 'IPAddressPool', metadata, addresses, autoAssign, avoidBuggyIPs, ...promises, ...allocation } };
}

function parseUsableRange(text: string): Parsed<AddressRange> {
  const range = parseRange(text.trim());
  const unusable = range.ok ? unusableIn(range.value) : undefined;
  return unusable === undefined ? range : refused(`holds ${unusable}, which no client can reach: leave them out`);
}

function readAllocation(fields: Fields): ServiceAllocation {
  const namespaces = fields.texts('namespaces', limits.names);
  for (const [index, name] of namespaces.entries()) {
    if (namespaces.indexOf(name) !== index) fields.problem(['namespaces', index], `"${name}" is there twice`, 'remove one');
  }
  return {
    priority: fields.integer('priority', 0, 2 ** 31 - 1) ?? 0,
    namespaces,
    namespaceSelectors: readSelectors(fields, 'namespaceSelectors'),
    serviceSelectors: readSelectors(fields, 'serviceSelectors'),
  };
}
