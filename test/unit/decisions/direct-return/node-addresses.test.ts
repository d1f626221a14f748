import { expect, test } from 'vitest';
import { addressesOf } from '../../../../src/decisions/direct-return/forwarding-path.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';

test('other nodes reach a node by its first InternalIP of each family, IPv4 before IPv6', () => {
  const internalIPs = ['fd00::1', '10.0.0.1', '10.0.0.2', 'fd00::2'].map(address);
  const snapshot = { nodes: new Map([['node1', { internalIPs }]]) } as unknown as Snapshot;
  expect(addressesOf(snapshot, 'node1').map(formatAddress)).toEqual(['10.0.0.1', 'fd00::1']);
  expect(addressesOf(snapshot, 'node2')).toEqual([]);
});
