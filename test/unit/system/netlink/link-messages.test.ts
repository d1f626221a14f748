import { expect, test } from 'vitest';
import { readLink, readLinkEvent } from '../../../../src/system/netlink/link-messages.ts';
import { readMessages } from '../../../../src/system/netlink/message.ts';
import { MessageWriter } from '../../../../src/system/netlink/message-writer.ts';

const up = 0x1_1043;
const ports = { name: 3, address: 1, parent: 5, master: 10, information: 18, event: 44 } as const;
const information = { kind: 1, data: 2 } as const;

interface Event {
  readonly index: number;
  readonly name: string;
  readonly kind?: string;
  readonly data?: readonly (readonly [type: number, octets: readonly number[]])[];
  readonly master?: number;
  readonly parent?: number;
  readonly event?: number;
}

/** Returns the payload of RTM_NEWLINK as the kernel writes it: rtnl_fill_ifinfo(). */
function event({ index, name, kind, data = [], master, parent, event: number }: Event): Uint8Array {
  const writer = new MessageWriter();
  const start = writer.beginMessage({ type: 16, flags: 0, sequence: 0 });
  const header = Buffer.alloc(16);
  header.writeUInt16LE(1, 2);
  header.writeInt32LE(index, 4);
  header.writeUInt32LE(up, 8);
  writer.raw(header);
  writer.textAttribute(ports.name, name);
  if (master !== undefined) writer.hostNumberAttribute(ports.master, master);
  if (parent !== undefined) writer.hostNumberAttribute(ports.parent, parent);
  writer.bytesAttribute(ports.address, Uint8Array.of(2, 0, 0, 0, 0, 9));
  if (kind !== undefined) {
    const nested = writer.beginNested(ports.information);
    writer.textAttribute(information.kind, kind);
    const inner = writer.beginNested(information.data);
    for (const [type, octets] of data) writer.bytesAttribute(type, Uint8Array.from(octets));
    writer.endNested(inner);
    writer.endNested(nested);
  }
  if (number !== undefined) writer.hostNumberAttribute(ports.event, number);
  writer.endMessage(start);
  const [message] = readMessages(writer.bytes());
  if (message === undefined) throw new Error('there is a message');
  return message.payload;
}

test.each([
  ['IFLA_EVENT_BONDING_FAILOVER', 3, true],
  ['IFLA_EVENT_NOTIFY_PEERS', 4, true],
  ['IFLA_EVENT_FEATURES', 2, false],
  ['no event', undefined, false],
])('L2-29 a bond in active-backup mode with %s', (_, number, moved) => {
  const bond = { index: 7, name: 'bond0', kind: 'bond', data: [[1, [1]]] as const };
  expect(readLinkEvent(event({ ...bond, ...(number === undefined ? {} : { event: number }) }))).toEqual({
    index: 7,
    name: 'bond0',
    linkAddress: '02:00:00:00:00:09',
    up: true,
    carrier: true,
    noArp: false,
    loopback: false,
    kind: 'bond',
    bondMode: 1,
    leadsElsewhere: false,
    moved,
  });
});

test('L2-29 a VLAN device above a bond tells of the failover itself', () => {
  expect(readLinkEvent(event({ index: 8, name: 'bond0.10', kind: 'vlan', data: [[1, [10, 0]]], event: 4 }))).toMatchObject({
    kind: 'vlan',
    moved: true,
  });
});

test('L2-29 a bond that is a port of a bridge names the bridge', () => {
  expect(readLinkEvent(event({ index: 7, name: 'bond0', kind: 'bond', master: 12, event: 4 }))).toMatchObject({ master: 12, moved: true });
});

test.each([
  ['balance-rr', 0],
  ['active-backup', 1],
  ['802.3ad', 4],
  ['balance-tlb', 5],
  ['balance-alb', 6],
])('L2-29 the mode %s of a bond is read', (_, mode) => {
  // IFLA_BOND_MODE, and IFLA_BOND_ACTIVE_SLAVE as another attribute.
  const data = [
    [2, [3, 0, 0, 0]],
    [1, [mode]],
  ] as const;
  expect(readLink(event({ index: 7, name: 'bond0', kind: 'bond', data }))).toMatchObject({ kind: 'bond', bondMode: mode });
});

test('L2-29 attribute 1 of other kinds is no bond mode, and a VLAN device names the one below it', () => {
  const link = readLink(event({ index: 8, name: 'bond0.10', kind: 'vlan', parent: 7, data: [[1, [6, 0]]] }));
  expect(link).toMatchObject({ kind: 'vlan', parent: 7 });
  expect(link).not.toHaveProperty('bondMode');
});

test.each([
  ['none', 0, 0, []],
  ['IPv4', 1, 0, [4]],
  ['IPv6', 0, 1, [6]],
  ['both', 1, 1, [4, 6]],
])('a bridge tells the families whose frames it passes to the filters of IP: %s', (_, filters4, filters6, families) => {
  const data = [
    [36, [filters4]],
    [37, [filters6]],
    [38, [1]],
  ] as const;
  expect(readLink(event({ index: 9, name: 'br0', kind: 'bridge', data }))).toMatchObject({ kind: 'bridge', bridgeFilters: families });
});
