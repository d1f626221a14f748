import { describe, expect, test } from 'vitest';
import { address } from '../../../../src/net/address.ts';
import type { L2Event } from '../../../../src/l2/status.ts';
import { formatMac } from '../../../../src/l2/wire/mac.ts';
import { SegmentBed } from '../segment-bed.ts';

const vip = '192.0.2.10';
const vip6 = '2001:db8::10';

const changes = (events: readonly L2Event[]): string[] =>
  events.flatMap((event) => (event.kind === 'changed' ? [`${event.to} ${event.cause}`] : []));

/** Advances in steps, and returns for how many milliseconds the address had no answer. */
function gapWhile(bed: SegmentBed, milliseconds: number, text = vip): number {
  let gap = 0;
  let longest = 0;
  for (let passed = 0; passed < milliseconds; passed += 5) {
    gap = bed.answering(text).length === 0 ? gap + 5 : 0;
    longest = Math.max(longest, gap);
  }
  return longest;
}

describe('the start', () => {
  test('rule 7: nothing is claimed before the sessions have settled, and then by the best candidate', () => {
    const bed = new SegmentBed({ nodes: 3, addresses: [vip, '192.0.2.11', vip6] });
    bed.clock.advance(99);
    expect(bed.owners(vip)).toEqual([]);
    bed.clock.advance(100);
    expect([bed.owners(vip), bed.owners('192.0.2.11'), bed.owners(vip6)]).toEqual([['n0'], ['n1'], ['n2']]);
  });

  test('rule 7: the wait ends after 1 s when a peer is not there', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip] });
    bed.node(0).kill();
    bed.clock.advance(900);
    expect(bed.owners(vip)).toEqual([]);
    bed.clock.advance(200);
    expect(bed.owners(vip)).toEqual(['n1']);
    expect(bed.node(1).engine.status().links[0]).toMatchObject({ settled: true, noPeerLiveness: true });
  });

  test('L2-6 L2-22 an address that no node ever held is probed three times before it is claimed', () => {
    const bed = new SegmentBed({ nodes: 1, addresses: [vip, vip6], everHeld: false });
    bed.clock.advance(599);
    expect(bed.owners(vip)).toEqual([]);
    expect(bed.sent('n0')).toHaveLength(6);
    expect(bed.sent('n0').every((frame) => (frame.kind === 'arp' ? frame.sender : frame.source).value === 0n)).toBe(true);
    bed.clock.advance(10);
    expect([bed.owners(vip), bed.owners(vip6)]).toEqual([['n0'], ['n0']]);
  });
});

describe('failover', () => {
  test.each([
    [vip, 'IPv4'],
    [vip6, 'IPv6'],
  ])('rule 3: the next candidate claims after the detection time and 60 ms of silence (%s, %s)', (text) => {
    const bed = new SegmentBed({ nodes: 3, addresses: [text], ranks: () => [0, 1, 2] });
    bed.clock.advance(1000);
    bed.node(0).kill();
    expect(gapWhile(bed, 1000, text)).toBeLessThanOrEqual(280);
    expect(bed.owners(text)).toEqual(['n1']);
    expect(changes(bed.node(1).events)).toEqual(['owner elected']);
    expect(bed.neighbours.get(text)).toBe(bed.node(1).transport.mac);
  });

  test('rule 3: one pair of probes is enough for all addresses of a node', () => {
    const addresses = Array.from({ length: 200 }, (_, at) => `192.0.2.${at + 1}`);
    const bed = new SegmentBed({ nodes: 2, addresses, ranks: () => [0, 1] });
    bed.clock.advance(900);
    bed.node(0).kill();
    const since = bed.clock.now();
    bed.clock.advance(300);
    expect(addresses.every((text) => bed.owners(text)[0] === 'n1')).toBe(true);
    expect(bed.sent('n1', since).filter((frame) => frame.kind === 'arp' && frame.sender.value === 0n).length).toBeLessThanOrEqual(4);
  });

  test('rule 3: a node that answers is not robbed, and is reported as alive by ARP and dead by BFD', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0, 1] });
    bed.clock.advance(1000);
    bed.blocksBfd = true;
    expect(gapWhile(bed, 5000)).toBe(0);
    expect(bed.owners(vip)).toEqual(['n0']);
    expect(bed.node(1).engine.status().links[0]?.peers[0]).toMatchObject({ standing: 'in', answersWithoutSession: true });
  });

  test('rule 6: without BFD the next candidate notices within 3 s by its probes', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0, 1] });
    bed.clock.advance(1000);
    bed.blocksBfd = true;
    bed.clock.advance(2000);
    bed.node(0).kill();
    expect(gapWhile(bed, 4000)).toBeLessThanOrEqual(1700);
    expect(bed.owners(vip)).toEqual(['n1']);
  });

  test('rule 6: a responder that is dead while its BFD lives loses its addresses', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip, '192.0.2.12', '192.0.2.13', '192.0.2.14'], ranks: () => [0, 1] });
    bed.clock.advance(1000);
    bed.node(0).engine.suspend();
    expect(gapWhile(bed, 4000)).toBeLessThanOrEqual(1800);
    expect(bed.owners('192.0.2.14')).toEqual(['n1']);
    expect(bed.node(1).engine.status().links[0]?.peers[0]).toMatchObject({ session: 'Up', standing: 'out' });
    bed.node(0).engine.resume();
    expect(gapWhile(bed, 3000)).toBe(0);
    expect(bed.owners(vip)).toEqual(['n0']);
  });

  test("rule 9: the next candidate takes over within 1.5 s when the owner's main thread hangs", () => {
    const addresses = Array.from({ length: 50 }, (_, at) => `192.0.2.${at + 1}`);
    const bed = new SegmentBed({ nodes: 3, addresses, ranks: () => [0, 1, 2] });
    bed.clock.advance(5_000);
    bed.node(0).engine.suspend();
    expect(bed.answering('192.0.2.1')).toEqual([]);
    bed.clock.advance(1_500);
    expect(addresses.filter((text) => bed.node(1).stateOf(text) !== 'owner')).toEqual([]);
    bed.node(0).engine.resume();
    bed.clock.advance(1_000);
    expect(bed.answering('192.0.2.1')).toEqual(['n0']);
  });

  test('rule 6: an address that its better candidate does not know is claimed by the next one', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip, '192.0.2.12'], ranks: () => [0, 1] });
    bed.node(0).setTable({ ...bed.tableFor(0), addresses: bed.tableFor(0).addresses.slice(1) });
    bed.clock.advance(2500);
    expect(bed.owners(vip)).toEqual(['n1']);
    expect(bed.owners('192.0.2.12')).toEqual(['n0']);
    // One silent address does not mean that the node has failed.
    expect(bed.node(1).events.filter((event) => event.kind === 'changed' && event.address === '192.0.2.12')).toEqual([]);
  });

  test('rule 7: a node that loses all others at once says so and asks before it takes', () => {
    const bed = new SegmentBed({ nodes: 3, addresses: [vip, '192.0.2.11'], ranks: (at) => (at === 0 ? [0, 1, 2] : [2, 1, 0]) });
    bed.clock.advance(1000);
    bed.block(['n0', 'n2'], ['n2', 'n0'], ['n1', 'n2'], ['n2', 'n1']);
    bed.clock.advance(1000);
    expect(bed.node(2).events.some(({ kind }) => kind === 'isolated')).toBe(true);
    expect(bed.node(0).events.some(({ kind }) => kind === 'isolated')).toBe(false);
    expect(bed.owners(vip)).toEqual(['n0', 'n2']);
    bed.segment.loses = () => false;
    const healed = bed.clock.now();
    bed.clock.advance(400);
    expect(bed.owners(vip)).toEqual(['n0']);
    expect(bed.owners('192.0.2.11')).toEqual(['n2']);
    expect(bed.node(2).events.some(({ kind }) => kind === 'rejoined')).toBe(true);
    const frames = bed.nodes.flatMap(({ name }) => bed.sent(name, healed));
    expect(frames.length).toBeLessThan(20);
  });
});

describe('handover', () => {
  test('rule 4: the better candidate returns, and the address is answered all the time', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0, 1] });
    bed.clock.advance(1000);
    bed.node(0).kill();
    bed.clock.advance(1000);
    bed.node(0).restart();
    expect(gapWhile(bed, 2000)).toBe(0);
    expect(bed.owners(vip)).toEqual(['n0']);
    expect(changes(bed.node(1).events)).toEqual(['owner elected', 'keeping deferred', 'standby heardBetter']);
  });

  test('rule 8: a node that stops answers until the next one has announced the address, which needs no probe', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0, 1] });
    bed.clock.advance(1000);
    bed.node(0).engine.stop();
    bed.node(0).clock.after(1, () => bed.node(1).session(0, 'AdminDown'));
    const since = bed.clock.now();
    bed.clock.advance(10);
    expect([bed.owners(vip), bed.node(0).engine.isIdle]).toEqual([['n1'], true]);
    expect(bed.sent('n1', since).some((frame) => frame.kind === 'arp' && frame.sender.value === 0n)).toBe(false);
  });

  test('rule 8: a node that stops alone answers for 1 s', () => {
    const bed = new SegmentBed({ nodes: 1, addresses: [vip] });
    bed.clock.advance(100);
    bed.node(0).engine.stop();
    bed.clock.advance(990);
    expect(bed.answering(vip)).toEqual(['n0']);
    bed.clock.advance(20);
    expect(bed.answering(vip)).toEqual([]);
  });

  test('a drained address moves without a gap, and back', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0, 1] });
    bed.clock.advance(1000);
    const drained = (index: number): void =>
      bed
        .node(index)
        .setTable({ ...bed.tableFor(index), addresses: bed.tableFor(index).addresses.map((entry) => ({ ...entry, candidates: ['n1'] })) });
    drained(0);
    expect(gapWhile(bed, 100)).toBe(0);
    drained(1);
    expect(gapWhile(bed, 500)).toBe(0);
    expect(bed.owners(vip)).toEqual(['n1']);
    for (const node of bed.nodes) node.setTable(bed.tableFor(node.index));
    expect(gapWhile(bed, 500)).toBe(0);
    expect(bed.owners(vip)).toEqual(['n0']);
  });

  test('L2-5 an address that leaves the table is not answered from that moment', () => {
    const bed = new SegmentBed({ nodes: 1, addresses: [vip] });
    bed.clock.advance(100);
    expect(bed.answering(vip)).toEqual(['n0']);
    bed.node(0).engine.changeAddresses({ set: [], remove: [{ address: vip, interface: 'eth0' }] });
    expect(bed.answering(vip)).toEqual([]);
  });
});

describe('two owners', () => {
  test('rule 5: the worse one yields to the first frame that it hears', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0, 1] });
    bed.block(['n0', 'n1'], ['n1', 'n0']);
    bed.clock.advance(3000);
    expect(bed.owners(vip)).toEqual(['n0', 'n1']);
    bed.segment.loses = () => false;
    bed.node(0).engine.announceAgain('eth0');
    bed.clock.advance(2);
    expect(bed.owners(vip)).toEqual(['n0']);
  });

  test('rule 5: the better one announces when it hears a worse one', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0, 1] });
    bed.block(['n0', 'n1'], ['n1', 'n0']);
    bed.clock.advance(3000);
    bed.segment.loses = () => false;
    bed.node(1).engine.announceAgain('eth0');
    bed.clock.advance(2);
    expect(bed.owners(vip)).toEqual(['n0']);
    expect(bed.neighbours.get(vip)).toBe(bed.node(0).transport.mac);
  });

  test('nodes with opposite orders agree by their MAC addresses', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0, 1] });
    bed
      .node(1)
      .setTable({ ...bed.tableFor(1), addresses: bed.tableFor(1).addresses.map((entry) => ({ ...entry, candidates: ['n1', 'n0'] })) });
    bed.clock.advance(4000);
    expect(bed.owners(vip)).toEqual(['n0']);
    bed.clock.advance(20_000);
    expect(bed.owners(vip)).toEqual(['n0']);
  });

  test('L2-9 both owners announce when a partition heals', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0, 1] });
    bed.clock.advance(1000);
    bed.block(['n0', 'n1'], ['n1', 'n0']);
    bed.clock.advance(10_000);
    bed.segment.loses = () => false;
    bed.clock.advance(100);
    expect(bed.owners(vip)).toEqual(['n0']);
  });

  test('L2-9 a healed partition has one owner within 300 ms, before any session is up again', () => {
    const addresses = Array.from({ length: 20 }, (_, at) => `192.0.2.${at + 10}`);
    const bed = new SegmentBed({ nodes: 3, addresses, ranks: () => [0, 1, 2] });
    bed.clock.advance(1000);
    bed.blocksBfd = true;
    bed.clock.advance(1000);
    bed.block(['n0', 'n1'], ['n1', 'n0'], ['n0', 'n2'], ['n2', 'n0']);
    bed.clock.advance(10_000);
    expect(addresses.filter((text) => bed.owners(text).length !== 2 || bed.owners(text)[0] !== 'n0')).toEqual([]);
    bed.segment.loses = () => false;
    bed.clock.advance(300);
    expect(addresses.some((text) => bed.owners(text).join() === 'n0')).toBe(true);
    bed.clock.advance(700);
    expect(addresses.filter((text) => bed.owners(text).join() !== 'n0')).toEqual([]);
  });

  test('rule 6: a node that took over asks the lost one four times a second, for any number of addresses', () => {
    const addresses = Array.from({ length: 50 }, (_, at) => `192.0.2.${at + 10}`);
    const bed = new SegmentBed({ nodes: 2, addresses, ranks: () => [0, 1] });
    bed.clock.advance(1000);
    bed.node(0).kill();
    bed.clock.advance(5000);
    const since = bed.clock.now();
    bed.clock.advance(10_000);
    const probes = bed.sent('n1', since).filter((frame) => frame.kind === 'arp' && frame.sender.value === 0n);
    expect(probes.length).toBeGreaterThan(30);
    expect(probes.length).toBeLessThanOrEqual(41);
  });

  test('rule 5: a node that yielded claims again when the better one does not answer', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [1, 0] });
    bed.clock.advance(1000);
    bed.node(1).kill();
    bed.clock.advance(1000);
    expect(bed.owners(vip)).toEqual(['n0']);
    // One announcement of the better node, and then nothing.
    bed.node(1).restart();
    bed.clock.advance(120);
    bed.node(1).kill();
    expect(gapWhile(bed, 2000)).toBeLessThanOrEqual(400);
    expect(bed.owners(vip)).toEqual(['n0']);
  });
});

describe('stalls', () => {
  test('L2-30 a node that wakes takes nothing before its sessions have settled, and then without a gap', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0, 1] });
    bed.clock.advance(1000);
    bed.node(0).pause();
    expect(gapWhile(bed, 1000)).toBeLessThanOrEqual(280);
    expect(bed.owners(vip)).toEqual(['n1']);
    bed.node(0).resume();
    const woke = bed.clock.now();
    expect(gapWhile(bed, 400)).toBe(0);
    expect(bed.owners(vip)).toEqual(['n1']);
    expect(bed.sent('n0', woke).some((frame) => frame.kind === 'arp' && frame.sender.value !== 0n)).toBe(false);
    expect(gapWhile(bed, 1000)).toBe(0);
    expect(bed.owners(vip)).toEqual(['n0']);
    expect(changes(bed.node(0).events)).toEqual(['owner elected', 'doubtful doubt', 'standby heardWorse', 'owner elected']);
  });

  test('L2-30 a node that wakes goes on after 60 ms of silence when no other took over', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [0, 1] });
    bed.clock.advance(1000);
    bed.node(1).kill();
    bed.clock.advance(500);
    bed.node(0).pause();
    bed.clock.advance(2000);
    bed.node(0).resume();
    expect(bed.answering(vip)).toEqual([]);
    bed.clock.advance(60);
    expect(bed.answering(vip)).toEqual(['n0']);
    expect(bed.node(0).engine.status().counters.stalls).toBe(1);
  });

  test('L2-30 requests that waited in the socket during a stall are not answered', () => {
    const bed = new SegmentBed({ nodes: 1, addresses: [vip] });
    bed.clock.advance(100);
    bed.node(0).pause();
    bed.ask(vip);
    bed.clock.advance(3000);
    bed.node(0).resume();
    bed.clock.advance(50);
    expect(bed.answers).toEqual([]);
  });

  test('L2-9 after a lost carrier, addresses that another node took stay there, and others are announced', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [1, 0] });
    bed.clock.advance(2000);
    const [other, node] = [bed.node(0), bed.node(1)];
    expect(bed.owners(vip)).toEqual(['n1']);
    node.transport.tell({ carrier: false, moved: false });
    bed.block(['n1', 'n0'], ['n0', 'n1'], ['n1', 'client'], ['client', 'n1']);
    bed.clock.advance(1000);
    expect(other.stateOf(vip)).toBe('owner');
    bed.block();
    node.transport.tell({ carrier: true, moved: false });
    expect(node.stateOf(vip)).toBe('doubtful');
    bed.clock.advance(3000);
    expect(bed.owners(vip)).toEqual(['n1']);
  });

  test('L2-9 a new MAC address of the kernel is announced at once, although the table has the old one', () => {
    const bed = new SegmentBed({ nodes: 1, addresses: [vip] });
    bed.clock.advance(100);
    const since = bed.clock.now();
    bed.node(0).transport.tell({ carrier: true, mac: '02:00:00:00:99:99', moved: false });
    bed.node(0).setTable(bed.tableFor(0));
    bed.clock.advance(1);
    const macs = bed.sent('n0', since).map((frame) => (frame.kind === 'arp' ? formatMac(frame.senderMac) : ''));
    expect(macs).toEqual(['02:00:00:00:99:99', '02:00:00:00:99:99']);
  });

  test('L2-29 the kernel tells that a bond has failed over: the addresses are announced at once', () => {
    const bed = new SegmentBed({ nodes: 1, addresses: [vip] });
    bed.clock.advance(10_000);
    const since = bed.clock.now();
    bed.node(0).transport.tell({ carrier: true, moved: true });
    bed.clock.advance(1);
    expect(bed.sent('n0', since)).toHaveLength(2);
  });

  test('L2-9 the carrier returns: held addresses are checked and announced again', () => {
    const bed = new SegmentBed({ nodes: 1, addresses: [vip, address(vip6).family === 6 ? vip6 : vip] });
    const table = bed.tableFor(0);
    bed.clock.advance(100);
    bed.node(0).setTable({ ...table, links: table.links.map((link) => ({ ...link, carrier: false })) });
    bed.clock.advance(100);
    const since = bed.clock.now();
    bed.node(0).setTable(table);
    bed.clock.advance(100);
    expect(bed.owners(vip)).toEqual(['n0']);
    expect(bed.sent('n0', since).filter((frame) => frame.kind === 'arp' && frame.sender.value !== 0n).length).toBeGreaterThanOrEqual(2);
  });
});

describe('loss in one direction', () => {
  test('L2-13 an owner that the next node does not hear gives way, and owns again after the repair', () => {
    const bed = new SegmentBed({ nodes: 2, addresses: [vip] });
    bed.clock.advance(5_000);
    bed.block(['n0', 'n1']);
    bed.clock.advance(3_000);
    for (let second = 0; second < 200; second++) {
      expect(bed.answering(vip)).toEqual(['n1']);
      bed.clock.advance(1_000);
    }
    expect(bed.node(0).events.some((event) => event.kind === 'disputed' && event.node === 'n1')).toBe(true);
    bed.block();
    bed.clock.advance(3_000);
    expect(bed.answering(vip)).toEqual(['n0']);
    expect(bed.owners(vip)).toEqual(['n0']);
  });
});
