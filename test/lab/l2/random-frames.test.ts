import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { address, formatAddress } from '../../../src/net/address.ts';
import { decodeFrame } from '../../../src/l2/wire/frame.ts';
import { frameOf } from '../../fuzz/l2/generate.ts';
import { Random } from '../../fuzz/random.ts';
import { arpRequest, mac, vip, vip6 } from '../../../src/l2/test/frames.ts';
import { until } from '../until.ts';
import { L2Process, Segment } from './segment.ts';

/** The frames name the addresses 192.0.2.10 and 2001:db8::10. No frame of the corpus names this one. */
const quiet = '10.77.1.2';
const seconds = 60;
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 32);
let segment: Segment;
let node: L2Process;

beforeAll(async () => {
  segment = new Segment(2);
  node = new L2Process(segment.host(0));
  const addresses = [formatAddress(vip), formatAddress(vip6), quiet].map((text) => ({
    address: text,
    interface: 'v0',
    candidates: ['n0'],
    everHeld: true,
  }));
  expect(await node.set({ node: 'n0', links: [segment.linkOf(0)], addresses })).toEqual([]);
  await until('the addresses are held', async (note) => note((await node.status()).addresses).every(({ state }) => state === 'owner'));
});
afterAll(async () => {
  await node?.kill();
  segment?.close();
});

/** Returns how many answers come to a request for the quiet address. */
function answers(): number {
  const client = mac(segment.macOf(1));
  const request = arpRequest({ etherSource: client, senderMac: client, sender: address('10.77.0.11'), target: address(quiet) });
  return segment
    .exchange(1, [request], 50)
    .map((octets) => decodeFrame(octets))
    .filter(
      (frame) => typeof frame !== 'string' && frame.kind === 'arp' && frame.operation === 'reply' && frame.etherDestination === client,
    ).length;
}

test(
  `L2-32 the node keeps its addresses and counts frames by reason in ${seconds} s of random frames`,
  async () => {
    const random = new Random(seed);
    const own = Buffer.from(segment.macOf(0).replaceAll(':', ''), 'hex');
    const end = performance.now() + seconds * 1_000;
    let sent = 0;
    while (performance.now() < end) {
      const frames = Array.from({ length: 100 }, () => {
        const frame = frameOf(random);
        if (random.chance(2) && frame.length >= 14) frame.set(own);
        // The kernel of the sender refuses shorter ones.
        return frame.length < 14 ? random.bytes(14) : frame;
      });
      segment.send(1, frames);
      sent += frames.length;
      await sleep(20);
      if (sent % 10_000 === 0) expect(answers(), `FUZZ_SEED=${seed}, after ${sent} frames`).toBe(1);
    }
    const { addresses, counters } = await node.status();
    expect(sent).toBeGreaterThan(10_000);
    expect(addresses.map(({ state }) => state)).toEqual(['owner', 'owner', 'owner']);
    const reasons = Object.entries(counters.ignored).filter(([, count]) => count > 0);
    expect(reasons.length, `FUZZ_SEED=${seed}`).toBeGreaterThan(5);
    expect(counters.foreignConflicts).toBeGreaterThan(0);
  },
  (seconds + 30) * 1_000,
);
