import fc from 'fast-check';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ConnectionSample } from '../../../../src/dataplane/conntrack/connection-sample.ts';
import { watchConnections, type WatchHandlers } from '../../../../src/dataplane/conntrack/connection-watch.ts';
import { readFlow } from '../../../../src/dataplane/conntrack/flow-messages.ts';
import { endedOutcomeOf, outcomeOf, type Timeouts } from '../../../../src/dataplane/conntrack/flow-outcome.ts';
import type { Begun } from '../../../../src/dataplane/conntrack/dropped-connections.ts';
import { LookBudget } from '../../../../src/dataplane/conntrack/look-budget.ts';
import { FlowReader, pairKey } from '../../../../src/dataplane/conntrack/flow-reader.ts';
import {
  askedFactor,
  endedPause,
  endedPerSecond,
  longestDebt,
  lookPause,
  pauseFactor,
  sampledConnections,
} from '../../../../src/dataplane/conntrack/limits.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import type { ObservedConnection } from '../../../../src/net/observed-connection.ts';
import { MalformedNetlink, NetlinkError } from '../../../../src/system/netlink/error.ts';
import { readMessages } from '../../../../src/system/netlink/message.ts';
import { MessageWriter } from '../../../../src/system/netlink/message-writer.ts';
import type { NetlinkOptions, NetlinkSocket } from '../../../../src/system/netlink/socket.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { runs } from '../../../support/property.ts';
import { listOf, writeEntry, type EntryLiteral } from './tracked-entry.ts';

const timeouts: Timeouts = {
  tcp: [Number.NaN, 120, 60, 432_000, 120, 60, 30, 120, 10],
  unacknowledged: 300,
  unacknowledgedLeast: 300,
  udp: 30,
  udpStream: 120,
};
const translated = 0x20;

function payloadOf(literal: EntryLiteral): Uint8Array {
  const writer = new MessageWriter();
  writeEntry(writer, literal);
  return readMessages(writer.bytes())[0]?.payload ?? new Uint8Array();
}

function read(literal: EntryLiteral): FlowReader {
  const reader = new FlowReader();
  const payload = payloadOf(literal);
  reader.read(payload, 4, payload.length);
  return reader;
}

describe('the reader of entries', () => {
  test('reads what the reader of single flows reads, over both families', () => {
    for (const literal of [
      { id: 7 },
      { id: 0xffff_ffff, protocol: 'UDP', state: 0, port: 53 },
      { id: 1, to: '2001:db8::1', from: 'fd10::1', secondsLeft: 5 },
    ] satisfies EntryLiteral[]) {
      const reader = read(literal);
      const flow = readFlow(payloadOf(literal));
      expect(reader.isComplete).toBe(true);
      expect([formatAddress(reader.destination), formatAddress(reader.endpoint)]).toEqual(
        [flow?.destination, flow?.replySource].map((one) => one && formatAddress(one)),
      );
      expect([reader.protocol, reader.port, reader.endpointPort, reader.secondsLeft]).toEqual([
        flow?.protocol,
        flow?.port,
        flow?.replyPort,
        flow?.secondsLeft,
      ]);
      expect(reader.id).toBe(literal.id);
      expect(formatAddress(reader.client)).toBe('to' in literal ? '2001:db8::9' : '198.51.100.9');
    }
  });

  test('refuses octets that do not fit, and forgets the entry before', () => {
    const reader = new FlowReader();
    const whole = payloadOf({ id: 7 });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 8 }), fc.nat(whole.length), (changes, length) => {
        const payload = Uint8Array.from(whole);
        for (const [at, octet] of changes) payload[at] = octet;
        try {
          reader.read(payload.subarray(0, length), 4, length);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedNetlink);
        }
      }),
      { numRuns: runs(10_000) },
    );
    reader.read(new Uint8Array(), 0, 0);
    expect(reader.isComplete).toBe(false);
  });
});

test.each([
  [{ state: 7, secondsLeft: 100 }, 'answered 20', 'used 20'],
  [{ state: 3, secondsLeft: 431_990 }, 'answered 10', 'used 10'],
  // Data is not acknowledged: one end may be gone.
  [{ state: 3, secondsLeft: 290 }, 'answered 431710', undefined],
  [{ state: 1, status: translated, secondsLeft: 118 }, 'silent 2', 'silent 2'],
  [{ state: 1, status: translated, secondsLeft: 119 }, undefined, undefined],
  // The endpoint has answered, and the client has not.
  [{ state: 2, status: translated | 2, secondsLeft: 57 }, 'unfinished 3', 'unfinished 3'],
  [{ state: 2, status: translated | 2, secondsLeft: 59 }, undefined, undefined],
  [{ state: 3, status: translated | 2, secondsLeft: 200 }, undefined, undefined],
  // In the middle of a connection from another node: replies may go another way.
  [{ state: 3, status: translated, secondsLeft: 200 }, undefined, undefined],
  [{ protocol: 'UDP', state: 0, status: translated, secondsLeft: 10 }, undefined, undefined],
  [{ protocol: 'UDP', state: 0, secondsLeft: 110 }, 'answered 10', 'used 10'],
  [{ protocol: 'UDP', state: 0, status: translated | 2, secondsLeft: 25 }, 'answered 5', 'used 5'],
  [{ protocol: 'SCTP', state: 4 }, 'answered 0', 'used 0'],
  [{ protocol: 'SCTP', state: 1 }, undefined, undefined],
  // A timeout was lowered since.
  [{ state: 7, secondsLeft: 200 }, 'answered 0', undefined],
] as const)('an entry %o is judged', (literal, ifNew, ifOld) => {
  const text = (isNew: boolean): string | undefined => {
    const found = outcomeOf(read({ id: 1, ...literal }), isNew, timeouts);
    return found === undefined ? undefined : `${found.outcome} ${found.quietSeconds}`;
  };
  expect([text(true), text(false)]).toEqual([ifNew, ifOld]);
});

test.each([
  [{ state: 8, secondsLeft: 120 }, 'refused'],
  [{ state: 8, secondsLeft: 119 }, 'refused'],
  // In the middle of a connection from another node.
  [{ state: 8, secondsLeft: 300 }, undefined],
  // By the client, which had waited.
  [{ state: 8, secondsLeft: 117 }, undefined],
  [{ state: 1, secondsLeft: undefined }, 'silent'],
  [{ state: 1, secondsLeft: 0 }, 'silent'],
  // Deleted by a program.
  [{ state: 1, secondsLeft: 60 }, undefined],
  [{ state: 7, secondsLeft: undefined, status: translated | 2 }, undefined],
  [{ protocol: 'UDP', state: 0, secondsLeft: undefined }, undefined],
] as const)('a deleted entry %o is judged', (literal, outcome) => {
  expect(endedOutcomeOf(read({ id: 1, status: translated, ...literal }), timeouts)?.outcome).toBe(outcome);
});

test('nothing is called refused where the kernel has equal times for both kinds of reset', () => {
  const reader = read({ id: 1, status: translated, state: 8, secondsLeft: 120 });
  expect(endedOutcomeOf(reader, { ...timeouts, unacknowledged: 120 })).toBeUndefined();
});

/** A socket that has these datagrams. */
function socketOf(datagrams: readonly Uint8Array[], closed: () => void = () => undefined): NetlinkSocket {
  const waiting = [...datagrams];
  return {
    fd: -1,
    port: 1,
    send: async () => undefined,
    receive: () => waiting.shift(),
    receiveInThread: async () => waiting.shift(),
    setMembership: () => true,
    close: closed,
  };
}

describe('a look', () => {
  const look = async (sample: ConnectionSample, entries: readonly EntryLiteral[]): Promise<string[]> =>
    (await sample.look(socketOf(listOf(entries)), timeouts)).connections.map(({ outcome, id }) => `${outcome} ${id}`).toSorted();
  const many = (first: number, count: number): EntryLiteral[] =>
    Array.from({ length: count }, (_, index) => ({ id: first + index, port: 81 }));

  test('calls a connection new only in the part of the table that the last look saw', async () => {
    const sample = new ConnectionSample(new VirtualClock());
    const others = many(1_000, sampledConnections + 100);
    const before = await look(sample, others);
    expect(before).toHaveLength(1);
    // The first is among the known ones. The second is behind the last known one.
    const late = others.toSpliced(3, 2).slice(0, sampledConnections - 2);
    const after = await look(sample, [...late.slice(0, 10), { id: 1 }, ...late.slice(10), { id: 2, port: 82 }]);
    expect(after.filter((one) => /^\w+ [12]$/.test(one))).toEqual(['answered 1', 'used 2']);
  });

  test('calls a connection new after a look at the whole table, and one that got its answer since', async () => {
    const sample = new ConnectionSample(new VirtualClock());
    const waiting = { id: 3, port: 83, state: 1, status: translated };
    await look(sample, [{ id: 1 }, { ...waiting, secondsLeft: 100 }]);
    expect(await look(sample, [{ id: 1 }, { ...waiting, state: 3, status: 0x26, secondsLeft: 431_999 }, { id: 2 }])).toEqual([
      'answered 2',
      'answered 3',
      'used 1',
    ]);
  });

  test('never calls a connection new again that was stuck meanwhile', async () => {
    const sample = new ConnectionSample(new VirtualClock());
    const stuck = { id: 1, port: 90, state: 3, secondsLeft: 200 };
    await look(sample, [stuck, { id: 2 }]);
    expect(await look(sample, [stuck, { id: 2 }])).toEqual(['used 2']);
    expect(await look(sample, [{ ...stuck, secondsLeft: 431_999 }, { id: 2 }])).toEqual(['used 1', 'used 2']);
  });

  test('reads no more than its bound and ignores connections that are not translated', async () => {
    const sample = new ConnectionSample(new VirtualClock());
    expect(await look(sample, [{ id: 1, status: 0x6 }])).toEqual([]);
    const found = await look(sample, [...many(1, sampledConnections), { id: 9, port: 82, state: 1, status: translated, secondsLeft: 1 }]);
    expect(found).toEqual([expect.stringMatching(/^(answered|used) /)]);
  });

  test('fails when the end of the list is missing', async () => {
    const sample = new ConnectionSample(new VirtualClock());
    await expect(sample.look(socketOf(listOf([{ id: 1 }]).slice(0, 1)), timeouts)).rejects.toBeInstanceOf(MalformedNetlink);
  });
});

/** A watch on a virtual clock. Each look takes `cost` milliseconds of processor time. */
function bed({ cost = 10, events = (): Uint8Array[] => [], count = '5', begun = [] as readonly Begun[] } = {}) {
  const clock = new VirtualClock();
  const state = {
    used: 0,
    looks: 0,
    lists: 0,
    joined: 0,
    left: 0,
    awaited: new Set<number>(),
    onLook: (): void => undefined,
    refusal: undefined as string | undefined,
    ended: [] as ObservedConnection[],
    looked: [] as ObservedConnection[],
  };
  const blind: (string | undefined)[] = [];
  const settings: Readonly<Record<string, string>> = { nf_conntrack_count: count, nf_conntrack_events: '2' };
  const readSetting = async (path: string): Promise<string | undefined> => {
    const name = path.replace('net/netfilter/', '');
    return settings[name] ?? (name.includes('syn_sent') ? '120' : '300');
  };
  const open = (options: NetlinkOptions): NetlinkSocket => {
    if (state.refusal !== undefined) throw new NetlinkError('opening', 1);
    if (options.groups !== undefined) {
      state.joined++;
      return socketOf(events(), () => state.left++);
    }
    const socket = socketOf([]);
    let list: NetlinkSocket | undefined;
    const send = async (): Promise<void> => {
      state.looks++;
      state.onLook();
      state.used += cost;
      clock.advance(cost);
      list = socketOf(listOf([{ id: state.looks }]));
    };
    return { ...socket, send, receiveInThread: async () => list?.receiveInThread() };
  };
  const handlers: WatchHandlers = {
    ended: (connections) => state.ended.push(...connections),
    looked: ({ connections }) => state.looked.push(...connections),
    blind: (why) => blind.push(why),
    spent: () => undefined,
    isAnswered: () => false,
    isAwaited: ({ port }) => state.awaited.has(port),
  };
  const listBegun = async (): Promise<Map<string, Begun>> => {
    // After the step of the clock that began it.
    await setImmediate();
    state.lists++;
    state.used += cost / 20;
    clock.advance(cost / 20);
    return new Map(begun.map((one) => [pairKey(one.pair), one]));
  };
  const watch = watchConnections({ clock, listBegun, readSetting, processorMilliseconds: () => state.used, open })(handlers);
  /** The work is by promises, between steps of the clock. */
  const advance = async (milliseconds: number, step = 1_000, each: () => void = () => undefined): Promise<void> => {
    for (let passed = 0; passed < milliseconds; passed += step) {
      clock.advance(step);
      each();
      for (let turns = 0; turns < 3; turns++) await setImmediate();
    }
  };
  return { clock, state, blind, watch, advance };
}

describe('the budget of looks', () => {
  test('counts a look as twice the one before at most, because other work of the process takes time as well', () => {
    const budget = new LookBudget(0);
    const pauses = [60, 10, 500, 500, 500, 500].map((spent, index) => {
      budget.note({ began: budget.regular, ended: index * 1_000_000, spent });
      return budget.regular - budget.ended;
    });
    expect(pauses).toEqual([40_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  });

  test('begins six looks in a row that are asked for, and then those of the other budget', () => {
    const budget = new LookBudget(1_000_000);
    let now = 0;
    const times = Array.from({ length: 20 }, () => {
      now = Math.min(budget.asked(now), budget.regular);
      budget.note({ began: now, ended: now, spent: 10 });
      return now;
    });
    expect(times.slice(0, 6)).toEqual([0, 3_000, 6_000, 9_000, 12_000, 15_000]);
    // The others come meanwhile.
    expect((times[19] ?? 0) - (times[18] ?? 0)).toBeGreaterThanOrEqual(lookPause);
  });
});

describe('the watch', () => {
  test('looks soon after the start, then as often as its looks are cheap', async () => {
    const { state, watch, advance } = bed();
    await advance(4_000);
    expect(state.looks).toBe(1);
    await advance(600_000);
    // 10.5 ms of work each 21 s.
    expect(state.looks).toBeGreaterThanOrEqual(27);
    expect(state.looks).toBeLessThanOrEqual(31);
    watch.stop();
    const { looks } = state;
    await advance(60_000);
    expect(state.looks).toBe(looks);
  });

  test.each([1, 10, 29])('costs less than a thousandth of a core when looks of %i ms are asked for all the time', async (cost) => {
    const { state, watch, advance } = bed({ cost });
    await advance(180_000);
    const { looks, used } = state;
    watch.awaitConnections(true);
    watch.lookSoon();
    await advance(4_000);
    expect(state.looks - looks).toBe(1);
    const hour = 3_600_000;
    await advance(hour, 1_000, () => watch.lookSoon());
    // The debt is that of one hour only.
    expect(state.used - used - longestDebt / askedFactor).toBeLessThan((hour + 4_000) / 1_000);
    expect(state.looks - looks).toBeGreaterThan(hour / (cost * pauseFactor + 3_000));
  });

  test('looks every minute at least although its looks seem to take long, also after one that is asked for', async () => {
    const { state, watch, advance } = bed({ cost: 500 });
    await advance(600_000);
    expect(state.looks).toBeGreaterThanOrEqual(9);
    const { looks } = state;
    await advance(600_000, 1_000, () => watch.lookSoon());
    expect(state.looks - looks).toBeGreaterThanOrEqual(9);
  });

  test('looks at the time for which it was asked, also if it was asked during a look', async () => {
    const { clock, state, watch, advance } = bed();
    await advance(4_000);
    watch.lookSoon(clock.now() + 8_000);
    await advance(7_000);
    expect(state.looks).toBe(1);
    await advance(2_000);
    expect(state.looks).toBe(2);
    state.onLook = () => watch.lookSoon();
    await advance(21_000);
    expect(state.looks).toBe(3);
    state.onLook = () => undefined;
    await advance(5_000);
    expect(state.looks).toBe(4);
  });

  const webPair = {
    destination: address('192.0.2.1'),
    protocol: 'TCP',
    port: 80,
    endpoint: address('10.1.0.1'),
    endpointPort: 8080,
  } as const;

  test('looks soon after connections begin whose answer would be news, and at a distance while they are not answered', async () => {
    const begun = { pair: webPair, at: 0, packets: 1 };
    const { clock, state, watch, advance } = bed({ cost: 14, begun: [begun] });
    await advance(10_000);
    expect([state.looks, state.lists]).toEqual([1, 1]);
    watch.awaitConnections(true);
    // Once more changes nothing.
    watch.awaitConnections(true);
    await advance(9_000);
    expect([state.looks, state.lists]).toEqual([1, 2]);
    begun.at = clock.now();
    state.awaited.add(80);
    const times = [clock.now()];
    state.onLook = () => void times.push(clock.now());
    await advance(60_000);
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(pauses.length).toBeGreaterThanOrEqual(4);
    expect(pauses[0]).toBeLessThan(9_000);
    for (const pause of pauses.slice(1)) expect(pause > lookPause && pause < lookPause + 8_000).toBe(true);
    watch.awaitConnections(false);
    const { lists, looks } = state;
    await advance(25_000);
    expect([state.looks, state.lists]).toEqual([looks + 1, lists + 1]);
  });

  test('does not look while the table is empty, because that takes the kernel as long', async () => {
    const { state, advance } = bed({ count: '0' });
    await advance(60_000);
    expect(state.looks).toBe(0);
  });

  test.each(['0', '5'])('reports connections that began and that a table of %s entries lacks', async (count) => {
    const pair = {
      destination: address('192.0.2.1'),
      protocol: 'TCP',
      port: 80,
      endpoint: address('10.1.0.1'),
      endpointPort: 8080,
    } as const;
    const begun = [pair, { ...pair, port: 443 }].map((one): Begun => ({ pair: one, at: 1_000, packets: 1 }));
    const { state, advance } = bed({ count, begun });
    await advance(4_000);
    // The entry of the table is one of port 80.
    expect(state.looked.flatMap(({ outcome, port }) => (outcome === 'dropped' ? [port] : []))).toEqual(count === '0' ? [80, 443] : [443]);
  });

  test('asks for no events while very many connections end, and asks again later', async () => {
    const flood = (): Uint8Array[] =>
      Array.from({ length: 2 * endedPerSecond }, (_, id) => {
        const writer = new MessageWriter();
        writeEntry(writer, { id, status: translated, state: 8, secondsLeft: 120 }, 0x102);
        return writer.bytes();
      });
    const { state, advance } = bed({ events: flood });
    await advance(4_000);
    expect(state.ended.length).toBeGreaterThanOrEqual(endedPerSecond);
    expect(state.ended.length).toBeLessThan(2 * endedPerSecond);
    expect([state.joined, state.left]).toEqual([1, 1]);
    await advance(endedPause);
    expect([state.joined, state.left]).toEqual([2, 2]);
  });

  test('tells why it sees nothing, and when it sees again', async () => {
    const { state, blind, advance } = bed();
    await advance(4_000);
    expect(blind.at(-1)).toBeUndefined();
    state.refusal = 'EPERM';
    await advance(60_000);
    expect(blind.at(-1)).toBe('opening: operation not permitted');
    state.refusal = undefined;
    await advance(60_000);
    expect(blind.at(-1)).toBeUndefined();
  });
});
