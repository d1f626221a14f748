import { expect, test } from 'vitest';
import { routerIDOf } from '../../../../src/decisions/announcement/peers.ts';
import { formatAddress } from '../../../../src/net/address.ts';
import { node, peer } from '../fixtures.ts';

const idOf = (name: string, internalIPs: readonly string[]): string =>
  formatAddress(routerIDOf(peer({ name: 'tor' }), node({ name, internalIPs })));

test('a node with IPv6 only has the address of a host as its BGP Identifier, whatever its name', () => {
  const ids = Array.from({ length: 2_000 }, (_, index) => idOf(`worker-${index}.example`, ['fd00::1']));
  expect(ids.filter((id) => /^(?:0|127|22[4-9]|2[3-5]\d)\./.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(2_000);
});

test('a node with an IPv4 address has that one', () => {
  expect(idOf('n1', ['fd00::1', '10.0.0.1'])).toBe('10.0.0.1');
});
