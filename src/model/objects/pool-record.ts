import { defined } from '../../lang/defined.ts';
import { formatAddress, parseAddress, sameAddress, type Address } from '../../net/address.ts';
import { limits } from '../limits.ts';
import type { Labels } from './metadata.ts';

/** The pool of an address of a Service, as condition AddressAssigned of the Service records it. */
export interface RecordedPool {
  readonly address: Address;
  readonly pool: string;
  /** The labels of the pool that selectors of advertisements read: they outlive the pool. */
  readonly labels: Labels;
  /** The prefix length of the largest block around the address that was of the pool. Absent where no aggregate needed it. */
  readonly block?: number;
}

/** Returns the record for an address. Undefined: there is none. */
export function recordedPoolOf(
  { recordedPools = [] }: { readonly recordedPools?: readonly RecordedPool[] | undefined },
  address: Address,
): RecordedPool | undefined {
  return recordedPools.find((one) => sameAddress(one.address, address));
}

const lead = ' (of pool ';

/**
 * Returns the message with the pools of the addresses at its end, such as `(of pool web: 192.0.2.1, 2001:db8::1; inner [tier=back]:
 * 198.51.100.1/24)`. Pools beyond `limits.poolRecord` characters are left out.
 */
export function withPoolRecord(message: string, pools: readonly RecordedPool[]): string {
  const byPool = Map.groupBy(pools, ({ pool, labels }) => `${pool}${labelsText(labels)}`);
  let list = '';
  for (const [pool, of] of byPool) {
    const item = `${list === '' ? '' : '; '}${pool}: ${of.map(addressText).join(', ')}`;
    if (list.length + item.length <= limits.poolRecord) list += item;
  }
  return list === '' ? message : `${message}${lead}${list})`;
}

/** Returns the pools in a message that `withPoolRecord` wrote. What cannot be read is left out. */
export function poolRecordIn(message: string): RecordedPool[] {
  const at = message.lastIndexOf(lead);
  if (at === -1 || !message.endsWith(')') || message.length - at > limits.poolRecord + lead.length + 1) return [];
  return message
    .slice(at + lead.length, -1)
    .split('; ')
    .flatMap((item) => {
      const [, pool = '', labels = '', addresses = ''] = itemPattern.exec(item) ?? [];
      return addresses.split(', ').flatMap((text) => {
        const [at = '', length] = text.split('/');
        const address = parseAddress(at);
        const block = length === undefined ? undefined : Number(length);
        return pool === '' || !address.ok ? [] : [{ address: address.value, pool, labels: labelsIn(labels), ...defined({ block }) }];
      });
    });
}

/** Returns a message without the record that `withPoolRecord` added. */
export function withoutPoolRecord(message: string): string {
  const at = poolRecordIn(message).length === 0 ? -1 : message.lastIndexOf(lead);
  return at === -1 ? message : message.slice(0, at);
}

const itemPattern = /^([a-z0-9.-]+)(?: \[([^[\]]*)\])?: ([0-9a-f:.]+(?:\/\d{1,3})?(?:, [0-9a-f:.]+(?:\/\d{1,3})?)*)$/;

const addressText = ({ address, block }: RecordedPool): string => `${formatAddress(address)}${block === undefined ? '' : `/${block}`}`;

function labelsText(labels: Labels): string {
  const entries = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? '' : ` [${entries.map(([key, value]) => `${key}=${value}`).join(', ')}]`;
}

function labelsIn(text: string): Labels {
  return Object.fromEntries(
    text.split(', ').flatMap((entry) => {
      const at = entry.indexOf('=');
      return at <= 0 ? [] : [[entry.slice(0, at), entry.slice(at + 1)]];
    }),
  );
}
