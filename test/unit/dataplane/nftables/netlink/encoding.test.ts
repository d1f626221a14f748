import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { affinityLadder, allSets, type SetName } from '../../../../../src/dataplane/ruleset/layout.ts';
import { Batch, netfilterHeaderBytes } from '../../../../../src/dataplane/nftables/netlink/batch.ts';
import { ChangeReader } from '../../../../../src/dataplane/nftables/netlink/change-reader.ts';
import { elementListAttributes, messages } from '../../../../../src/dataplane/nftables/netlink/constants.ts';
import { beginElements, writeElements } from '../../../../../src/dataplane/nftables/netlink/elements/element-messages.ts';
import { writeData } from '../../../../../src/dataplane/nftables/netlink/elements/entry-form.ts';
import { register } from '../../../../../src/dataplane/nftables/netlink/rules/expressions.ts';
import { attributeText, parseSetElements, readElements } from '../../../../../src/dataplane/nftables/netlink/elements/entries.ts';
import { appendElements } from '../../../../../src/dataplane/nftables/netlink/elements/packed-entries.ts';
import { hasAttributes } from '../../../../../src/dataplane/nftables/netlink/rules/same-attributes.ts';
import { compileRule } from '../../../../../src/dataplane/nftables/netlink/rules/rule-compiler.ts';
import { readDeclaration, typeLength, typeNumber } from '../../../../../src/dataplane/nftables/netlink/rules/set-declaration.ts';
import { verdictContent, writeRemoval, writeSkeleton } from '../../../../../src/dataplane/nftables/netlink/skeleton-messages.ts';
import { ElementList, PackedSet } from '../../../../../src/dataplane/ruleset/element-list.ts';
import { elementFromText } from '../../../../support/commands/element-from-text.ts';
import { keyText } from '../../../../../src/dataplane/ruleset/element-text.ts';
import type { Element } from '../../../../../src/dataplane/ruleset/element.ts';
import type { TableChange } from '../../../../../src/dataplane/nftables/executor.ts';
import { skeleton } from '../../../../../src/dataplane/ruleset/skeleton.ts';
import { TimeSlice } from '../../../../../src/system/time-slice.ts';
import { listAttributes, readAttributes } from '../../../../../src/system/netlink/attributes.ts';
import { MalformedNetlink } from '../../../../../src/system/netlink/error.ts';
import { messageHeaderBytes, readMessages, type Message } from '../../../../../src/system/netlink/message.ts';
import { MessageWriter } from '../../../../../src/system/netlink/message-writer.ts';
import { VirtualClock } from '../../../../../src/system/virtual-clock.ts';
import { elementTexts as texts, randomElements } from './random-elements.ts';
import { runs } from '../../../../support/property.ts';

const hex = (octets: string): string => Buffer.from(octets, 'latin1').toString('hex');
const octets = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const families = [4, 6] as const;

async function batchOf(fill: (batch: Batch) => void | Promise<void>): Promise<readonly Message[]> {
  const batch = new Batch(1);
  await fill(batch);
  return readMessages(batch.end().datagram);
}

/** Reads the elements of a batch as if the kernel listed them. */
function readBack(sent: readonly Message[], family: 4 | 6): Element[] {
  const bySet = new Map<string, ReturnType<typeof parseSetElements>>();
  const lists = sent.filter(({ type }) => type === messages.newElement);
  const jumps = new ElementList();
  for (const { payload } of lists) {
    const attributes = payload.subarray(netfilterHeaderBytes);
    const set = [...allSets.keys()].find((name) => Buffer.from(attributes).includes(`\0${name}\0`)) ?? '';
    if (allSets.get(set as SetName)?.value?.[0] === 'chain') {
      const packed = new PackedSet(family, set as SetName);
      expect(appendElements(attributes, packed)).toBe(true);
      jumps.append(packed);
      continue;
    }
    bySet.set(set, [...(bySet.get(set) ?? []), ...parseSetElements(attributes)]);
  }
  const elements = new ElementList();
  for (const [set, entries] of bySet) expect(readElements(family, set as SetName, entries, elements)).toBe(true);
  return [...elements, ...jumps];
}

const turn = new TimeSlice(new VirtualClock());
const adding = (elements: Iterable<Element>): Promise<readonly Message[]> =>
  batchOf((batch) => writeElements(batch, 'add', ElementList.of(elements), turn));

describe('netlink elements', () => {
  test.each(families)('IPv%i elements of every set are read back as they were written', async (family) => {
    const elements = randomElements(family, 200);
    const sent = await adding(elements);
    expect(texts(readBack(sent, family))).toEqual(texts(elements));
  });

  test.each(families)('IPv%i elements are read into packed sets as they were written', async (family) => {
    const elements = randomElements(family, 200).filter(({ set }) => allSets.get(set)?.interval === undefined);
    for (const set of new Set(elements.map((each) => each.set))) {
      const written = elements.filter((each) => each.set === set);
      const read = new PackedSet(family, set);
      for (const { type, payload } of await adding(written))
        if (type === messages.newElement) expect(appendElements(payload.subarray(netfilterHeaderBytes), read)).toBe(true);
      expect(ElementList.of(written).packed(family, set)?.equals(read)).toBe(true);
    }
  });

  test('an element of another shape is refused, and so are random octets', async () => {
    const [, message] = await adding([elementFromText(4, 'frontends', '192.0.2.1 . tcp . 80', '3:2')]);
    const attributes = message?.payload.subarray(netfilterHeaderBytes) ?? new Uint8Array();
    expect(appendElements(attributes, new PackedSet(4, 'frontends'))).toBe(true);
    for (const [family, set] of [
      [6, 'frontends'],
      [4, 'backends'],
      [4, 'echo'],
    ] as const)
      expect(appendElements(attributes, new PackedSet(family, set))).toBe(false);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (octets) => {
        const packed = new PackedSet(4, 'cluster_ips');
        try {
          if (!appendElements(octets, packed)) expect(packed.length).toBe(0);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedNetlink);
        }
      }),
    );
  });

  test('many elements become several messages, each within the length of an attribute', async () => {
    const elements = Array.from({ length: 3_000 }, (_, port) => elementFromText(6, 'frontends', `fd00::1 . tcp . ${port + 1}`, '1:1'));
    const sent = await adding(elements);
    expect(sent.length).toBeGreaterThan(4);
    expect(Math.max(...sent.map(({ payload }) => payload.length))).toBeLessThan(0xffff);
    expect(texts(readBack(sent, 6))).toEqual(texts(elements));
  });

  test("a map element is encoded in the kernel's octets", async () => {
    const element = elementFromText(4, 'frontends', '192.0.2.1 . tcp . 80', '3:2');
    const [, message] = await adding([element]);
    const entry = parseSetElements(message?.payload.subarray(netfilterHeaderBytes) ?? new Uint8Array())[0];
    // Protocol and port each begin a new word. A class is in the machine's byte order.
    expect([hex(entry?.key ?? ''), hex(entry?.value ?? '')]).toEqual(['c00002010600000000500000', '02000300']);
  });

  test('a prefix ends before the next key, and the very last one has no end', async () => {
    const prefixes = ['10.0.0.0/8', '11.0.0.0/8', '255.0.0.0/8', '198.51.100.7'];
    const elements = prefixes.map((key) => elementFromText(4, 'pod_prefixes', key));
    const sent = await adding(elements);
    expect(parseSetElements(sent[1]?.payload.subarray(netfilterHeaderBytes) ?? new Uint8Array())).toHaveLength(7);
    expect(texts(readBack(sent, 4))).toEqual(texts(elements));
  });

  test('a range that is no prefix is read as a range', () => {
    const elements = new ElementList();
    const entries = [
      { key: '\x0a\0\0\x01', flags: 0 },
      { key: '\x0a\0\0\x04', flags: 1 },
    ];
    expect(readElements(4, 'pod_prefixes', entries, elements)).toBe(true);
    expect(texts(elements)).toEqual(['4 pod_prefixes 10.0.0.1-10.0.0.3']);
  });

  test.each([
    ['192.0.2.1 . tcp', 'does not have 3 fields'],
    ['fd00::1 . tcp . 80', 'no IPv4 address'],
    ['192.0.2.1 . icmp . 80', 'no protocol'],
    ['192.0.2.1 . tcp . 65536', 'no port'],
    ['192.0.2.x . tcp . 80', 'no IPv4 address'],
    ['192.0.256.1 . tcp . 80', 'no IPv4 address'],
    ['192.0.2 . tcp . 80', 'no IPv4 address'],
    ['192.0.2.1.1 . tcp . 80', 'no IPv4 address'],
  ])('the key %s is refused', (key, why) => {
    expect(() => elementFromText(4, 'restricted', key)).toThrow(why);
  });

  test('listed octets either have a text or are rejected as elements', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 40 }),
        fc.uint8Array({ maxLength: 20 }),
        fc.constantFrom(...allSets.keys()),
        fc.constantFrom(...families),
        (key, value, set, family) => {
          const elements = new ElementList();
          const entry = { key: octets(key), value: octets(value), flags: 0 };
          if (readElements(family, set, [entry], elements)) expect(texts(elements)).toHaveLength(1);
          else expect(elements.size).toBe(0);
        },
      ),
    );
  });
});

describe('netlink errors', () => {
  test('the faulty attribute is traced to its element', async () => {
    const elements = randomElements(4, 900).filter(({ set }) => set === 'backends' || set === 'service_prefixes');
    const batch = new Batch(40);
    await writeElements(batch, 'add', ElementList.of(elements), turn);
    const { datagram } = batch.end();
    const wanted = elements.filter(({ set }) => set === 'backends')[600];
    if (wanted === undefined) throw new Error('too few elements');
    const at = Buffer.from(datagram).indexOf(wanted.key, 0, 'latin1');
    let start = 0;
    let sequence = 40;
    for (const { payload } of readMessages(datagram)) {
      const length = messageHeaderBytes + payload.length;
      if (at < start + length) break;
      start += length;
      sequence++;
    }
    // The kernel points to the element. Two headers are before the octets of its key's value: those of the element and of the value,
    // together twelve octets.
    expect(batch.describe(sequence, at - start - 12)).toBe(`element ${keyText(wanted)} of ip herald backends`);
    expect(batch.describe(sequence, undefined)).toBe('elements of ip herald backends');
    expect(batch.describe(40, undefined)).toBe('the transaction');
  });
});

describe('skeleton messages', () => {
  test.each(families)('IPv%i: a removal creates the table first, so that it succeeds where there is none', async (family) => {
    const sent = await batchOf((batch) => writeRemoval(batch, family));
    const about = sent.filter(({ type }) => type === messages.newTable || type === messages.delTable);
    expect(about.map(({ type }) => type)).toEqual([messages.newTable, messages.delTable]);
    // NLM_F_CREATE without NLM_F_EXCL: an existing table is no error.
    expect((about[0]?.flags ?? 0) & 0x600).toBe(0x400);
  });

  test.each(families)('IPv%i: every rule, set and chain can be compiled', async (family) => {
    const wanted = skeleton(family, 14);
    let id = 0;
    const sent = await batchOf((batch) => writeSkeleton(batch, wanted, 0, () => ++id, turn));
    const count = (type: number): number => sent.filter((message) => message.type === type).length;
    expect(count(messages.newChain)).toBe(wanted.chains.size);
    expect(count(messages.newRule)).toBe([...wanted.chains.values()].reduce((sum, { rules }) => sum + rules.length, 0));
    expect(count(messages.newSet)).toBe(id);
    expect(count(messages.newSet)).toBeGreaterThanOrEqual(wanted.sets.size + wanted.maps.size + wanted.verdicts.size);
  });

  test('every verdict is written with its own key', async () => {
    const wanted = skeleton(4, 14);
    const sent = await batchOf((batch) => writeSkeleton(batch, wanted, 0, () => 1, turn));
    const lists = sent.filter(({ type }) => type === messages.newElement).map(({ payload }) => payload.subarray(netfilterHeaderBytes));
    for (const [name, verdicts] of wanted.verdicts) {
      const list = lists.find((attributes) => attributeText(readAttributes(attributes), elementListAttributes.set) === name);
      const entries = listAttributes(readAttributes(list ?? new Uint8Array()).get(elementListAttributes.elements) ?? new Uint8Array());
      expect(entries).toHaveLength(verdicts.size);
      const written = [...verdicts].filter(([key, verdict], index) =>
        hasAttributes(entries[index]?.value ?? new Uint8Array(), verdictContent(key, verdict)),
      );
      expect(written).toHaveLength(verdicts.size);
    }
  });

  test('a rule is compiled to expressions in order of execution', () => {
    const names = (rule: string, family: 4 | 6 = 4): string =>
      compileRule(rule, family, () => 1)
        .expressions.map(({ name }) => name)
        .join(' ');
    expect(names('meta priority set ip daddr . meta l4proto . th dport map @frontends meta priority vmap @kinds')).toBe(
      'payload meta payload lookup meta meta lookup',
    );
    expect(names('ct state new jump undelivered')).toBe('ct bitwise cmp immediate');
    expect(names('meta mark and 0x4000 != 0 meta mark set meta mark xor 0x4000 masquerade fully-random')).toBe(
      'meta bitwise cmp meta bitwise meta masq',
    );
    expect(names('icmp type echo-request dnat to ip daddr map @echo')).toBe('meta cmp payload cmp payload lookup nat');
    expect(names('icmpv6 type packet-too-big ip6 daddr @direct_addresses jump errors_on', 6)).toBe(
      'meta cmp payload cmp payload lookup immediate',
    );
    expect(names('limit rate over 100/second burst 100 packets return')).toBe('limit immediate');
    expect(names('meta priority set 0:1 dup to meta priority map @error_receivers')).toBe('immediate meta meta lookup dup');
    expect(names('meta priority set 0:1 dup to meta priority map @error_tunnels device 7')).toBe(
      'immediate meta meta lookup immediate dup',
    );
    expect(names('meta l4proto tcp meta priority set ct original ip daddr . meta l4proto . ct original proto-dst map @ids')).toBe(
      'meta cmp ct meta ct lookup meta',
    );
    expect(names('meta priority and 0xfc000000 vmap @timeouts')).toBe('meta bitwise lookup');
    expect(names('iifname "cali*" return')).toBe('meta cmp immediate');
    expect(names('update @entered { iif counter }')).toBe('meta dynset');
    expect(names('fib saddr type local goto x')).toBe('fib cmp immediate');
    expect(names('update @affinity { jhash ip6 saddr mod 7 seed 0x1 timeout 5s : meta priority } return', 6)).toBe(
      'payload hash meta dynset immediate',
    );
  });

  // The output of "nft --debug=netlink" for the same rule: [ immediate reg 1 0x00008205 ] [ exthdr write tcpopt reg 1 => 2b @ 2 + 2 ].
  test('the largest segment is written to the TCP option in network byte order', () => {
    const { expressions } = compileRule('tcp option maxseg size set 1410', 4, () => 1);
    expect(expressions.map(({ name }) => name)).toEqual(['immediate', 'exthdr']);
    expect(expressions[0]?.attributes).toEqual([
      [1, register(0)],
      [2, [[1, Uint8Array.of(0x05, 0x82)]]],
    ]);
    expect(expressions[1]?.attributes).toEqual(
      expect.arrayContaining([
        [2, Uint8Array.of(2)],
        [3, 2],
        [4, 2],
      ]),
    );
  });

  // The output of "nft --debug=netlink" for the same rule: jhash(reg 2, 8, 0x68657261) % mod 1021 into reg 1, and so on.
  test.each([
    [4, 'ip saddr . th sport', 8],
    [4, 'ip saddr', 4],
    [6, 'ip6 saddr . th sport', 20],
    [6, 'ip6 saddr', 16],
  ] as const)('IPv%i: the hash of %s covers %i octets from register 2 and goes to register 1', (family, source, length) => {
    const compiled = compileRule(`meta priority set jhash ${source} mod 1021 seed 0x68657261`, family, () => 1);
    const [load, ...rest] = compiled.expressions;
    expect(load).toMatchObject({ name: 'payload', attributes: expect.arrayContaining([[1, 2]]) as unknown });
    expect(rest.find(({ name }) => name === 'hash')?.attributes.slice(0, 5)).toEqual([
      [1, 2],
      [2, 1],
      [3, length],
      [4, 1021],
      [5, 0x68657261],
    ]);
    const port = rest.find(({ name }) => name === 'payload');
    expect(port?.attributes[0]).toEqual(length === 8 ? [1, 13] : length === 20 ? [1, 3] : undefined);
  });

  test.each(['quota', 'ip saddr 10.0.0.1 accept', 'meta priority set', 'ip6 saddr @x drop', 'limit rate 1/second', 'th dport { 80 }'])(
    'the compiler throws for a rule that it does not know: %s',
    (rule) => {
      expect(() => compileRule(rule, 4, () => 1)).toThrow('cannot be compiled');
    },
  );

  test('registers have the numbers in which the kernel lists them', () => {
    expect([0, 4, 8, 12, 16, 20, 32].map(register)).toEqual([1, 9, 10, 11, 2, 13, 3]);
  });

  test('set declarations are parsed, and unknown clauses throw', () => {
    const affinity = readDeclaration('type ipv4_addr . inet_proto : classid ; size 10 ; flags dynamic,timeout ; timeout 1d ;');
    expect(affinity).toEqual({ flags: 0x38, key: ['ipv4_addr', 'inet_proto'], value: ['classid'], size: 10, timeout: 86_400_000 });
    expect([typeNumber(affinity.key), typeLength(affinity.key)]).toEqual([(7 << 6) | 12, 8]);
    expect(() => readDeclaration('type ether_type ;')).toThrow('unknown type of a set: ether_type');
    expect(() => readDeclaration('type mark ; counter ;')).toThrow('unknown clause of a set: counter');
    expect(affinityLadder.length).toBeGreaterThan(0);
  });
});

describe('netlink events', () => {
  const ownPort = 4_711;
  const generation: Message = { type: messages.newGeneration, flags: 0, sequence: 1, port: 0, payload: new Uint8Array(4) };

  /** An event for elements of a set in a table. */
  function event(family: number, table: string, set: string, key: Uint8Array): Message {
    const writer = new MessageWriter();
    const start = writer.beginMessage({ type: messages.newElement, flags: 0, sequence: 1 });
    writer.raw(Uint8Array.of(family, 0, 0, 0));
    if (table === 'herald') {
      const list = beginElements(writer, set);
      const entry = writer.beginNested(1);
      writeData(writer, 1, key);
      writer.endNested(entry);
      writer.endNested(list);
    } else {
      writer.textAttribute(1, table);
    }
    writer.endMessage(start);
    return readMessages(writer.bytes())[0] ?? generation;
  }

  function changes(...events: readonly Message[]): TableChange[] {
    const found: TableChange[] = [];
    const reader = new ChangeReader((change) => found.push(change), ownPort);
    for (const message of events) reader.read(message);
    return found;
  }

  test('a transaction on our tables is one change with its revisions', () => {
    const ours = [
      event(2, 'herald', 'frontends', new Uint8Array(12)),
      event(2, 'herald', 'revision', Uint8Array.of(7, 1, 0, 0)),
      generation,
    ];
    expect(changes(...ours)).toEqual([{ revisions: [263], what: 'newElement in ip herald' }]);
    expect(changes(event(10, 'herald', 'frontends', new Uint8Array(24)), generation)).toEqual([
      { revisions: [], what: 'newElement in ip6 herald' },
    ]);
  });

  test('a transaction of the own socket counts by its revision, and is a reading without one', () => {
    const own = (message: Message): Message => ({ ...message, port: ownPort });
    const added = own(event(2, 'herald', 'backends', new Uint8Array(16)));
    expect(changes(added, generation)).toEqual([]);
    expect(changes(added, own(event(2, 'herald', 'revision', Uint8Array.of(7, 0, 0, 0))), generation)).toMatchObject([{ revisions: [7] }]);
    expect(changes(added, generation, event(2, 'herald', 'backends', new Uint8Array(16)), generation)).toHaveLength(1);
  });

  test('other tables, other families and a transaction without an end are no change', () => {
    expect(changes(event(2, 'kube-proxy', '', new Uint8Array()), generation)).toEqual([]);
    expect(changes(event(1, 'herald', 'x', new Uint8Array(4)), generation)).toEqual([]);
    expect(changes(event(2, 'herald', 'frontends', new Uint8Array(12)))).toEqual([]);
  });

  test('random octets of an event are read or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), fc.constantFrom(...Object.values(messages)), (payload, type) => {
        try {
          changes({ ...generation, type, payload }, generation);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedNetlink);
        }
      }),
      { numRuns: runs(3_000) },
    );
  });
});
