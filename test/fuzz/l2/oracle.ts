import assert from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import { claimStates } from '../../../src/l2/claim/fsm.ts';
import { encodeArp } from '../../../src/l2/wire/arp.ts';
import { decodeFrame, type Frame } from '../../../src/l2/wire/frame.ts';
import { encodeAdvertisement, encodeSolicitation } from '../../../src/l2/wire/ndp.ts';
import { withChecksum } from '../../../src/l2/test/frames.ts';
import { accepts } from '../../../src/l2/test/packet-filter.ts';
import { SegmentBed } from '../../../src/l2/test/segment-bed.ts';

/** Throws when the codec breaks a promise for these octets, which need not be a valid frame. */
export function checkFrame(bytes: Uint8Array): void {
  const frame = decodeFrame(bytes);
  if (typeof frame === 'string') return assert(/^(frame|etherType|arp|ndp)[A-Za-z]*$/.test(frame), `the reason ${frame}`);
  assert(accepts(bytes), `the socket filter drops a valid ${frame.kind}`);
  const again = encoded(frame);
  assert(isDeepStrictEqual(decodeFrame(again), frame), `a re-encoded ${frame.kind} decodes to something else`);
  if (frame.kind === 'arp') assert.deepEqual(again, bytes.slice(0, 42), 'a re-encoded ARP packet has other octets');
  else checkNdp(bytes);
}

function encoded(frame: Frame): Uint8Array {
  switch (frame.kind) {
    case 'arp':
      return encodeArp(frame);
    case 'solicitation':
      return encodeSolicitation(frame);
    case 'advertisement':
      return encodeAdvertisement(frame);
  }
}

/** RFC 4861 7.1.1 and 7.1.2, read from the octets. */
function checkNdp(bytes: Uint8Array): void {
  const view = Buffer.from(bytes);
  assert(view[20] === 58 && view[21] === 255 && view[55] === 0, 'next header, hop limit or code');
  const length = view.readUInt16BE(18);
  assert(length >= 24 && 54 + length <= view.length, `a length of ${length}`);
  assert(view[62] !== 0xff, 'a multicast target');
  for (let at = 78; at < 54 + length; at += 8 * (view[at + 1] ?? 0)) assert((view[at + 1] ?? 0) > 0, 'an option of length 0');
  if (length > 255) return;
  const right = Buffer.from(withChecksum(view.subarray(0, 54 + length))).readUInt16BE(56);
  // Zero has two forms in a sum of ones' complements.
  assert.equal(view.readUInt16BE(56) % 0xffff, right % 0xffff, 'a wrong checksum');
}

/** Frames that a hostile host sends, and how long the host waits after each frame, in milliseconds. */
export interface Attack {
  readonly frames: readonly Uint8Array[];
  readonly waits: readonly number[];
  readonly onConflict: 'defend' | 'withdraw';
  readonly everHeld: boolean;
  /** The order of the candidates. Node 1 is dead, so that the frames that bear its MAC address are forged. */
  readonly ranks: readonly number[];
}

const addresses = ['192.0.2.10', '2001:db8::10'];
/** Milliseconds after which a node has forgotten whatever it heard: a foreign host for 30 s, and 10 s until it probes again. */
const recovery = 60_000;

/**
 * Throws when a node sends more than its limits allow, tells the main thread of more than one conflict a second for an address, or does not
 * answer for its addresses a while after the attack.
 */
export function checkAttack({ frames, waits, onConflict, everHeld, ranks }: Attack): void {
  const bed = new SegmentBed({ nodes: 2, addresses, everHeld, entry: { onConflict }, ranks: () => ranks });
  bed.node(1).kill();
  bed.clock.advance(2_000);
  const began = bed.clock.now();
  for (const [at, frame] of frames.entries()) {
    if (frame.length > 0) bed.client.send('c0', frame);
    bed.clock.advance(waits[at % waits.length] ?? 0);
    for (const text of addresses) assert((claimStates as readonly string[]).includes(bed.node(0).stateOf(text)), 'an unknown state');
  }
  const seconds = 1 + (bed.clock.now() - began) / 1_000;
  const conflicts = bed.node(0).events.filter(({ kind }) => kind === 'conflict').length;
  assert(conflicts <= addresses.length * (seconds + 1), `${conflicts} conflicts in ${seconds} s`);
  const sent = bed.segment.log.filter(({ from, at }) => from === 'n0' && at >= began).length;
  assert(sent <= 4 * frames.length + 200 * seconds, `${sent} frames for ${frames.length} in ${seconds} s`);
  bed.clock.advance(recovery);
  for (const text of addresses) assert.deepEqual(bed.answering(text), ['n0'], `${text} ${bed.node(0).stateOf(text)}`);
}
