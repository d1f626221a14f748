import type { PortRange } from '../../net/host-filter.ts';

/** Helps to read nft's JSON (libnftables-json(5)), whose shape depends on the version of nft. */

export type NftRecord = Readonly<Record<string, unknown>>;

/** Returns the list of objects of a reply. */
export function entries(json: unknown): readonly unknown[] {
  const list = record(json)['nftables'];
  return Array.isArray(list) ? (list as readonly unknown[]) : [];
}

/** Reads a port, or a range of ports. Undefined: it is no literal number. */
export function portRange(value: unknown): PortRange | undefined {
  const { range } = record(value);
  const [first, last]: readonly unknown[] = Array.isArray(range) ? (range as readonly unknown[]) : [value, value];
  return typeof first === 'number' && typeof last === 'number' ? { first, last } : undefined;
}

/** Returns the value if it is an object, else an empty one. */
export function record(value: unknown): NftRecord {
  return typeof value === 'object' && value !== null ? (value as NftRecord) : {};
}

/** Writes values as nft does, but at most four. */
export function valuesText(values: readonly unknown[]): string {
  const texts = values.slice(0, 4).map((value) => {
    const { addr, len } = record(record(value)['prefix']);
    const { range, concat } = record(value);
    if (typeof addr === 'string') return `${addr}/${String(len)}`;
    if (Array.isArray(concat)) return concat.map(String).join(' . ');
    return Array.isArray(range) ? range.join('-') : String(value);
  });
  if (values.length > texts.length) texts.push('...');
  return texts.length === 1 ? (texts[0] ?? '') : `{ ${texts.join(', ')} }`;
}
