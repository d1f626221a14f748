import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sessionStates } from '../../../../src/bfd/wire/codes.ts';
import { ControlPacket, decodeControlPacket, encodeControlPacket } from '../../../../src/bfd/wire/control-packet.ts';
import { hex, toHex } from '../../../bgp/test/hex.ts';
import { runs } from '../../../../test/support/property.ts';

const uint32 = fc.nat({ max: 0xffff_ffff });
const anyPacket: fc.Arbitrary<ControlPacket> = fc
  .record({
    diagnostic: fc.nat({ max: 31 }),
    state: fc.constantFrom(...sessionStates),
    bits: fc.constantFrom({ poll: false, final: false }, { poll: true, final: false }, { poll: false, final: true }),
    controlPlaneIndependent: fc.boolean(),
    demand: fc.boolean(),
    detectMultiplier: fc.integer({ min: 1, max: 255 }),
    myDiscriminator: fc.integer({ min: 1, max: 0xffff_ffff }),
    yourDiscriminator: fc.integer({ min: 1, max: 0xffff_ffff }),
    desiredMinTxInterval: uint32,
    requiredMinRxInterval: uint32,
    requiredMinEchoRxInterval: uint32,
  })
  .map(({ bits, ...fields }) => ({ ...fields, ...bits }));

/** Name, octets in hexadecimal, and the fields they encode. */
const vectors: readonly (readonly [string, string, Partial<ControlPacket>])[] = [
  [
    'the first packet of a session',
    '20 40 03 18  00000001 00000000  000f4240 000493e0 00000000',
    {
      state: 'Down',
      detectMultiplier: 3,
      myDiscriminator: 1,
      desiredMinTxInterval: 1_000_000,
      requiredMinRxInterval: 300_000,
    },
  ],
  [
    'Init with the discriminator that it received',
    '20 80 05 18  fedcba98 80000001  000f4240 0000c350 00000000',
    { state: 'Init', detectMultiplier: 5, myDiscriminator: 0xfedcba98, yourDiscriminator: 0x80000001, requiredMinRxInterval: 50_000 },
  ],
  [
    'Up with the Poll bit, from a peer that accepts echo packets',
    '20 e8 ff 18  00000007 00000009  ffffffff 00000000 0000c350',
    {
      state: 'Up',
      poll: true,
      controlPlaneIndependent: true,
      detectMultiplier: 255,
      myDiscriminator: 7,
      yourDiscriminator: 9,
      desiredMinTxInterval: 0xffff_ffff,
      requiredMinRxInterval: 0,
      requiredMinEchoRxInterval: 50_000,
    },
  ],
  [
    'Up with Final and Demand',
    '20 d2 03 18  00000007 00000009  0000c350 0000c350 00000000',
    { state: 'Up', final: true, demand: true, myDiscriminator: 7, yourDiscriminator: 9 },
  ],
  [
    'administratively down',
    '27 00 03 18  00000007 00000009  000f4240 0000c350 00000000',
    { state: 'AdminDown', diagnostic: 7, detectMultiplier: 3, myDiscriminator: 7 },
  ],
];

function decoded(octets: Uint8Array): ControlPacket | string {
  const packet = new ControlPacket();
  return decodeControlPacket(octets, packet) ?? packet;
}

function encoded(packet: ControlPacket): Uint8Array {
  const octets = new Uint8Array(24);
  encodeControlPacket(packet, octets);
  return octets;
}

describe('the codec of control packets', () => {
  test.each(vectors)('BFD-001 a packet is decoded and encoded: %s', (_, text, fields) => {
    const packet = decoded(hex(text));
    expect(packet).toMatchObject(fields);
    expect(toHex(encoded(packet as ControlPacket))).toBe(toHex(hex(text)));
  });

  test('BFD-001 every packet survives encoding and decoding', () => {
    fc.assert(
      fc.property(anyPacket, (packet) => {
        expect(decoded(encoded(packet))).toEqual(packet);
      }),
    );
  });

  test("BFD-001 octets after the packet's length are ignored", () => {
    const [, text = ''] = vectors[0] ?? [];
    expect(decoded(hex(`${text} ffffffff`))).toEqual(decoded(hex(text)));
  });

  test('a reused record keeps nothing of the previous packet', () => {
    fc.assert(
      fc.property(anyPacket, anyPacket, (first, second) => {
        const packet = new ControlPacket();
        decodeControlPacket(encoded(first), packet);
        decodeControlPacket(encoded(second), packet);
        expect(packet).toEqual(second);
      }),
    );
  });

  test('BFD-014 a packet with Poll and Final cannot be encoded', () => {
    expect(() => encoded(Object.assign(new ControlPacket(), { poll: true, final: true }))).toThrow(/Poll/);
  });
});

describe('BFD-002 reasons for which a packet is discarded', () => {
  const good = '20 c0 03 18  00000007 00000009  0000c350 0000c350 00000000';
  test.each([
    ['no octets', '', 'length'],
    ['23 octets', good.slice(0, -2), 'length'],
    ['version 0', good.replace('20', '00'), 'version'],
    ['version 2', good.replace('20', '40'), 'version'],
    ['a length of 23', good.replace('18', '17'), 'length'],
    ['a length beyond the datagram', good.replace('18', '19'), 'length'],
    ['a length of 25 with authentication', `${good.replace('20 c0 03 18', '20 c4 03 19')} 0102`, 'length'],
    ['detect multiplier 0', good.replace('03 18', '00 18'), 'detectMultiplier'],
    ['the Multipoint bit', good.replace('c0', 'c1'), 'multipoint'],
    ['my discriminator 0', good.replace('00000007', '00000000'), 'myDiscriminator'],
    ['your discriminator 0 while Up', good.replace('00000009', '00000000'), 'yourDiscriminator'],
    ['your discriminator 0 in Init', good.replace('c0', '80').replace('00000009', '00000000'), 'yourDiscriminator'],
    ['authentication', `${good.replace('20 c0 03 18', '20 c4 03 1a')} 0102`, 'authentication'],
  ])('a packet with %s is discarded', (_, text, reason) => {
    expect(decoded(hex(text))).toBe(reason);
  });

  test('your discriminator 0 is accepted while the sender is Down or AdminDown', () => {
    for (const flags of ['40', '00']) expect(decoded(hex(good.replace('c0', flags).replace('00000009', '00000000')))).toBeTypeOf('object');
  });

  test('BFD-035 an authenticated packet is discarded even if everything else is valid', () => {
    expect(decoded(hex(`${good.replace('20 c0 03 18', '20 c4 03 24')} 010c01 ${'41'.repeat(9)}`))).toBe('authentication');
  });

  test('no octets make the decoder throw, and an accepted packet encodes to the same octets', () => {
    const anyOctets = fc.oneof(
      fc.uint8Array({ maxLength: 80 }),
      // A valid packet with up to two octets changed.
      fc.array(fc.tuple(fc.nat({ max: 23 }), fc.nat({ max: 255 })), { maxLength: 2 }).map((changes) => {
        const octets = hex(good);
        for (const [at, value] of changes) octets[at] = value;
        return octets;
      }),
    );
    fc.assert(
      fc.property(anyOctets, (octets) => {
        const packet = decoded(octets);
        if (typeof packet === 'string' || (packet.poll && packet.final)) return;
        const again = encoded(packet);
        // Compares all octets except the length, which may be larger than necessary.
        expect(toHex(again.subarray(0, 3)) + toHex(again.subarray(4))).toBe(toHex(octets.subarray(0, 3)) + toHex(octets.subarray(4, 24)));
      }),
      { numRuns: runs(5_000) },
    );
  });
});
