import { describe, expect, test } from 'vitest';
import { address, addressBytes } from '../../../../src/net/address.ts';
import { Membership } from '../../../../src/l2/engine/membership.ts';
import { joinRetryInterval } from '../../../../src/l2/limits.ts';
import { MemorySegment, type MemoryTransport } from '../memory-segment.ts';
import { solicitedNodeGroup } from '../../../../src/l2/wire/multicast.ts';
import type { Clock } from '../../../../src/system/clock.ts';
import { Schedule } from '../../../../src/system/schedule.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { SegmentBed } from '../segment-bed.ts';

const groupOf = (text: string): string => Buffer.from(addressBytes(solicitedNodeGroup(address(text)))).toString('hex');

function membership(): { readonly clock: VirtualClock; readonly transport: MemoryTransport; readonly membership: Membership } {
  const clock = new VirtualClock();
  const transport = new MemorySegment(clock).host('n0', 0x0200_0000_0001);
  transport.open('eth0');
  return { clock, transport, membership: new Membership(clock, new Schedule(clock), transport) };
}

describe('multicast groups', () => {
  test('L2-20 L2-21 every candidate joins the group, not the owner alone', () => {
    const bed = new SegmentBed({ nodes: 3, addresses: ['2001:db8::10'] });
    bed.clock.advance(500);
    expect(bed.owners('2001:db8::10')).toEqual(['n0']);
    expect(bed.nodes.map(({ transport }) => [...transport.groups])).toEqual([
      [groupOf('2001:db8::10')],
      [groupOf('2001:db8::10')],
      [groupOf('2001:db8::10')],
    ]);
  });

  test('L2-21 addresses with equal low 24 bits share a group, which stays until the last one is gone', () => {
    const { clock, transport, membership: groups } = membership();
    const [one, other] = ['2001:db8::5:1', '2001:db8:1::5:1'].map((text) => address(text));
    if (one === undefined || other === undefined) throw new Error('no address');
    groups.add('eth0', one);
    groups.add('eth0', other);
    clock.advance(0);
    expect(transport.groups.size).toBe(1);
    groups.remove('eth0', one);
    expect(transport.groups.size).toBe(1);
    groups.remove('eth0', other);
    expect(transport.groups.size).toBe(0);
  });

  test('L2-20 IPv4 addresses need no group', () => {
    const { clock, transport, membership: groups } = membership();
    groups.add('eth0', address('192.0.2.1'));
    clock.advance(10);
    expect([transport.groups.size, groups.status('eth0')]).toEqual([0, { joined: 0, waiting: 0 }]);
  });

  test('L2-21 many groups are joined in slices, and timers run between them', () => {
    const { clock: virtual, transport } = membership();
    // Each join takes 1 ms.
    let passed = 0;
    const clock: Clock = {
      now: () => virtual.now() + passed,
      date: () => virtual.date(),
      after: (milliseconds, callback) => virtual.after(milliseconds, callback),
    };
    const join = transport.join.bind(transport);
    transport.join = (networkInterface, group) => {
      passed += 1;
      return join(networkInterface, group);
    };
    const groups = new Membership(clock, new Schedule(clock), transport);
    for (let at = 0; at < 50; at++) groups.add('eth0', address(`2001:db8::${at.toString(16)}`));
    virtual.advance(0);
    expect(transport.groups.size).toBe(5);
    virtual.advance(1_000);
    expect(transport.groups.size).toBe(50);
    expect(groups.status('eth0')).toEqual({ joined: 50, waiting: 0 });
  });

  test('L2-20 a group that the kernel refuses is joined later, and the status has the reason', () => {
    const { clock, transport, membership: groups } = membership();
    transport.joinProblem = 'no buffer space available';
    groups.add('eth0', address('2001:db8::1'));
    clock.advance(1);
    expect(groups.status('eth0')).toEqual({ joined: 0, waiting: 1, problem: 'no buffer space available' });
    transport.joinProblem = undefined;
    clock.advance(joinRetryInterval + 1);
    expect(groups.status('eth0')).toEqual({ joined: 1, waiting: 0 });
  });

  test('L2-20 the groups are joined again when the interface is another one', () => {
    const { clock, transport, membership: groups } = membership();
    groups.add('eth0', address('2001:db8::1'));
    clock.advance(1);
    transport.groups.clear();
    groups.rejoin('eth0');
    clock.advance(1);
    expect(transport.groups.size).toBe(1);
  });
});
