import { describe, expect, test } from 'vitest';
import type { AddressEntry, Link } from '../../../../src/l2/index.ts';
import { SegmentBed } from '../segment-bed.ts';

const vip = '192.0.2.10';

const bed = (): SegmentBed => {
  const made = new SegmentBed({ nodes: 1, addresses: [vip] });
  made.clock.advance(100);
  return made;
};
const entry = (fields: Partial<AddressEntry> = {}): AddressEntry => ({
  address: vip,
  interface: 'eth0',
  candidates: ['n0'],
  everHeld: true,
  ...fields,
});

describe('the table', () => {
  test.each<readonly [string, Partial<AddressEntry>, RegExp]>([
    ['that is no address', { address: 'vip' }, /not an IP address/],
    ['on an interface that is not in the table', { interface: 'eth7' }, /no link eth7/],
    ['with a candidate twice', { candidates: ['n0', 'n0'] }, /named twice/],
    ['with too many candidates', { candidates: Array.from({ length: 33 }, (_, at) => `n${at}`) }, /at most 32/],
  ])('an entry %s is refused with the reason, others are in force', (_, fields, message) => {
    const { node, clock } = ((made) => ({ node: made.node(0), clock: made.clock }))(bed());
    const refused = node.engine.changeAddresses({ set: [entry(fields), entry({ address: '192.0.2.20' })], remove: [] });
    expect(refused).toHaveLength(1);
    expect(refused[0]?.message).toMatch(message);
    clock.advance(10);
    expect([node.stateOf(vip), node.stateOf('192.0.2.20')]).toEqual(['owner', 'owner']);
  });

  test('a link with an impossible MAC address is refused', () => {
    const made = bed();
    const links: Link[] = [{ interface: 'eth1', mac: 'ff:ff:ff:ff:ff:ff', peers: [] }];
    expect(made.node(0).engine.setTable({ node: 'n0', links, addresses: [] })).toEqual([
      { subject: 'eth1', message: 'ff:ff:ff:ff:ff:ff is not the MAC address of a host' },
    ]);
  });

  test('a whole table replaces the previous one, and unchanged entries cause no frame', () => {
    const made = bed();
    made.clock.advance(5_000);
    const since = made.clock.now();
    const table = made.tableFor(0);
    made.node(0).setTable({ ...table, addresses: [...table.addresses, entry({ address: '192.0.2.20' })] });
    made.clock.advance(10);
    expect(made.sent('n0', since)).toHaveLength(2);
    made.node(0).setTable({ ...table, addresses: [entry({ address: '192.0.2.20' })] });
    expect([made.node(0).stateOf(vip), made.node(0).stateOf('192.0.2.20')]).toEqual(['none', 'owner']);
    expect(made.node(0).events.at(-1)).toMatchObject({ kind: 'changed', address: vip, from: 'owner', to: 'standby', cause: 'removed' });
  });

  test('an IPv6 address is the same in any form', () => {
    const made = bed();
    const { engine } = made.node(0);
    engine.changeAddresses({ set: [entry({ address: '2001:DB8:0:0::10' })], remove: [] });
    made.clock.advance(10);
    expect(engine.stateOf('2001:db8::10', 'eth0')).toBe('owner');
    engine.changeAddresses({ set: [], remove: [{ address: '2001:db8:0::10', interface: 'eth0' }] });
    expect(engine.stateOf('2001:db8::10', 'eth0')).toBeUndefined();
  });

  test('the state of a session is forgotten with the node that leaves the table', () => {
    const made = new SegmentBed({ nodes: 2, addresses: [vip], ranks: () => [1, 0] });
    made.clock.advance(3_000);
    expect([made.node(0).stateOf(vip), made.node(1).stateOf(vip)]).toEqual(['standby', 'owner']);
    const table = made.tableFor(0);
    made.node(0).setTable({ ...table, links: table.links.map((link) => ({ ...link, peers: [] })) });
    made.node(1).kill();
    made.blocksBfd = true;
    made.node(0).setTable(table);
    expect(made.node(0).engine.status().links[0]?.peers[0]?.session).toBeUndefined();
  });

  test('a link that leaves the table takes its addresses along', () => {
    const made = bed();
    made.node(0).setTable({ node: 'n0', links: [], addresses: [] });
    expect(made.answering(vip)).toEqual([]);
    expect(made.node(0).engine.status()).toMatchObject({ links: [], addresses: [] });
  });
});
