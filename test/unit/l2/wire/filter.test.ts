import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeFrame } from '../../../../src/l2/wire/frame.ts';
import { socketFilter } from '../../../../src/l2/wire/filter.ts';
import { advertisement, arpRequest, client, hostileFrame, patched, solicitation } from '../frames.ts';

const ancillary = 0x1_0000_0000 - 0x1000;

/** Runs the program as the kernel does (bpf(4)). Returns true if it accepts the frame. */
function accepts(frame: Uint8Array, about: { readonly packetType?: number; readonly vlan?: boolean } = {}): boolean {
  let accumulator = 0;
  for (let at = 0, steps = 0; steps < 200; at++, steps++) {
    const [code, ifTrue, ifFalse, operand] = socketFilter[at] ?? [0, 0, 0, 0];
    const jump = (holds: boolean): void => void (at += holds ? ifTrue : ifFalse);
    switch (code) {
      case 0x28:
        if (operand + 2 > frame.length) return false;
        accumulator = ((frame[operand] ?? 0) << 8) | (frame[operand + 1] ?? 0);
        break;
      case 0x30:
        if (operand === ancillary + 4) accumulator = about.packetType ?? 0;
        else if (operand === ancillary + 48) accumulator = about.vlan === true ? 1 : 0;
        else if (operand >= frame.length) return false;
        else accumulator = frame[operand] ?? 0;
        break;
      case 0x80:
        accumulator = frame.length;
        break;
      case 0x15:
        jump(accumulator === operand);
        break;
      case 0x35:
        jump(accumulator >= operand);
        break;
      case 0x06:
        return operand > 0;
      default:
        throw new Error(`no instruction ${code} at ${at}`);
    }
  }
  throw new Error('the program does not end');
}

test.each([
  ['a request', arpRequest()],
  ['a reply', arpRequest({ operation: 'reply' })],
  ['a solicitation', solicitation()],
  ['a solicitation with options', solicitation({ sourceLink: client })],
  ['an advertisement', advertisement()],
])('L2-32 the socket filter takes %s, unless it is ours, for another host or of a VLAN', (_, frame) => {
  expect(accepts(frame)).toBe(true);
  expect([1, 2].map((packetType) => accepts(frame, { packetType }))).toEqual([true, true]);
  expect([3, 4].map((packetType) => accepts(frame, { packetType }))).toEqual([false, false]);
  expect(accepts(frame, { vlan: true })).toBe(false);
});

test.each([
  ['an IPv4 packet', patched(arpRequest(), { 13: 0 })],
  ['ARP operation 3', patched(arpRequest(), { 21: 3 })],
  ['ARP with hardware length 8', patched(arpRequest(), { 18: 8 })],
  ['short ARP', arpRequest().subarray(0, 41)],
  ['UDP over IPv6', patched(solicitation(), { 20: 17 })],
  ['hop limit 64', patched(solicitation(), { 21: 64 })],
  ['a router advertisement', patched(solicitation(), { 54: 134 })],
  ['code 1', patched(solicitation(), { 55: 1 })],
  ['a short solicitation', solicitation().subarray(0, 77)],
  ['nothing', new Uint8Array()],
])('L2-32 the socket filter drops %s', (_, frame) => {
  expect(accepts(frame)).toBe(false);
});

test('L2-32 the socket filter takes every frame that the codec accepts', () => {
  let accepted = 0;
  fc.assert(
    fc.property(hostileFrame, (frame) => {
      if (typeof decodeFrame(frame) === 'string') return;
      accepted++;
      expect(accepts(frame)).toBe(true);
    }),
    { numRuns: 20_000 },
  );
  expect(accepted).toBeGreaterThan(100);
});
