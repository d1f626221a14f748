import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeFrame } from '../../../../src/l2/wire/frame.ts';
import { advertisement, arpRequest, client, hostileFrame, patched, solicitation } from '../frames.ts';
import { accepts } from '../packet-filter.ts';
import { runs } from '../../../../test/support/property.ts';

test.each([
  ['a request', arpRequest()],
  ['a reply', arpRequest({ operation: 'reply' })],
  ['a solicitation', solicitation()],
  ['a solicitation with options', solicitation({ sourceLink: client })],
  ['an advertisement', advertisement()],
])('L2-32 the socket filter takes %s, unless ours, for another host or of a VLAN', (_, frame) => {
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
    { numRuns: runs(20_000) },
  );
  expect(accepted).toBeGreaterThan(runs(100));
});
