import { listAttributes, readAttributes, readText } from '../../../../system/netlink/attributes.ts';
import { expressionAttributes } from '../constants.ts';
import type { Attributes, Expression, Value } from './expressions.ts';

/**
 * Whether what the kernel lists is what we would write. It lists more than it was told, what it has by default, and leaves out
 * some zeros. So each attribute of ours must be there with its value, or absent and zero, and others may be.
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

/** An expression that looks into a set without a name: which one it became is the kernel's affair. */
const anonymousLookup = { set: 1, setId: 4 } as const;

/**
 * The same for the expressions of a rule. Undefined: they differ; otherwise the names of the sets without a name that it looks into,
 * in order.
 */
export function anonymousSetsOf(listed: Uint8Array, wanted: readonly Expression[]): readonly string[] | undefined {
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
