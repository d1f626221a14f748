import { describe, expect, test } from 'vitest';
import { begunConnections } from '../../../../src/dataplane/nftables/netlink/begun-connections.ts';
import { DroppedConnections } from '../../../../src/dataplane/conntrack/dropped-connections.ts';
import type { Timeouts } from '../../../../src/dataplane/conntrack/flow-outcome.ts';
import { droppedListings } from '../../../../src/dataplane/conntrack/limits.ts';
import { begunSeconds } from '../../../../src/dataplane/ruleset/begun.ts';
import { address, addressBytes, formatAddress } from '../../../../src/net/address.ts';
import { NetlinkError } from '../../../../src/system/netlink/error.ts';
import { messageTypes } from '../../../../src/system/netlink/message.ts';
import { MessageWriter } from '../../../../src/system/netlink/message-writer.ts';
import type { NetlinkSocket } from '../../../../src/system/netlink/socket.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { listOf, type EntryLiteral } from './tracked-entry.ts';

interface Element {
  readonly to: string;
  readonly protocol?: number;
  readonly port?: number;
  readonly from: string;
  /** Milliseconds. */
  readonly age: number;
  readonly packets?: number;
}

const timeouts: Timeouts = {
  tcp: [Number.NaN, 120, 60, 432_000, 120, 60, 30, 120, 10],
  unacknowledged: 300,
  unacknowledgedLeast: 300,
  udp: 30,
  udpStream: 120,
};
const listElements = (10 << 8) | 13;

/** Answers lists of the set, of each family, and of connection tracking. */
function kernelSocket(elements: readonly Element[], entries: readonly EntryLiteral[], asked: { listings: number }): NetlinkSocket {
  let waiting: Uint8Array[] = [];
  return {
    fd: -1,
    port: 1,
    send: async (datagram) => {
      const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.length);
      const sequence = view.getUint32(8, true);
      if (view.getUint16(4, true) === listElements) {
        waiting = [elementList(elements, view.getUint8(16) === 2 ? 4 : 16, sequence)];
        return;
      }
      asked.listings++;
      waiting = listOf(entries).map((each) => renumbered(each, sequence));
    },
    receive: () => waiting.shift(),
    receiveInThread: async () => waiting.shift(),
    setMembership: () => true,
    close: () => undefined,
  };
}

function renumbered(datagram: Uint8Array, sequence: number): Uint8Array {
  const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.length);
  for (let at = 0; at < datagram.length; at += (view.getUint32(at, true) + 3) & ~3) view.setUint32(at + 8, sequence, true);
  return datagram;
}

function elementList(elements: readonly Element[], octets: number, sequence: number): Uint8Array {
  const writer = new MessageWriter();
  const start = writer.beginMessage({ type: (10 << 8) | 12, flags: 0, sequence });
  writer.raw(Uint8Array.of(octets === 4 ? 2 : 10, 0, 0, 0));
  const list = writer.beginNested(3);
  for (const { to, protocol = 6, port = 80, from, age, packets = 2 } of elements) {
    const [there, back] = [addressBytes(address(to)), addressBytes(address(from))];
    if (there.length !== octets) continue;
    const element = writer.beginNested(1);
    const key = writer.beginNested(1);
    const word = (first: number, second = 0): number[] => [first, second, 0, 0];
    writer.bytesAttribute(
      1,
      Uint8Array.from([...there, ...word(protocol), ...word(port >> 8, port & 255), ...back, ...word(8080 >> 8, 8080 & 255)]),
    );
    writer.endNested(key);
    writer.longAttribute(5, BigInt(begunSeconds * 1000 - age));
    const expression = writer.beginNested(7);
    writer.textAttribute(1, 'counter');
    const data = writer.beginNested(2);
    writer.longAttribute(1, 60n);
    writer.longAttribute(2, BigInt(packets));
    writer.endNested(data);
    writer.endNested(expression);
    writer.endNested(element);
  }
  writer.endNested(list);
  writer.endMessage(start);
  const end = writer.beginMessage({ type: messageTypes.done, flags: 0, sequence });
  writer.raw(new Uint8Array(4));
  writer.endMessage(end);
  return writer.bytes();
}

interface BedOptions {
  readonly entries?: readonly EntryLiteral[];
  readonly times?: Timeouts;
  readonly reportedSince?: number;
  readonly isAnswered?: boolean;
}

function bed(elements: readonly Element[], { entries = [], times = timeouts, reportedSince = 0, isAnswered = false }: BedOptions = {}) {
  const clock = new VirtualClock();
  clock.advance(60_000);
  const asked = { listings: 0 };
  const dropped = new DroppedConnections({
    clock,
    listBegun: begunConnections(clock),
    open: () => kernelSocket(elements, entries, asked),
    timeouts: () => times,
    reportedSince: () => reportedSince,
    isAnswered: () => isAnswered,
  });
  const find = async (isWhole = true): Promise<string[]> =>
    (await dropped.find(await dropped.listBegun(), isWhole)).map(
      ({ outcome, destination, protocol, port, endpoint, endpointPort, at }) =>
        `${outcome} ${protocol} ${formatAddress(destination)} ${port} ${formatAddress(endpoint)} ${endpointPort} ${60_000 - at}`,
    );
  return { clock, asked, dropped, find };
}

const one: Element = { to: '192.0.2.1', from: '10.1.0.1', age: 3_000 };

describe('a connection that began and is not in the whole table', () => {
  test('was dropped: one for each first packet, at most two, over both families and protocols', async () => {
    const udp: Element = { to: '2001:db8::1', protocol: 17, port: 53, from: 'fd10::1', age: 4_000, packets: 1 };
    expect(await bed([{ ...one, packets: 9 }, udp]).find()).toEqual([
      'dropped TCP 192.0.2.1 80 10.1.0.1 8080 3000',
      'dropped TCP 192.0.2.1 80 10.1.0.1 8080 3000',
      'dropped UDP 2001:db8::1 53 fd10::1 8080 4000',
    ]);
  });

  test.each([1_900, 5_600])('is not judged when it is %i ms old', async (age) => {
    expect(await bed([{ ...one, age }]).find()).toEqual([]);
  });

  test('is not judged over TCP when resets were not reported all the time, because a refused one is deleted', async () => {
    const udp: Element = { ...one, protocol: 17, packets: 1 };
    expect(await bed([one, udp], { reportedSince: 58_000 }).find()).toEqual(['dropped UDP 192.0.2.1 80 10.1.0.1 8080 3000']);
    expect(await bed([one], { reportedSince: Number.POSITIVE_INFINITY }).find()).toEqual([]);
  });

  test('is not judged when the kernel may have forgotten it, or when its times are unknown', async () => {
    const brief = { ...timeouts, tcp: timeouts.tcp.with(8, 5) };
    expect(await bed([one], { times: brief }).find()).toEqual([]);
    expect(await bed([one], { times: { ...timeouts, tcp: [], udp: Number.NaN } }).find()).toEqual([]);
    expect(await bed([{ ...one, protocol: 17 }], { times: { ...timeouts, udp: Number.NaN } }).find()).toEqual([]);
  });

  test('has the same identifiers at each listing, although the clocks differ a little', async () => {
    const { clock, dropped } = bed([one]);
    const ids = async (): Promise<number[]> => (await dropped.find(await dropped.listBegun(), true)).map(({ id }) => id);
    const first = await ids();
    expect(new Set(first).size).toBe(2);
    clock.advance(700);
    expect(await ids()).toEqual(first);
  });
});

describe('a connection that began and was not in the part of the table that was read', () => {
  const entry: EntryLiteral = { id: 1, to: one.to, from: one.from };

  test('was dropped if the table does not have it', async () => {
    expect(
      await bed([{ ...one, packets: 1 }], {
        entries: [
          { ...entry, port: 81 },
          { ...entry, from: '10.1.0.2' },
        ],
      }).find(false),
    ).toHaveLength(1);
    expect(await bed([one], { entries: [entry] }).find(false)).toEqual([]);
    const ipv6: Element = { ...one, to: '2001:db8::1', from: 'fd10::1' };
    expect(await bed([ipv6], { entries: [{ id: 1, to: ipv6.to, from: ipv6.from }] }).find(false)).toEqual([]);
  });

  test('is not searched for when others like it were answered lately, and only a few are', async () => {
    const many = Array.from({ length: 20 }, (_, index) => ({ ...one, from: `10.1.0.${index + 1}` }));
    const answered = bed(many, { isAnswered: true });
    expect(await answered.find(false)).toEqual([]);
    expect(answered.asked.listings).toBe(0);
    const { asked, find } = bed(many);
    await find(false);
    expect(asked.listings).toBe(droppedListings);
  });
});

test('without our tables nothing began, and other errors are passed on', async () => {
  const failing = (code: number): NetlinkSocket => ({
    ...kernelSocket([], [], { listings: 0 }),
    send: async () => {
      throw new NetlinkError('listing', code);
    },
  });
  expect((await begunConnections(new VirtualClock())(failing(2))).size).toBe(0);
  await expect(begunConnections(new VirtualClock())(failing(1))).rejects.toBeInstanceOf(NetlinkError);
});
