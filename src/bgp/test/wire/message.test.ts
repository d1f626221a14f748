import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  address,
  addressBytes,
  ceaseNotification,
  decodeBody,
  decodeMessage,
  encodeEndOfRib,
  encodeMessage,
  formatPrefix,
  Framer,
  nlriOf,
  prefix,
  readPaths,
  type Message,
  type MessageContent,
  type WireSession,
} from '../../../../src/bgp/wire/index.ts';
import { hex, marker, toHex } from '../hex.ts';
import { capability, u16, u32, u8, updateContent } from './arbitraries.ts';

const extended = 65_535;

const messages: readonly [string, Message, string][] = [
  ['OPEN', { kind: 'open', version: 4, asn: 1, holdTime: 90, routerId: 1, capabilities: [] }, `${marker} 001d 01 04 0001 005a 00000001 00`],
  ['NOTIFICATION', { kind: 'notification', code: 6, subcode: 4, data: hex('') }, `${marker} 0015 03 06 04`],
  ['KEEPALIVE', { kind: 'keepalive' }, `${marker} 0013 04`],
  ['ROUTE-REFRESH', { kind: 'routeRefresh', afi: 1, subtype: 0, safi: 1 }, `${marker} 0017 05 0001 00 01`],
];

describe('encodeMessage and decodeMessage', () => {
  test.each(messages)('%s is encoded and decoded', (_, message, bytes) => {
    expect(toHex(encodeMessage(message))).toBe(toHex(hex(bytes)));
    expect(decodeMessage(hex(bytes))).toEqual({ ok: true, value: message });
  });

  test('an UPDATE is encoded, framed and decoded', () => {
    const nextHop = addressBytes(address('192.0.2.1'));
    const announced = nlriOf(4, [{ prefix: prefix('198.51.100.0/24') }], nextHop);
    const attributes = { origin: 0, asPath: [{ kind: 'sequence' as const, asns: [64512] }], nextHop };
    const bytes = encodeMessage({ kind: 'update', withdrawn: [], announced: [announced], attributes });
    const framer = new Framer();
    framer.push(bytes);
    const frame = framer.next();
    const result = frame.kind === 'frame' ? decodeBody(frame.type, frame.body) : undefined;
    if (result?.ok !== true || result.value.kind !== 'update') throw new Error('no UPDATE');
    expect(result.value.announced.flatMap((nlri) => [...readPaths(nlri)].map(({ prefix }) => formatPrefix(prefix)))).toEqual([
      '198.51.100.0/24',
    ]);
    expect(result.value.attributes).toEqual(attributes);
  });

  test.each([
    ['a truncated header', `${marker} 0013`, '1/2', '0013'],
    ['an empty message', '', '1/2', ''],
    ['a truncated body', `${marker} 0017 02 0000`, '1/2', '0017'],
    ['a surplus octet', `${marker} 0013 04 00`, '1/2', '0013'],
    ['a second message behind the first', `${marker} 0013 04 ${marker} 0013 04`, '1/2', '0013'],
    ['a wrong marker', `00${marker.slice(2)} 0013 04`, '1/1', ''],
    ['an UPDATE that resets the session', `${marker} 0017 02 0005 0000`, '3/1', ''],
  ])('BGP-084 %s is a fault', (_, bytes, error, data) => {
    const result = decodeMessage(hex(bytes));
    if (result.ok) throw new Error('no fault');
    expect(`${result.fault.code}/${result.fault.subcode}`).toBe(error);
    expect(toHex(result.fault.data)).toBe(data);
  });

  test('encodeMessage returns a new KEEPALIVE each time', () => {
    encodeMessage({ kind: 'keepalive' }).fill(0);
    expect(toHex(encodeMessage({ kind: 'keepalive' }))).toBe(`${marker}001304`);
  });

  test('BGP-007 a message above 4096 octets needs a session with extended messages', () => {
    const communities = Array.from({ length: 2000 }, (_, value) => ({ kind: 'standard' as const, value }));
    const update: MessageContent = { kind: 'update', withdrawn: [], announced: [], attributes: { communities } };
    expect(() => encodeMessage(update)).toThrow('a message of 8027 octets');
    const bytes = encodeMessage(update, { maximum: extended });
    expect(decodeMessage(bytes)).toMatchObject({ ok: false, fault: { code: 1, subcode: 2 } });
    expect(decodeMessage(bytes, { maximum: extended })).toMatchObject({ ok: true, value: { attributes: { communities } } });
    const notification: MessageContent = { kind: 'notification', ...ceaseNotification(2), data: new Uint8Array(9000) };
    expect(encodeMessage(notification)).toHaveLength(4096);
    expect(encodeMessage(notification, { maximum: extended })).toHaveLength(9021);
  });
});

describe('encoding and decoding any message', () => {
  const roundTrip = (message: MessageContent, session: WireSession = {}): Message => {
    const result = decodeMessage(encodeMessage(message, session), session);
    if (!result.ok) throw new Error(result.fault.problem);
    return result.value;
  };

  const open = fc.record({
    kind: fc.constant('open' as const),
    version: fc.constant(4),
    asn: u16,
    holdTime: u16,
    routerId: u32,
    capabilities: fc.array(capability, { maxLength: 10 }),
  });
  const notification = fc.record({
    kind: fc.constant('notification' as const),
    code: u8,
    subcode: u8,
    data: fc.uint8Array({ maxLength: 4075 }),
  });
  const routeRefresh = fc.record({ kind: fc.constant('routeRefresh' as const), afi: u16, subtype: u8, safi: u8 });

  test('OPEN, NOTIFICATION, KEEPALIVE and ROUTE-REFRESH survive encoding and decoding', () => {
    const message = fc.oneof(open, notification, routeRefresh, fc.constant({ kind: 'keepalive' as const }));
    fc.assert(
      fc.property(message, (message) => {
        expect(roundTrip(message)).toEqual(message);
      }),
    );
  });

  test.each<[string, WireSession]>([
    ['an external peer', {}],
    ['an internal peer', { internal: true }],
    ['a peer with 2-octet AS numbers', { fourOctetAsn: false }],
    ['a peer that sends path identifiers', { addPathReceive: [4, 6] }],
  ])('an UPDATE of %s survives encoding and decoding', (_, kind) => {
    const session = { ...kind, maximum: extended };
    fc.assert(
      fc.property(updateContent(kind), (content) => {
        const message: MessageContent = { kind: 'update', ...content };
        expect(roundTrip(message, session)).toEqual({ ...message, treatAsWithdraw: false, faults: [] });
      }),
    );
  });

  test('End-of-RIB survives decoding and encoding', () => {
    for (const family of [4, 6] as const) {
      const bytes = encodeEndOfRib(family);
      const result = decodeMessage(bytes);
      expect(result.ok && result.value.kind === 'update' && toHex(encodeMessage(result.value))).toBe(toHex(bytes));
    }
  });
});
