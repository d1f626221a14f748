import { listAttributes, readAttributes, readText } from '../../../../system/netlink/attributes.ts';
import { expressionAttributes } from '../constants.ts';
import type { Attributes, Expression, Value } from './expressions.ts';

/**
 * Compares listed attributes with those that we would write. The kernel also lists its defaults and leaves out some zeros. So each
 * attribute of ours must be present with its value, or be absent and zero. Others are ignored.
 */
export function hasAttributes(listed: Uint8Array, wanted: Attributes): boolean {
  const attributes = readAttributes(listed);
  return wanted.every(([type, value]) => {
    const octets = attributes.get(type);
    return octets === undefined ? isZero(value) : hasValue(octets, value);
  });
}

function isZero(value: Value): boolean {
  return value === 0 || (value instanceof Uint8Array && value.every((octet) => octet === 0));
}

function hasValue(octets: Uint8Array, value: Value): boolean {
  if (typeof value === 'number') return octets.length === 4 && viewOf(octets).getUint32(0) === value >>> 0;
  if (typeof value === 'bigint') return octets.length === 8 && viewOf(octets).getBigUint64(0) === value;
  if (typeof value === 'string') return readText(octets) === value;
  if (value instanceof Uint8Array) return Buffer.compare(octets, value) === 0;
  return hasAttributes(octets, value);
}

const viewOf = (octets: Uint8Array): DataView => new DataView(octets.buffer, octets.byteOffset, octets.length);

/** Attributes of a lookup in an anonymous set. The kernel chooses the set's name and number. */
const anonymousLookup = { set: 1, setId: 4 } as const;

/**
 * Compares the expressions of a rule in the same way. Undefined: they differ. Otherwise the names of the anonymous sets that the rule uses,
 * in order.
 */
export function matchExpressions(listed: Uint8Array, wanted: readonly Expression[]): readonly string[] | undefined {
  const expressions = listAttributes(listed).map(({ value }) => readAttributes(value));
  if (expressions.length !== wanted.length) return undefined;
  const sets: string[] = [];
  for (const [index, { name, attributes }] of wanted.entries()) {
    const [listedName, data] = [expressionAttributes.name, expressionAttributes.data].map((type) => expressions[index]?.get(type));
    if (listedName === undefined || readText(listedName) !== name) return undefined;
    const octets = data ?? new Uint8Array();
    const anonymous = name === 'lookup' && attributes.some(([type]) => type === anonymousLookup.setId);
    const known = anonymous ? attributes.filter(([type]) => type !== anonymousLookup.set && type !== anonymousLookup.setId) : attributes;
    if (!hasAttributes(octets, known)) return undefined;
    if (anonymous) sets.push(readText(readAttributes(octets).get(anonymousLookup.set) ?? new Uint8Array()));
  }
  return sets;
}
