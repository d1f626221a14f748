import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Framer } from '../../../../src/bgp/wire/framer.ts';
import { encodeMessage, keepaliveMessage } from '../../../../src/bgp/wire/message.ts';
import { hex, marker, toHex } from '../hex.ts';

function frames(chunks: readonly Uint8Array[]): string[] {
  const framer = new Framer();
  const found: string[] = [];
  for (const chunk of chunks) {
    framer.push(chunk);
    for (let next = framer.next(); next.kind !== 'needMore'; next = framer.next()) {
      found.push(next.kind === 'frame' ? `${next.type} ${toHex(next.body)}` : `fault ${next.fault.code}/${next.fault.subcode}`);
      if (next.kind === 'fault') return found;
    }
  }
  return found;
}

describe('the framer', () => {
  test.each([
    ['a marker that is not all ones', `${'ff'.repeat(15)}fe001304`, '1/1', ''],
    ['length 18', `${marker}001204`, '1/2', '0012'],
    ['length 4097', `${marker}100102`, '1/2', '1001'],
    ['an OPEN of 28', `${marker}001c01`, '1/2', '001c'],
    ['an UPDATE of 22', `${marker}001602`, '1/2', '0016'],
    ['a NOTIFICATION of 20', `${marker}001403`, '1/2', '0014'],
    ['a KEEPALIVE of 20', `${marker}001404`, '1/2', '0014'],
    ['a ROUTE-REFRESH of 22', `${marker}001605`, '1/2', '0016'],
    ['type 0', `${marker}001300`, '1/3', '00'],
    ['type 77', `${marker}00134d`, '1/3', '4d'],
  ])('%s is a fault, decided from the header alone', (_, header, error, data) => {
    const framer = new Framer();
    framer.push(hex(header));
    const result = framer.next();
    if (result.kind !== 'fault') throw new Error(result.kind);
    expect(`${result.fault.code}/${result.fault.subcode}`).toBe(error);
    expect(toHex(result.fault.data)).toBe(data);
    framer.push(keepaliveMessage);
    expect(framer.next()).toBe(result);
  });

  test('18 octets are no message yet', () => {
    expect(frames([keepaliveMessage.subarray(0, 18)])).toEqual([]);
  });

  test('gives the same messages however the stream is cut', () => {
    const message = fc.oneof(
      fc.constant(keepaliveMessage),
      fc.uint8Array({ minLength: 4, maxLength: 200 }).map((body) => encodeMessage(2, body)),
      fc.constant(hex(`${marker}001300`)),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), fc.array(fc.nat(400)), (list, sizes) => {
        const stream = Uint8Array.from(list.flatMap((bytes) => [...bytes]));
        const chunks: Uint8Array[] = [];
        let offset = 0;
        for (const size of sizes) {
          chunks.push(stream.subarray(offset, offset + size));
          offset += size;
        }
        chunks.push(stream.subarray(offset));
        expect(frames(chunks)).toEqual(frames([stream]));
        expect(frames([...stream].map((byte) => Uint8Array.of(byte)))).toEqual(frames([stream]));
      }),
      { numRuns: 60 },
    );
  });
});
