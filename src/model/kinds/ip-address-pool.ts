import { formatAddress, type Address } from '../../net/address.ts';
import { formatRange, rangeContains, rangesOverlap, type AddressRange } from '../../net/range.ts';
import { limits } from '../limits.ts';
import { serviceKey, type ServiceKey } from '../objects/metadata.ts';
import type { FieldReader } from '../reading/fields.ts';
import { addressRange } from '../schema/address-range.ts';
import { boolean, integer, list, object, parsed, text } from '../schema/fields.ts';
import { address, labelName } from '../schema/grammars.ts';
import { defineKind, type ObjectOfKind } from '../schema/kind.ts';
import { selector, selectors } from '../schema/selector.ts';
import { age, conditionColumns, conditions } from '../schema/status.ts';
import type { Draft, Value } from '../schema/value.ts';

const serviceAllocation = object(
  {
    priority: integer({
      min: 0,
      max: 2 ** 31 - 1,
      default: 0,
      description:
        'Pools with a lower priority are tried first. 0 means not set and is tried last. Pools without `serviceAllocation` come after all others: they give only what no pool with it can give this Service, not even one of the two families of `PreferDualStack`.',
    }),
    namespaces: list(text({ maxLength: 63 }), { maxItems: limits.names, unique: true, description: 'Names of namespaces.' }),
    namespaceSelectors: selectors({
      description:
        'Namespaces selected by label. A Service must be in one of these or of `namespaces`. When both are empty, any namespace is allowed.',
    }),
    serviceSelectors: selectors({ unset: 'every Service', description: 'Services that may have addresses of the pool.' }),
  },
  { unset: 'any Service', description: 'Which Services may have addresses of the pool.' },
);

const reservation = object({
  namespace: parsed(labelName, { required: 'name the namespace of the Service', description: 'Namespace of the Service.' }),
  name: parsed(labelName, { required: 'name the Service', description: 'Name of the Service. It need not exist.' }),
  address: parsed(address, { required: 'write the address that is kept for it', description: 'An address of the pool.' }),
});

const quota = object({
  namespaceSelector: selector({ required: 'write {} for every namespace', description: 'The namespaces.' }),
  addresses: integer({
    required: 'write how many addresses each of these namespaces may hold',
    min: 0,
    max: 2 ** 31 - 1,
    description: 'The most addresses that each of them may hold.',
  }),
});

const fields = {
  addresses: list(parsed(addressRange), {
    required: 'list CIDRs or ranges: 192.0.2.0/24, 192.0.2.1-192.0.2.9',
    maxItems: limits.poolRanges,
    description:
      '`192.0.2.0/24`, `192.0.2.1-192.0.2.9`, IPv4 and IPv6, in the order of use. They must not overlap each other or contain addresses that no client can reach: loopback, link-local, multicast, reserved (240.0.0.0/4), unspecified.',
  }),
  autoAssign: boolean({ default: true, description: 'With false, only Services that request the pool or an address in it get addresses.' }),
  avoidBuggyIPs: boolean({ default: false, description: 'Do not assign IPv4 addresses that end in .0 or .255.' }),
  serviceAllocation,
  draining: boolean({
    default: false,
    description:
      'The pool assigns no new addresses, not even on request ([PoolDraining](reasons.md)). Assigned addresses stay and are announced.',
  }),
  reservations: list(reservation, {
    key: 'address',
    maxItems: limits.reservations,
    description:
      'Only the named Service gets the address. It need not exist yet; when it is created it gets this address first, even with `autoAssign: false`. A Service that already held the address keeps it until it releases it. The named Service may share the address by its sharing key.',
  }),
  keepReleasedSeconds: integer({
    min: 0,
    max: limits.keepReleasedSeconds,
    default: 0,
    description:
      "How long an address is kept for a Service of the same name after its Service was deleted or released it. The pool's status records it within seconds, so that it survives a restart of the controller: at most 500 addresses. An address that other Services share is not kept.",
  }),
  quota: list(quota, {
    maxItems: limits.selectors,
    description:
      'The most addresses of the pool that each selected namespace may hold, both families together; a shared address counts once. If several entries select a namespace, the lowest applies. Addresses that it already holds stay.',
  }),
};

/** An int64 in the API; its largest value stands for any larger number. Numbers of JavaScript are less exact. */
const count = { min: 0, max: Infinity } as const;

const status = object({
  assignedIPv4: integer({ ...count, description: 'IPv4 addresses that Services have.' }),
  assignedIPv6: integer({ ...count, description: 'IPv6 addresses that Services have.' }),
  availableIPv4: integer({ ...count, description: 'IPv4 addresses that are free.' }),
  availableIPv6: integer({
    ...count,
    description: 'IPv6 addresses that are free. A block with 62 or more host bits counts as the largest number.',
  }),
  usage: text({ maxLength: 128, description: 'Assigned addresses of all addresses: `12/256`.' }),
  conflicts: list(text({ maxLength: 253 }), { maxItems: limits.names, description: 'Pools that overlap this one.' }),
  released: list(
    object({
      service: text({ maxLength: 127, description: '"namespace/name".' }),
      address: text({ maxLength: 45, description: 'The released address.' }),
      until: text({ maxLength: 64, description: 'RFC 3339.' }),
    }),
    {
      maxItems: limits.releasedAddresses,
      description:
        'Released addresses that are kept for a Service of the same name (keepReleasedSeconds), even across a restart of the controller.',
    },
  ),
  conditions,
});

/** Fields and defaults are MetalLB's (v1beta1), plus Herald's additions. */
export const ipAddressPool = defineKind({
  kind: 'IPAddressPool',
  plural: 'ipaddresspools',
  shortNames: ['hpool'],
  description: 'Addresses for Services of type LoadBalancer.',
  spec: object(fields, { required: 'write the addresses of the pool' }),
  status,
  columns: [
    { name: 'Usage', type: 'string', path: '.status.usage', description: 'Assigned addresses of all addresses.' },
    { name: 'Auto Assign', type: 'boolean', path: '.spec.autoAssign' },
    { name: 'Draining', type: 'boolean', path: '.spec.draining' },
    { name: 'Conflicts', type: 'string', path: '.status.conflicts', description: 'Pools that overlap this one.' },
    ...conditionColumns,
    { name: 'Addresses', type: 'string', path: '.spec.addresses', wide: true },
    { name: 'Avoid Buggy IPs', type: 'boolean', path: '.spec.avoidBuggyIPs', wide: true },
    age,
  ],
  example: { addresses: ['192.0.2.0/24', '2001:db8::1-2001:db8::9'] },
  check: ({ addresses = [], reservations = [] }, spec) => {
    checkDisjoint(addresses, spec);
    checkReservations(reservations, addresses, spec);
  },
  object: ({ reservations, ...rest }) => ({
    ...rest,
    reservations: reservations.map(({ namespace, name, address }): Reservation => ({ service: serviceKey({ namespace, name }), address })),
  }),
});

export type IPAddressPool = ObjectOfKind<typeof ipAddressPool>;
export type ServiceAllocation = Value<typeof serviceAllocation>;
export type Quota = Value<typeof quota>;

/** An address of the pool that only the named Service can get. The Service need not exist. Addresses are unique. */
export interface Reservation {
  readonly service: ServiceKey;
  readonly address: Address;
}

/** Checks that ranges do not overlap. CEL cannot compare addresses by size, and comparing every pair of a thousand would cost too much. */
function checkDisjoint(ranges: readonly AddressRange[], spec: FieldReader): void {
  for (const [index, range] of ranges.entries()) {
    const other = ranges.slice(0, index).find((before) => rangesOverlap(before, range));
    if (other !== undefined) spec.problem('addresses', `${formatRange(range)} overlaps ${formatRange(other)}`, 'make the ranges disjoint');
  }
}

function checkReservations(
  reservations: readonly Draft<(typeof reservation)['fields']>[],
  ranges: readonly AddressRange[],
  spec: FieldReader,
): void {
  const seen = new Map<string, string>();
  for (const [index, { namespace, name, address }] of reservations.entries()) {
    if (address === undefined || namespace === undefined || name === undefined) continue;
    const at = ['reservations', index, 'address'];
    const text = formatAddress(address);
    if (!ranges.some((range) => rangeContains(range, address)))
      spec.problem(at, `${text} is not in the addresses of this pool`, 'reserve an address of the pool');
    const other = seen.get(text);
    if (other !== undefined) spec.problem(at, `${text} is reserved for ${other} already`, 'remove one of the two');
    seen.set(text, serviceKey({ namespace, name }));
  }
}
