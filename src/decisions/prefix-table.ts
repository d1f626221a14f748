import { bitsOf, type Address, type Family } from '../net/address.ts';
import type { Prefix } from '../net/prefix.ts';

/** Values by prefix. Finding those around an address costs as much as there are lengths, however many prefixes there are. */
export class PrefixTable<T> {
  readonly #byLength: Readonly<Record<Family, Map<number, Map<bigint, T>>>> = { 4: new Map(), 6: new Map() };

  /** Sets the value of a prefix that has none. The first value of a prefix stays. */
  add({ address, length }: Prefix, value: T): void {
    const lengths = this.#byLength[address.family];
    const values = lengths.get(length) ?? new Map<bigint, T>();
    lengths.set(length, values);
    const bits = bitsAbove(address, length);
    if (!values.has(bits)) values.set(bits, value);
  }

  /** Returns the values of the prefixes that contain the address, the longest prefix first. */
  around(address: Address): T[] {
    const found = [...this.#byLength[address.family]].flatMap(([length, values]) => {
      const bits = bitsAbove(address, length);
      return values.has(bits) ? [{ length, value: values.get(bits) as T }] : [];
    });
    return found.sort((a, b) => b.length - a.length).map(({ value }) => value);
  }
}

function bitsAbove({ family, value }: Address, length: number): bigint {
  return value >> BigInt(bitsOf(family) - length);
}
