import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { Framer } from '../../../../src/bgp/wire/framer.ts';
import { withHeader, keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { encodeUpdate } from '../../../../src/bgp/wire/update.ts';
import { hex, marker, toHex } from '../hex.ts';
import { runs } from '../../../../test/support/property.ts';

const extended = 65_535;
const none = new Uint8Array(0);

interface Setting {
  readonly maximum?: number;
  readonly enhancedRouteRefresh?: boolean;
}

function framerOf({ maximum, enhancedRouteRefresh = false }: Setting): Framer {
  const framer = new Framer(maximum);
  framer.setEnhancedRouteRefresh(enhancedRouteRefresh);
  return framer;
}

/** Returns "2 00000000" for a frame (type, body) and "fault 1/2 1001" for a fault (code/subcode, data), which ends the list. */
function frames(chunks: readonly Uint8Array[], setting: Setting = {}): string[] {
  const framer = framerOf(setting);
  const found: string[] = [];
  for (const chunk of chunks) {
    framer.push(chunk);
    for (let next = framer.next(); next.kind !== 'needMore'; next = framer.next()) {
      if (next.kind === 'fault') return [...found, `fault ${next.fault.code}/${next.fault.subcode} ${toHex(next.fault.data)}`];
      found.push(`${next.type} ${toHex(next.body)}`);
    }
  }
  return found;
}

const octetByOctet = (stream: Uint8Array): Uint8Array[] => Array.from(stream, (octet) => Uint8Array.of(octet));
const header = (length: number, type: number): Uint8Array => hex(`${marker}${length.toString(16).padStart(4, '0')}0${type}`);
const message = (length: number, type: number): Uint8Array => {
  const bytes = new Uint8Array(length);
  bytes.set(header(length, type));
  return bytes;
};
/** Returns the result of the framer for a header alone, without its body. */
const headerResult = (bytes: Uint8Array, setting: Setting = {}): string => frames([bytes], setting)[0] ?? 'needMore';

describe('validation of a header by the framer', () => {
  test.each(Array.from({ length: 16 }, (_, at) => at))('BGP-001 a marker octet %i that is not ff is fault 1/1', (at) => {
    const bytes = keepaliveMessage.slice();
    bytes[at] = 0xfe;
    expect(headerResult(bytes)).toBe('fault 1/1 ');
  });

  test.each([
    [0, '0000'],
    [18, '0012'],
  ])('BGP-002 a length of %i is fault 1/2 with the length as data, for every type', (length, data) => {
    for (const type of [1, 2, 3, 4, 5, 9]) expect(headerResult(header(length, type))).toBe(`fault 1/2 ${data}`);
  });

  test('BGP-003 a length of 4097 without RFC 8654 is fault 1/2 with the length as data', () => {
    for (const type of [1, 2, 3, 4, 5, 9]) expect(headerResult(header(4097, type))).toBe('fault 1/2 1001');
    expect(headerResult(header(4096, 2))).toBe('needMore');
    expect(headerResult(header(extended, 2))).toBe('fault 1/2 ffff');
  });

  test.each([
    ['OPEN', 1, 29, 4096],
    ['UPDATE', 2, 23, 4096],
    ['NOTIFICATION', 3, 21, 4096],
    ['KEEPALIVE', 4, 19, 19],
    ['ROUTE-REFRESH', 5, 23, 23],
  ])('BGP-004 a length that is impossible for %s is fault 1/2', (_, type, shortest, longest) => {
    for (let length = 19; length < shortest; length++) expect(headerResult(header(length, type))).toMatch(/^fault 1\/2 00/);
    expect(frames([message(shortest, type)])).toHaveLength(1);
    expect(frames([message(shortest, type)])[0]).toMatch(/^\d 0*$/);
    if (longest < 4096) expect(headerResult(header(longest + 1, type))).toMatch(/^fault 1\/2 00/);
    else expect(frames([message(longest, type)])[0]).toMatch(/^\d 0+$/);
  });

  test.each([0, 6, 9, 77, 255])('BGP-005 the unknown type %i is fault 1/3 with the type as data', (type) => {
    const bytes = keepaliveMessage.slice();
    bytes[18] = type;
    expect(headerResult(bytes)).toBe(`fault 1/3 ${type.toString(16).padStart(2, '0')}`);
  });

  test('BGP-006 with RFC 8654 OPEN and KEEPALIVE keep their bounds, other types reach 65535', () => {
    const setting = { maximum: extended };
    expect(headerResult(header(4097, 1), setting)).toBe('fault 1/2 1001');
    expect(headerResult(header(4097, 4), setting)).toBe('fault 1/2 1001');
    expect(headerResult(header(24, 5), setting)).toBe('fault 1/2 0018');
    for (const type of [2, 3]) expect(frames([message(extended, type)], setting)).toEqual([`${type} ${'00'.repeat(extended - 19)}`]);
    expect(frames([message(extended, 5)], { ...setting, enhancedRouteRefresh: true })[0]).toMatch(/^fault 7\/1/);
  });

  test('BGP-006 the longer bound applies from the next message on', () => {
    const framer = new Framer();
    framer.push(keepaliveMessage);
    expect(framer.next()).toMatchObject({ kind: 'frame', type: 4 });
    framer.setMaximum(extended);
    framer.push(message(5000, 2));
    expect(framer.next()).toMatchObject({ kind: 'frame', type: 2 });
  });
});

test('BGP-007 messages above 4096 octets are encoded only when the caller gives a longer bound', () => {
  const attributes = (length: number): Uint8Array => new Uint8Array(length - 23);
  expect(encodeUpdate(none, attributes(4096), none)).toHaveLength(4096);
  expect(() => encodeUpdate(none, attributes(4097), none)).toThrow('a message of 4097 octets');
  expect(encodeUpdate(none, attributes(extended), none, extended)).toHaveLength(extended);
  expect(() => encodeUpdate(none, attributes(extended + 1), none, extended)).toThrow('a message of 65536 octets');
});

describe('BGP-008 framing of a stream cut into any chunks', () => {
  test('single octets, and a hundred messages in one chunk, give the same messages', () => {
    const list = Array.from({ length: 100 }, (_, i) => withHeader(2, new Uint8Array(4 + i).fill(i)));
    const stream = Buffer.concat(list);
    const expected = list.map((bytes) => `2 ${toHex(bytes.subarray(19))}`);
    expect(frames([stream])).toEqual(expected);
    expect(frames(octetByOctet(stream))).toEqual(expected);
  });

  test('any chunks of any messages give the same messages, with any setting', () => {
    const any = fc.oneof(
      fc.constant(keepaliveMessage),
      fc.uint8Array({ minLength: 4, maxLength: 200 }).map((body) => withHeader(2, body)),
      fc.uint8Array({ maxLength: 12 }).map((body) => withHeader(5, body)),
      fc.constant(message(5000, 2)),
      fc.constant(hex(`${marker}001300`)),
    );
    const setting = fc.record({ maximum: fc.constantFrom(4096, extended), enhancedRouteRefresh: fc.boolean() });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 12 }), fc.array(fc.nat(400)), setting, (list, sizes, setting) => {
        const stream = Uint8Array.from(list.flatMap((bytes) => [...bytes]));
        const chunks: Uint8Array[] = [];
        let offset = 0;
        for (const size of sizes) {
          chunks.push(stream.subarray(offset, offset + size));
          offset += size;
        }
        chunks.push(stream.subarray(offset));
        const expected = frames([stream], setting);
        expect(frames(chunks, setting)).toEqual(expected);
        expect(frames(octetByOctet(stream), setting)).toEqual(expected);
      }),
      { numRuns: runs(100) },
    );
  });

  test('returned frames do not change while more octets arrive', () => {
    const list = Array.from({ length: 40 }, (_, i) => withHeader(2, new Uint8Array(30).fill(i)));
    const stream = Buffer.concat(list);
    const framer = new Framer();
    const bodies: Uint8Array[] = [];
    for (let offset = 0; offset < stream.length; offset += 37) {
      framer.push(stream.subarray(offset, offset + 37));
      for (let next = framer.next(); next.kind === 'frame'; next = framer.next()) bodies.push(next.body);
    }
    expect(bodies.map(toHex)).toEqual(list.map((bytes) => toHex(bytes.subarray(19))));
    expect(stream.equals(Buffer.concat(list))).toBe(true);
  });

  test('18 octets are not a message yet', () => {
    expect(frames([keepaliveMessage.subarray(0, 18)])).toEqual([]);
  });
});

/** Feeds the stream octet by octet; returns how many octets were copied, allocated for copies, and held at most. */
function work(stream: Uint8Array, maximum: number): { copied: number; allocated: number; pending: number } {
  const chunks = octetByOctet(stream);
  const framer = new Framer(maximum);
  const spy = vi.spyOn(Uint8Array.prototype, 'set');
  let pending = 0;
  for (const chunk of chunks) {
    framer.push(chunk);
    for (let next = framer.next(); next.kind === 'frame'; next = framer.next());
    pending = Math.max(pending, framer.pending);
  }
  const copied = spy.mock.calls.reduce((sum, [source]) => sum + source.length, 0);
  const allocated = [...new Set(spy.mock.contexts as Uint8Array[])].reduce((sum, target) => sum + target.length, 0);
  spy.mockRestore();
  return { copied, allocated, pending };
}

describe("BGP-009 the size of the framer's buffer", () => {
  test('a header allocates only what has arrived, not the length it announces', () => {
    const framer = new Framer(extended);
    framer.push(header(extended, 2));
    expect(framer.next()).toEqual({ kind: 'needMore' });
    expect(framer.pending).toBe(19);
  });

  test('a message of 65535 octets that arrives octet by octet is copied only a few times', () => {
    const { copied, allocated, pending } = work(message(extended, 2), extended);
    expect(pending).toBe(extended - 1);
    expect(copied).toBeGreaterThanOrEqual(extended - 1);
    expect(copied).toBeLessThan(4 * extended);
    expect(allocated).toBeLessThan(4 * extended);
  });

  test('many small messages cost no more copying than one large message', () => {
    const small = Buffer.concat(Array.from({ length: 600 }, () => message(100, 2)));
    expect(work(small, extended).copied).toBeLessThan(4 * small.length);
  });

  test('BGP-010 octets after a fault are dropped, and the fault stays', () => {
    const framer = new Framer();
    framer.push(Buffer.concat([header(18, 4), keepaliveMessage]));
    const result = framer.next();
    expect(result.kind).toBe('fault');
    framer.push(keepaliveMessage);
    expect(framer.pending).toBe(0);
    expect(framer.next()).toBe(result);
  });
});

describe('BGP-083 a ROUTE-REFRESH of a wrong length', () => {
  const refresh = (body: string): Uint8Array => withHeader(5, hex(body));
  const enhanced = { enhancedRouteRefresh: true };

  test('a wrong length is fault 1/2 with the length as data, from the header alone', () => {
    expect(headerResult(header(22, 5))).toBe('fault 1/2 0016');
    expect(headerResult(header(24, 5))).toBe('fault 1/2 0018');
  });

  test.each(['', '0001', '000100', '000101', '0001020100'])(
    'a wrong length after RFC 7313 is fault 7/1 with the whole message as data: %s',
    (body) => {
      const bytes = refresh(body);
      expect(frames([bytes.subarray(0, -1)], enhanced)).toEqual([]);
      expect(frames([bytes, keepaliveMessage], enhanced)).toEqual([`fault 7/1 ${toHex(bytes)}`]);
    },
  );

  test.each(['000103', '0001090101'])('an unknown subtype after RFC 7313 is accepted with any length: %s', (body) => {
    expect(frames([refresh(body), keepaliveMessage], enhanced)).toEqual([`5 ${body}`, '4 ']);
  });
});
