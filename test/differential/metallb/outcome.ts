import { parseAddress, type Address } from '../../../src/net/address.ts';
import { parseRange, rangeContains } from '../../../src/net/range.ts';
import type { Pool } from './objects.ts';

/** What a controller gave to a Service. */
export interface Outcome {
  readonly addresses: readonly string[];
  /** The pool of each address, each once, sorted. "none" stands for an address of no pool. */
  readonly pools: readonly string[];
  readonly families: readonly ('IPv4' | 'IPv6')[];
}

export function outcomeOf(pools: readonly Pool[], addresses: readonly string[]): Outcome {
  const families = addresses.map((text) => (text.includes(':') ? 'IPv6' : 'IPv4'));
  return {
    addresses,
    pools: [...new Set(addresses.map((text) => poolOf(pools, text)?.name ?? 'none'))].toSorted(),
    families: families.toSorted(),
  };
}

export function poolOf(pools: readonly Pool[], text: string): Pool | undefined {
  const parsed = parseAddress(text);
  return parsed.ok ? pools.find(({ spec }) => spec.addresses.some((range) => contains(range, parsed.value))) : undefined;
}

function contains(text: string, address: Address): boolean {
  const range = parseRange(text);
  return range.ok && rangeContains(range.value, address);
}

/** True when the addresses are the same, so that both controllers go on from the same state. */
export const sameOutcome = (a: Outcome, b: Outcome): boolean => a.addresses.join() === b.addresses.join();

export const sameFamilies = (a: Outcome, b: Outcome): boolean => a.families.join() === b.families.join();

export const outcomeText = ({ addresses, pools }: Outcome): string =>
  addresses.length === 0 ? 'no address' : `${addresses.join(' and ')} of ${pools.join(' and ')}`;
