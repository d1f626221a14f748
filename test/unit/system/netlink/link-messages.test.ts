import { expect, test } from 'vitest';
import { readLinkEvent } from '../../../../src/system/netlink/link-messages.ts';
import { readMessages } from '../../../../src/system/netlink/message.ts';
import { MessageWriter } from '../../../../src/system/netlink/message-writer.ts';

const up = 0x1_1043;
const ports = { name: 3, address: 1, master: 10, information: 18, event: 44 } as const;
const information = { kind: 1, data: 2 } as const;

interface Event {
  readonly index: number;
  readonly name: string;
  readonly kind?: string;
  readonly data?: readonly (readonly [type: number, octets: readonly number[]])[];
  readonly master?: number;
  readonly event?: number;
}

/** Returns the payload of RTM_NEWLINK as the kernel writes it: rtnl_fill_ifinfo(). */
function event({ index, name, kind, data = [], master, event: number }: Event): Uint8Array {
  const writer = new MessageWriter();
  const start = writer.beginMessage({ type: 16, flags: 0, sequence: 0 });
  const header = Buffer.alloc(16);
  header.writeUInt16LE(1, 2);
  header.writeInt32LE(index, 4);
  header.writeUInt32LE(up, 8);
  writer.raw(header);
  writer.textAttribute(ports.name, name);
  if (master !== undefined) writer.hostNumberAttribute(ports.master, master);
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
