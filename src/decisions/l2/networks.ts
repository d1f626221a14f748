import { bitsOf, type Address, type Family } from '../../net/address.ts';
import { maskedPrefix, type Prefix } from '../../net/prefix.ts';

/** The networks of all nodes. Finding those around an address costs as much as there are lengths, however many nodes have a network of their own. */
export class Networks {
  readonly #byLength: Readonly<Record<Family, Map<number, Set<bigint>>>> = { 4: new Map(), 6: new Map() };

  add({ address, length }: Prefix): void {
    const lengths = this.#byLength[address.family];
    const values = lengths.get(length) ?? new Set<bigint>();
    values.add(bitsAbove(address, length));
    lengths.set(length, values);
  }

  /** Returns the networks that contain the address, the longest first. */
  around(address: Address): Prefix[] {
    const lengths = [...this.#byLength[address.family]].filter(([length, values]) => values.has(bitsAbove(address, length)));
    return lengths.map(([length]) => maskedPrefix(address, length)).sort((a, b) => b.length - a.length);
  }
}

function bitsAbove({ family, value }: Address, length: number): bigint {
  return value >> BigInt(bitsOf(family) - length);
}
