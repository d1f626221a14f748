import { expect, test } from 'vitest';
import { localOpenMessage } from '../../../../src/bgp/negotiation/local-open.ts';
import { Speaker } from '../../../../src/bgp/index.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { encodeOpen } from '../../../../src/bgp/wire/open.ts';
import { address } from '../../../../src/net/address.ts';
import { seededRandom } from '../../../../src/system/random.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const seed = 7_606;
const count = 100;

/** Runs a hundred sessions with a switch that disappears at one moment and is back a minute later; returns all their attempts. */
function storm(random: () => number): { readonly attempts: readonly number[]; readonly backAt: number; readonly upAt: readonly number[] } {
  const clock = new VirtualClock();
  const transport = new MemoryTransport(clock);
  const attempts: number[] = [];
  const upAt: number[] = [];
  const dial = transport.dial.bind(transport);
  transport.dial = (options, events) => {
    attempts.push(clock.now());
    return dial(options, events);
  };
  const open = encodeOpen(
    localOpenMessage({ localAsn: 65001, peerAsn: 64512, routerId: 7, holdTime: 3600, families: [4], overIpv6: false }),
  );
  transport.onAccept = (remote) => remote.send(new Uint8Array([...open, ...keepaliveMessage]));
  const speaker = new Speaker({ asn: 64512, routerId: '10.0.0.2', clock, random, transport });
  for (let i = 0; i < count; i++) {
    const peer = speaker.addPeer({ name: `tor${i}`, address: address(`10.1.0.${i + 1}`), peerAsn: 65001, holdTime: 3600 });
    peer.on('established', () => upAt.push(clock.now()));
  }
  clock.advance(1_000);
  transport.answer = { kind: 'refused', detail: 'connection refused' };
  for (const remote of transport.remotes.splice(0)) remote.close({ kind: 'reset', detail: 'reset by the peer' });
  upAt.length = 0;
  attempts.length = 0;
  clock.advance(60_000);
  transport.answer = 'accept';
  const backAt = clock.now();
  clock.advance(10_000);
  return { attempts, backAt, upAt };
}

/** Returns the largest number of times in one tenth of a second. */
function maximumPerTenth(times: readonly number[]): number {
  const moments = new Map<number, number>();
  for (const time of times) moments.set(Math.floor(time / 100), (moments.get(Math.floor(time / 100)) ?? 0) + 1);
  return Math.max(...moments.values());
}

test('BGP-035 a hundred sessions lost at once reconnect spread out, and all within one pause', () => {
  const { attempts, backAt, upAt } = storm(seededRandom(seed));
  expect(upAt).toHaveLength(count);
  expect(Math.max(...upAt) - backAt, `seed=${seed}`).toBeLessThanOrEqual(5_000);
  // The attempts of 60 s, with pauses of 3.75 to 5 s.
  expect(attempts.length).toBeGreaterThanOrEqual(count * 12);
  expect(attempts.length).toBeLessThanOrEqual(count * 19);
  expect(maximumPerTenth(attempts), `seed=${seed}`).toBeLessThan(25);
  expect(maximumPerTenth(upAt), `seed=${seed}`).toBeLessThan(15);
});

test('a hundred sessions would reconnect in step without random jitter', () => {
  expect(maximumPerTenth(storm(() => 0.5).upAt)).toBe(count);
});
