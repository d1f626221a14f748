import { describe, expect, test } from 'vitest';
import {
  judgeUplinks,
  noteUplinks,
  type UplinkCount,
  type UplinkRecords,
} from '../../../../../src/decisions/announcement/sessions/quiet-uplinks.ts';
import { reasonText } from '../../../../../src/model/reasons.ts';
import type { Family } from '../../../../../src/net/address.ts';

interface Literal {
  readonly family?: Family;
  readonly sessions?: string;
}

const uplink = (name: string, connections: number, { family = 4, sessions = 'a' }: Literal = {}): UplinkCount => ({
  family,
  interface: name,
  peers: [`${name}-v${family}`],
  prefix: family === 4 ? '192.0.2.1/32' : '2001:db8::1/128',
  sessions,
  connections,
});

/** Takes readings one after the other, one a minute. */
function read(...readings: readonly (readonly UplinkCount[])[]): UplinkRecords {
  return readings.reduce<UplinkRecords>((records, counts, at) => noteUplinks(records, counts, `2026-01-01T00:0${at}:00Z`), new Map());
}

const found = (records: UplinkRecords): unknown[] => judgeUplinks(records).map(({ details }) => details);

describe('an uplink', () => {
  test('whose connections ended while many come by the other is named, with its share of before', () => {
    const records = read(
      [uplink('eth0', 0), uplink('eth1', 0)],
      [uplink('eth0', 60), uplink('eth1', 40)],
      [uplink('eth0', 260), uplink('eth1', 40)],
    );
    expect(judgeUplinks(records).map(reasonText)).toEqual([
      'since 2026-01-01T00:01:00Z no connection over IPv4 has come in by eth1 (BGPPeer eth1-v4), while more than 200 first packets came in by eth0; before, 40 % came in by eth1',
    ]);
  });

  test('that never had one while hundreds come by the other is named', () => {
    const records = read([uplink('eth0', 0), uplink('eth1', 0)], [uplink('eth0', 250), uplink('eth1', 0)]);
    expect(found(records)).toEqual([
      {
        interface: 'eth1',
        peers: 'eth1-v4',
        family: 'IPv4',
        prefix: '192.0.2.1/32',
        since: '2026-01-01T00:00:00Z',
        besides: 'eth0',
        connections: 200,
      },
    ]);
  });

  test('is judged for each family by itself', () => {
    const both = (v4: number, v6: number) => [
      uplink('eth0', v4),
      uplink('eth0', 300, { family: 6 }),
      uplink('eth1', 300),
      uplink('eth1', v6, { family: 6 }),
    ];
    const records = read(
      [uplink('eth0', 0), uplink('eth1', 0), uplink('eth0', 0, { family: 6 }), uplink('eth1', 0, { family: 6 })],
      both(300, 0),
    );
    expect(found(records)).toMatchObject([{ interface: 'eth1', family: 'IPv6' }]);
  });

  test.each([
    ['few come by the other', [uplink('eth0', 150), uplink('eth1', 0)]],
    ['no other has any', [uplink('eth0', 0), uplink('eth1', 0)]],
    ['it has some', [uplink('eth0', 10_000), uplink('eth1', 3)]],
    ['it is the only one', [uplink('eth1', 0)]],
  ])('is not named when %s', (_, counts) => {
    expect(
      found(
        read(
          counts.map((count) => ({ ...count, connections: 0 })),
          counts,
        ),
      ),
    ).toEqual([]);
  });

  test('that seldom had one is not named before many should have come by it', () => {
    const start = [
      [uplink('eth0', 0), uplink('eth1', 0)],
      [uplink('eth0', 990), uplink('eth1', 10)],
    ] as const;
    expect(found(read(...start, [uplink('eth0', 2_900), uplink('eth1', 10)]))).toEqual([]);
    expect(found(read(...start, [uplink('eth0', 3_100), uplink('eth1', 10)]))).toMatchObject([{ before: 1, connections: 1_600 }]);
  });

  test('is named no longer after one connection by it', () => {
    const quiet = read([uplink('eth0', 0), uplink('eth1', 0)], [uplink('eth0', 300), uplink('eth1', 0)]);
    expect(found(noteUplinks(quiet, [uplink('eth0', 310), uplink('eth1', 1)], ''))).toEqual([]);
  });

  test('begins anew with a new session, and with counters that begin anew', () => {
    const quiet = read([uplink('eth0', 0), uplink('eth1', 0)], [uplink('eth0', 300), uplink('eth1', 0)]);
    expect(found(noteUplinks(quiet, [uplink('eth0', 310), uplink('eth1', 0, { sessions: 'b' })], ''))).toEqual([]);
    const again = noteUplinks(quiet, [uplink('eth0', 20), uplink('eth1', 0)], '');
    expect(again.get('4 eth1')?.unmatched).toBe(320);
  });

  test('is judged by what the kernel counted before the process began only as the past', () => {
    const records = read([uplink('eth0', 500), uplink('eth1', 0)]);
    expect(found(records)).toEqual([]);
    const known = read([uplink('eth0', 500), uplink('eth1', 500)], [uplink('eth0', 620), uplink('eth1', 500)]);
    expect(found(known)).toMatchObject([{ interface: 'eth1', before: 50 }]);
  });

  test('has a text that changes seldom while connections go on', () => {
    const texts = new Set<string>();
    let records = read([uplink('eth0', 0), uplink('eth1', 0)]);
    for (let count = 0; count < 100_000; count += 100) {
      records = noteUplinks(records, [uplink('eth0', count), uplink('eth1', 0)], 'later');
      texts.add(JSON.stringify(judgeUplinks(records)));
    }
    expect(texts.size).toBeLessThan(12);
  });
});
