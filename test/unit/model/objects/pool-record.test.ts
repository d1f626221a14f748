import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/model/limits.ts';
import { poolRecordIn, withoutPoolRecord, withPoolRecord, type RecordedPool } from '../../../../src/model/objects/pool-record.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { runs } from '../../../support/property.ts';

const of = (pool: string, at: string, labels: RecordedPool['labels'] = {}): RecordedPool => ({ address: address(at), pool, labels });
const read = (message: string): string[] =>
  poolRecordIn(message).map(({ address, pool, labels }) => `${formatAddress(address)} ${pool} ${JSON.stringify(labels)}`);

describe('the pools in a condition', () => {
  test('stand at the end of the message, each with its addresses and labels', () => {
    const pools = [of('web', '192.0.2.1'), of('web', '2001:db8::1'), of('a.b-c', '198.51.100.1', { 'x.y/tier': 'back', b: '' })];
    const message = withPoolRecord('Yes', pools);
    expect(message).toBe('Yes (of pool web: 192.0.2.1, 2001:db8::1; a.b-c [b=, x.y/tier=back]: 198.51.100.1)');
    expect(read(message)).toEqual(['192.0.2.1 web {}', '2001:db8::1 web {}', '198.51.100.1 a.b-c {"b":"","x.y/tier":"back"}']);
    expect(withoutPoolRecord(message)).toBe('Yes');
  });

  test('come with the length of a block that an aggregate needs', () => {
    const message = withPoolRecord('Yes', [
      { ...of('web', '192.0.2.1'), block: 24 },
      { ...of('web', '2001:db8::1'), block: 0 },
    ]);
    expect(message).toBe('Yes (of pool web: 192.0.2.1/24, 2001:db8::1/0)');
    expect(poolRecordIn(message).map(({ block }) => block)).toEqual([24, 0]);
  });

  test('are absent from a message of a Service without addresses of pools', () => {
    expect(withPoolRecord('No', [])).toBe('No');
    expect(read('No')).toEqual([]);
    expect(withoutPoolRecord('No (of pool web: nothing)')).toBe('No (of pool web: nothing)');
  });

  test.each([
    ['is followed by other text', 'key "k (of pool secret: 192.0.2.1)", ports 80/TCP'],
    ['names no address', 'No (of pool web: )'],
    ['names no pool', 'No (of pool : 192.0.2.1)'],
    ['is longer than any that is written', `No (of pool web: ${'192.0.2.1, '.repeat(limits.poolRecord)}192.0.2.1)`],
  ])('are not read from text that %s', (_, message) => {
    expect(read(message)).toEqual([]);
  });

  test('are the last ones: quoted text before them does not count', () => {
    expect(read(withPoolRecord('"x (of pool secret: 192.0.2.9)"', [of('web', '192.0.2.1')]))).toEqual(['192.0.2.1 web {}']);
  });

  test('are bounded: a pool that does not fit is left out', () => {
    const long = of('long', '192.0.2.2', Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`key-${index}`, 'x'.repeat(63)])));
    expect(read(withPoolRecord('Yes', [of('web', '192.0.2.1'), long]))).toEqual(['192.0.2.1 web {}']);
  });

  test('are read as they were written', () => {
    const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?$/);
    const value = fc.stringMatching(/^([A-Za-z0-9]([A-Za-z0-9._-]{0,20}[A-Za-z0-9])?)?$/);
    const at = fc.integer({ min: 0, max: 255 }).map((octet) => (octet % 2 === 0 ? `192.0.2.${octet}` : `2001:db8::${octet.toString(16)}`));
    const key = fc.constantFrom('tier', 'x.y/zone', '__proto__x');
    const item = fc.record({ pool: name, at, labels: fc.dictionary(key, value) });
    fc.assert(
      fc.property(fc.string(), fc.uniqueArray(item, { selector: ({ pool }) => pool, maxLength: 8 }), (text, items) => {
        const message = withPoolRecord(
          text,
          items.map((one) => of(one.pool, one.at, one.labels)),
        );
        if (items.length === 0) return;
        expect(read(message).map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual(items.map((one) => `${one.at} ${one.pool}`));
        expect(poolRecordIn(message).map(({ labels }) => ({ ...labels }))).toEqual(items.map(({ labels }) => ({ ...labels })));
        expect(withoutPoolRecord(message)).toBe(text);
      }),
      { numRuns: runs(200) },
    );
  });
});
