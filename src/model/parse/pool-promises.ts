import { formatAddress, parseAddress } from '../../net/address.ts';
import { rangeContains, type AddressRange } from '../../net/range.ts';
import type { IPAddressPool, Quota, Reservation } from '../configuration.ts';
import { limits } from '../limits.ts';
import { serviceKey } from '../metadata.ts';
import { isLabelName } from './metadata.ts';
import type { Fields } from './fields.ts';
import { readSelector } from './selector.ts';

type Promises = Pick<IPAddressPool, 'draining' | 'reservations' | 'keepReleasedSeconds' | 'quota'>;

/** What a pool keeps for whom, and how much it gives to whom. MetalLB has none of it. */
export function readPromises(spec: Fields, ranges: readonly AddressRange[]): Promises {
  return {
    draining: spec.boolean('draining') ?? false,
    reservations: readReservations(spec, ranges),
    keepReleasedSeconds: spec.integer('keepReleasedSeconds', 0, limits.keepReleasedSeconds) ?? 0,
    quota: readQuota(spec),
  };
}

function readReservations(spec: Fields, ranges: readonly AddressRange[]): Reservation[] {
  const seen = new Map<string, string>();
  return spec.objects('reservations', limits.reservations).flatMap((item): Reservation[] => {
    const given = [
      item.require('namespace', 'name the namespace of the Service'),
      item.require('name', 'name the Service'),
      item.require('address', 'write the address that is kept for it'),
    ];
    const [namespace = '', name = ''] = [item.text('namespace'), item.text('name')];
    const address = item.parsed('address', parseAddress);
    for (const [field, text] of Object.entries({ namespace, name }))
      if (text !== '' && !isLabelName(text)) item.problem(field, 'is not a name', 'use lower case letters, digits and "-"');
    if (address === undefined || given.includes(false)) return [];
    const text = formatAddress(address);
    const service = serviceKey({ namespace, name });
    if (!ranges.some((range) => rangeContains(range, address)))
      item.problem('address', `${text} is not in the addresses of this pool`, 'reserve an address of the pool');
    const other = seen.get(text);
    if (other !== undefined) item.problem('address', `${text} is reserved for ${other} already`, 'remove one of the two');
    seen.set(text, service);
    return [{ service, address }];
  });
}

function readQuota(spec: Fields): Quota[] {
  return spec.objects('quota', limits.selectors).map((item) => {
    item.require('namespaceSelector', 'write {} for every namespace');
    item.require('addresses', 'write how many addresses each of these namespaces may hold');
    return {
      namespaceSelector: readSelector(item.object('namespaceSelector')),
      addresses: item.integer('addresses', 0, 2 ** 31 - 1) ?? 0,
    };
  });
}
