import { describe, expect, test } from 'vitest';
import { address } from '../../../../src/net/address.ts';
import { probe } from '../../../../src/l2/engine/messages.ts';
import { announcementBurst, announcementsPerSecond, announcementTimes } from '../../../../src/l2/limits.ts';
import { decodeFrame, type Frame } from '../../../../src/l2/wire/frame.ts';
import { allNodes, allRouters } from '../../../../src/l2/wire/multicast.ts';
import { advertisement, arpRequest, mac, solicitation } from '../frames.ts';
import { clientMac, macOf, SegmentBed } from '../segment-bed.ts';

const vip = '192.0.2.10';
const vip6 = '2001:db8::10';

/** One node that holds the addresses, some time after its claim. */
function owner(entry = {}, addresses: readonly string[] = [vip, vip6], nodes = 1): SegmentBed {
  const bed = new SegmentBed({ nodes, addresses, entry });
  bed.clock.advance(5_000);
  return bed;
}

/** Sends a frame of the client, and returns what the node sends within 5 ms. */
function answersTo(bed: SegmentBed, ...frames: readonly Uint8Array[]): Frame[] {
  const since = bed.clock.now();
  for (const frame of frames) bed.client.send('c0', frame);
  bed.clock.advance(5);
  return bed.sent('n0', since);
}

const request = (fields = {}): Uint8Array => arpRequest({ etherSource: clientMac, senderMac: clientMac, ...fields });
const solicit = (fields = {}): Uint8Array => solicitation({ etherSource: clientMac, ...fields });

describe('answers', () => {
  test('L2-1 a request is answered by unicast with our MAC address and the address', () => {
    expect(answersTo(owner(), request())).toMatchObject([
      {
        operation: 'reply',
        etherSource: macOf(0),
        etherDestination: clientMac,
        senderMac: macOf(0),
        sender: address(vip),
        targetMac: clientMac,
        target: address('192.0.2.1'),
      },
    ]);
  });

  test('L2-3 L2-4 a probe and a unicast request are answered', () => {
    const bed = owner();
    expect(answersTo(bed, request({ sender: address('0.0.0.0') }))).toHaveLength(1);
    expect(answersTo(bed, request({ etherDestination: macOf(0) }))).toHaveLength(1);
  });

  test.each([
    ['an address that is not held', request({ target: address('192.0.2.99') })],
    ['a reply', request({ operation: 'reply' })],
    ['an announcement of the sender', request({ sender: address(vip) })],
    ['a request to another host', request({ etherDestination: mac('02:00:00:00:00:77') })],
    ['a request that has our MAC address as its sender', request({ senderMac: macOf(0) })],
    ['a solicitation for an address that is not held', solicit({ target: address('2001:db8::99') })],
    ['an advertisement for another address', advertisement({ etherSource: clientMac, target: address('2001:db8::99') })],
  ])('L2-2 %s is not answered', (_, frame) => {
    expect(answersTo(owner(), frame).filter((answer) => answer.etherDestination === clientMac)).toEqual([]);
  });

  test('L2-15 L2-17 L2-18 solicitations are answered with S=1, O=1, R=0 and our link-layer address', () => {
    const bed = owner();
    const expected = {
      kind: 'advertisement',
      router: false,
      solicited: true,
      override: true,
      targetLink: macOf(0),
      etherDestination: clientMac,
      destination: address('2001:db8::1'),
    };
    for (const frame of [
      solicit({ sourceLink: clientMac }),
      solicit(),
      solicit({ destination: address(vip6), etherDestination: macOf(0) }),
    ]) {
      expect(answersTo(bed, frame)).toMatchObject([expected]);
    }
  });

  test('L2-16 a solicitation without a source is answered to all nodes with S=0', () => {
    expect(answersTo(owner(), solicit({ source: address('::') }))).toMatchObject([
      { solicited: false, override: true, destination: allNodes },
    ]);
  });

  test('L2-31 one host gets at most 1,000 answers a second, and others theirs', () => {
    const bed = owner();
    let answers = 0;
    for (let millisecond = 0; millisecond < 1_000; millisecond += 5)
      answers += answersTo(bed, ...Array.from({ length: 20 }, () => request())).length;
    expect(answers).toBeGreaterThan(990);
    expect(answers).toBeLessThanOrEqual(1_110);
    expect(bed.node(0).engine.counters().ignored.macLimit).toBe(4_000 - answers);
    expect(answersTo(bed, request({ senderMac: mac('02:00:00:00:ff:77') }))).toHaveLength(1);
  });

  test('L2-31 an interface sends at most 10,000 answers a second, however many hosts ask', () => {
    const bed = owner();
    let host = 0;
    let answers = 0;
    for (let millisecond = 0; millisecond < 500; millisecond += 5) {
      answers += answersTo(bed, ...Array.from({ length: 100 }, () => request({ senderMac: 0x0200_0001_0000 + host++ }))).length;
    }
    expect(answers).toBeLessThanOrEqual(6_100);
    expect(answers).toBeGreaterThan(5_000);
    expect(bed.node(0).engine.counters().ignored.interfaceLimit).toBe(10_000 - answers);
  });

  test('L2-31 other nodes learn that the owner lives while clients exceed the limit of the interface', () => {
    const bed = owner({}, [vip], 2);
    bed.segment.delay = () => 0.1;
    const since = bed.clock.now();
    for (let host = 0; host < 1_500; host++) bed.client.send('c0', request({ senderMac: 0x0200_0001_0000 + host }));
    for (let count = 0; count < 20; count++) bed.node(1).transport.send('eth0', probe(address(vip), macOf(1)));
    bed.clock.advance(5);
    expect(bed.node(0).engine.counters().ignored.interfaceLimit).toBeGreaterThan(400);
    expect(bed.sent('n0', since).filter(({ etherDestination }) => etherDestination === macOf(1))).toHaveLength(20);
  });

  test('the status tells who asked last, and how often', () => {
    const bed = owner();
    answersTo(bed, request(), request());
    expect(bed.node(0).engine.status().addresses[0]).toMatchObject({
      state: 'owner',
      requests: 2,
      answers: 2,
      lastRequest: { mac: '02:00:00:00:ff:00' },
      claims: 1,
    });
  });
});

describe('announcements', () => {
  /** Times after the claim at which the node sent frames of this kind. */
  const times = (bed: SegmentBed, which: (frame: Frame) => boolean): number[] => {
    const first = bed.segment.log[0]?.at ?? 0;
    return bed.segment.log.flatMap(({ octets, at }) => {
      const frame = decodeFrame(octets);
      return typeof frame !== 'string' && which(frame) ? [Math.round(at - first)] : [];
    });
  };

  test('L2-7 L2-8 both forms of ARP are sent at 0, 50, 200 ms, 1 and 3 s after the claim', () => {
    const bed = owner({}, [vip]);
    for (const operation of ['request', 'reply']) {
      expect(times(bed, (frame) => frame.kind === 'arp' && frame.operation === operation)).toEqual([...announcementTimes]);
    }
    expect(bed.sent('n0')[0]).toMatchObject({
      etherDestination: 0xffff_ffff_ffff,
      sender: address(vip),
      target: address(vip),
      senderMac: macOf(0),
    });
  });

  test('L2-19 NDP announces to all nodes with O=1 and to all routers with O=0 (RFC 9131), never with S=1', () => {
    const bed = owner({}, [vip6]);
    const to = (group: typeof allNodes, override: boolean): number[] =>
      times(bed, (frame) => frame.kind === 'advertisement' && frame.destination.value === group.value && frame.override === override);
    expect(to(allNodes, true)).toEqual([...announcementTimes]);
    expect(to(allRouters, false)).toEqual([...announcementTimes]);
    expect(bed.sent('n0').every((frame) => frame.kind === 'advertisement' && !frame.solicited && !frame.router)).toBe(true);
  });

  test('L2-8 held addresses are announced again every 60 s, not all at once', () => {
    const addresses = Array.from({ length: 100 }, (_, at) => `192.0.2.${at + 1}`);
    const bed = owner({}, addresses);
    const since = bed.clock.now();
    bed.clock.advance(120_000);
    const seconds = bed.segment.log.filter(({ at }) => at > since).map(({ at }) => Math.floor(at / 1000));
    expect(seconds.length).toBeGreaterThanOrEqual(2 * 180);
    expect(seconds.length).toBeLessThanOrEqual(2 * 210);
    const most = Math.max(
      ...Map.groupBy(seconds, (second) => second)
        .values()
        .map((frames) => frames.length),
    );
    expect(most).toBeLessThan(30);
  });

  test('L2-8 no refresh is sent when the interval is 0', () => {
    const bed = owner({ refreshInterval: 0 });
    const since = bed.clock.now();
    bed.clock.advance(300_000);
    expect(bed.sent('n0', since)).toEqual([]);
  });

  test('L2-8 a new refresh interval is in force at once for a held address', () => {
    const bed = owner({ refreshInterval: 0 }, [vip]);
    const table = bed.tableFor(0);
    const change = (refreshInterval: number): number => {
      const since = bed.clock.now();
      bed.node(0).setTable({ ...table, addresses: table.addresses.map((entry) => ({ ...entry, refreshInterval })) });
      bed.clock.advance(60_000);
      return bed.sent('n0', since).filter((frame) => frame.kind === 'arp' && frame.operation === 'request').length;
    };
    const often = change(10_000);
    expect(often).toBeGreaterThanOrEqual(6);
    expect(often).toBeLessThanOrEqual(7);
    expect(change(0)).toBe(0);
    expect(change(60_000)).toBe(1);
  });

  test('L2-10 many claims are paced, and the first form of each address goes before all others', () => {
    const addresses = Array.from({ length: 5_000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);
    const bed = new SegmentBed({ nodes: 1, addresses, bfd: false });
    bed.clock.advance(1_500);
    const { log } = bed.segment;
    const began = log[0]?.at ?? 0;
    const firsts = new Set(log.slice(0, 5_000).map(({ octets }) => Buffer.from(octets.subarray(38, 42)).toString('hex')));
    expect(firsts.size).toBe(5_000);
    for (const second of [0, 0.1, 0.2, 0.5, 1]) {
      const sent = log.filter(({ at }) => at <= began + 1_000 * second).length;
      expect(sent).toBeLessThanOrEqual(announcementBurst + announcementsPerSecond * second + 1);
    }
    expect(log.findIndex(({ octets }) => octets[21] === 2)).toBeGreaterThanOrEqual(5_000);
  });

  test('L2-10 10,000 addresses are announced in both forms within 700 ms', () => {
    const addresses = Array.from({ length: 10_000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);
    const bed = new SegmentBed({ nodes: 1, addresses, bfd: false });
    bed.clock.advance(2_500);
    const { log } = bed.segment;
    const began = log[0]?.at ?? 0;
    const forms = new Set(
      log.filter(({ at }) => at - began <= 700).map(({ octets }) => Buffer.from(octets.subarray(38, 42)).toString('hex') + octets[21]),
    );
    expect(forms.size).toBe(20_000);
  });

  test('L2-9 a new MAC address and a failed-over bond are announced at once', () => {
    const bed = owner({}, [vip]);
    const table = bed.tableFor(0);
    const since = bed.clock.now();
    bed.node(0).setTable({ ...table, links: table.links.map((link) => ({ ...link, mac: '02:00:00:00:aa:aa' })) });
    bed.clock.advance(1);
    expect(bed.sent('n0', since)).toMatchObject([{ senderMac: mac('02:00:00:00:aa:aa') }, { senderMac: mac('02:00:00:00:aa:aa') }]);
    const later = bed.clock.now();
    bed.node(0).engine.announceAgain('eth0');
    bed.clock.advance(1);
    expect(bed.sent('n0', later)).toHaveLength(2);
  });

  test('L2-10 addresses for which most requests were heard are taken over first', () => {
    const addresses = Array.from({ length: 50 }, (_, at) => `192.0.2.${at + 1}`);
    const bed = new SegmentBed({ nodes: 2, addresses, ranks: () => [0, 1] });
    bed.clock.advance(3_900);
    for (let at = 0; at < 5; at++) bed.ask('192.0.2.40');
    bed.ask('192.0.2.30');
    bed.clock.advance(5);
    bed.node(0).kill();
    const since = bed.clock.now();
    bed.clock.advance(400);
    const announced = bed.sent('n1', since).filter((frame) => frame.kind === 'arp' && frame.sender.value !== 0n);
    expect(announced.slice(0, 2)).toMatchObject([{ sender: address('192.0.2.40') }, { sender: address('192.0.2.30') }]);
  });
});

describe('foreign hosts', () => {
  const foreign = mac('02:00:00:00:00:66');
  const claim = (): Uint8Array => arpRequest({ etherSource: foreign, senderMac: foreign, sender: address(vip) });
  const claim6 = (): Uint8Array => advertisement({ etherSource: foreign, targetLink: foreign });

  test('L2-11 L2-12 a claim is answered by one announcement in 10 s, and reported once with the MAC address', () => {
    const bed = owner({}, [vip]);
    expect(answersTo(bed, claim())).toHaveLength(2);
    expect(answersTo(bed, claim(), claim())).toEqual([]);
    bed.clock.advance(10_000);
    expect(answersTo(bed, claim())).toHaveLength(2);
    const conflicts = bed.node(0).events.filter((event) => event.kind === 'conflict');
    expect(conflicts).toMatchObject([
      { address: vip, mac: '02:00:00:00:00:66' },
      { address: vip, mac: '02:00:00:00:00:66' },
    ]);
    expect(bed.owners(vip)).toEqual(['n0']);
  });

  test('L2-12 foreign claims with changing MAC addresses are reported once a second, the latest one', () => {
    const bed = owner({}, [vip], 1);
    const since = bed.clock.now();
    for (let host = 0; host < 1_000; host++) {
      const senderMac = 0x0200_0001_0000 + host;
      bed.client.send('c0', arpRequest({ etherSource: senderMac, senderMac, sender: address(vip) }));
      bed.clock.advance(5);
    }
    const conflicts = bed.node(0).events.filter((event) => event.kind === 'conflict');
    expect(conflicts.length).toBeGreaterThanOrEqual(5);
    expect(conflicts.length).toBeLessThanOrEqual(6);
    expect(bed.node(0).engine.status().addresses[0]?.lastConflict).toMatchObject({ mac: '02:00:00:01:03:e7' });
    expect(bed.sent('n0', since).filter((frame) => frame.kind === 'arp' && frame.sender.value !== 0n)).toHaveLength(2);
  });

  test('L2-12 a conflict lasts while the host answers or claims, and ends when it is silent', () => {
    const bed = owner({}, [vip]);
    const since = bed.clock.now();
    answersTo(bed, claim());
    const kinds = (): string[] => bed.node(0).events.flatMap(({ kind }) => (kind.startsWith('conflict') ? [kind] : []));
    bed.clock.advance(10_500);
    const probes = bed.sent('n0', since).filter((frame) => frame.kind === 'arp' && frame.sender.value === 0n);
    expect(probes).toHaveLength(1);
    // It answers the probe.
    answersTo(bed, claim());
    bed.clock.advance(9_000);
    expect(kinds()).toEqual(['conflict', 'conflict']);
    bed.clock.advance(3_000);
    expect(kinds()).toEqual(['conflict', 'conflict', 'conflictEnded']);
    bed.clock.advance(60_000);
    expect(kinds()).toHaveLength(3);
    expect(bed.owners(vip)).toEqual(['n0']);
  });

  test('L2-12 with the policy to withdraw the next node does not take the address while the host has it', () => {
    const bed = owner({ onConflict: 'withdraw' }, [vip], 2);
    // More often than three probes take, as a host that answers them would.
    for (let half = 0; half < 120; half++) {
      bed.client.send('c0', claim());
      bed.clock.advance(500);
      expect(bed.owners(vip)).toEqual([]);
    }
    bed.clock.advance(12_000);
    expect(bed.owners(vip)).toEqual(['n0']);
    expect(bed.answering(vip)).toEqual(['n0']);
  });

  test('L2-11 an ordinary request from the address is a claim, too', () => {
    const bed = owner({}, [vip]);
    expect(
      answersTo(bed, arpRequest({ etherSource: foreign, senderMac: foreign, sender: address(vip), target: address('192.0.2.1') })),
    ).toHaveLength(2);
  });

  test('L2-12 with the policy to withdraw the address is given up, and probed again until the host is gone', () => {
    const bed = owner({ onConflict: 'withdraw' }, [vip, vip6]);
    answersTo(bed, claim(), claim6());
    expect([bed.owners(vip), bed.owners(vip6)]).toEqual([[], []]);
    expect(bed.answering(vip)).toEqual([]);
    bed.clock.advance(11_000);
    expect([bed.owners(vip), bed.owners(vip6)]).toEqual([['n0'], ['n0']]);
  });

  test.each([
    ['an announcement', claim()],
    ['a probe of another host', arpRequest({ etherSource: foreign, senderMac: foreign, sender: address('0.0.0.0') })],
  ])('L2-6 before the first claim %s means that the address is taken', (_, frame) => {
    const bed = new SegmentBed({ nodes: 1, addresses: [vip], everHeld: false });
    bed.clock.advance(300);
    bed.client.send('c0', frame);
    bed.clock.advance(1_000);
    expect(bed.node(0).stateOf(vip)).toBe('conflict');
    expect(bed.node(0).events.some((event) => event.kind === 'conflict' && event.mac === '02:00:00:00:00:66')).toBe(true);
  });

  test('L2-22 before the first claim an advertisement of another host means that the address is taken', () => {
    const bed = new SegmentBed({ nodes: 1, addresses: [vip6], everHeld: false });
    bed.clock.advance(300);
    bed.client.send('c0', claim6());
    bed.clock.advance(10);
    expect(bed.node(0).stateOf(vip6)).toBe('conflict');
  });

  test('L2-13 a node of ours that is no candidate is no foreign host', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0] });
    bed.clock.advance(500);
    bed.client.send('c0', arpRequest({ etherSource: macOf(1), senderMac: macOf(1), sender: address(vip) }));
    bed.clock.advance(10);
    expect(bed.node(0).events.filter(({ kind }) => kind === 'conflict')).toEqual([]);
    expect(bed.owners(vip)).toEqual(['n0']);
  });

  describe('L2-13 a host that turns out to be a node of ours', () => {
    /** Two nodes that do not know of each other yet. */
    const strangers = (everHeld: boolean): SegmentBed => {
      const bed = new SegmentBed({ nodes: 2, addresses: [vip], everHeld, ranks: () => [0, 1] });
      for (const node of bed.nodes) {
        const { links, ...table } = bed.tableFor(node.index);
        node.setTable({ ...table, links: links.map((link) => ({ ...link, peers: [] })) });
      }
      return bed;
    };
    const introduce = (bed: SegmentBed): void => {
      for (const node of bed.nodes) node.setTable(bed.tableFor(node.index));
    };

    test('does not keep the address from being claimed', () => {
      const bed = strangers(false);
      bed.clock.advance(1_000);
      expect(bed.nodes.map((node) => node.stateOf(vip))).toEqual(['conflict', 'conflict']);
      introduce(bed);
      bed.clock.advance(1_500);
      expect(bed.answering(vip)).toEqual(['n0']);
    });

    test('is no longer reported', () => {
      const bed = strangers(true);
      bed.clock.advance(1_000);
      expect(bed.answering(vip).toSorted()).toEqual(['n0', 'n1']);
      const kinds = (): string[][] =>
        bed.nodes.map(({ events }) => events.flatMap(({ kind }) => (kind.startsWith('conflict') ? [kind] : [])));
      introduce(bed);
      bed.clock.advance(500);
      expect(bed.answering(vip)).toEqual(['n0']);
      for (const seen of kinds()) expect(seen.at(-1)).not.toBe('conflict');
      expect(kinds().flat()).toContain('conflictEnded');
    });
  });
});
