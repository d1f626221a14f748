import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sessionStates } from '../../../src/bfd/wire/codes.ts';
import { ControlPacket, decodeControlPacket } from '../../../src/bfd/wire/control-packet.ts';
import { seededRandom } from '../../../src/system/random.ts';
import { ourAddress, ScriptedPeer } from './scripted-peer.ts';
import { runs } from '../../../test/support/property.ts';

/** A packet of the peer, sent after a pause in milliseconds. */
const packet = fc.record({
  pause: fc.oneof(fc.nat({ max: 400 }), fc.nat({ max: 10_000 })),
  state: fc.constantFrom(...sessionStates),
  knowsUs: fc.boolean(),
  myDiscriminator: fc.constantFrom(77, 78),
  bits: fc.constantFrom({}, { poll: true }, { final: true }),
  demand: fc.boolean(),
  detectMultiplier: fc.integer({ min: 1, max: 4 }),
  desiredMinTxInterval: fc.constantFrom(0, 50_000, 300_000, 1_000_000),
  requiredMinRxInterval: fc.constantFrom(0, 50_000, 300_000, 2_000_000),
});

/** Options of our session, applied after a pause in milliseconds. */
const options = fc.record({
  pause: fc.nat({ max: 3_000 }),
  passive: fc.boolean(),
  adminDown: fc.boolean(),
  transmitInterval: fc.constantFrom(50, 300, 1_500),
  receiveInterval: fc.constantFrom(50, 300, 1_500),
  detectMultiplier: fc.integer({ min: 1, max: 4 }),
});

const act = fc.oneof(
  { weight: 6, arbitrary: packet.map((says) => ({ says })) },
  { weight: 1, arbitrary: options.map((wants) => ({ wants })) },
);

/** Checks each of our packets when it leaves, while the session's status still shows what the packet was based on. */
class Inspector {
  isPassive = false;
  /** True while a packet of the peer with the Poll bit is being handled. */
  isPolled = false;
  /** `#changesSeen`: the number of state changes at our last packet. `#sent`: the time of our last packet that was not an answer to a poll. */
  #changesSeen = -1;
  #sent = -Infinity;

  constructor(peer: ScriptedPeer) {
    peer.wire.lose(({ from, octets, at }) => {
      if (from === ourAddress) this.#inspect(peer, octets, at);
      return false;
    });
  }

  #inspect(peer: ScriptedPeer, octets: Uint8Array, at: number): void {
    const packet = new ControlPacket();
    expect(decodeControlPacket(octets, packet)).toBeUndefined();
    const { state, remote, polling, transmitInterval } = peer.status();
    expect(packet).toMatchObject({ state, yourDiscriminator: remote.discriminator, demand: false, requiredMinEchoRxInterval: 0 });
    if (this.isPassive) expect(packet.yourDiscriminator, 'the passive side sends only to a known peer').not.toBe(0);
    if (state !== 'Up') expect(packet.desiredMinTxInterval).toBeGreaterThanOrEqual(1_000_000);
    const isStateChange = this.#changesSeen !== peer.transitions.length;
    this.#changesSeen = peer.transitions.length;
    if (packet.final) {
      expect({ poll: packet.poll, isPolled: this.isPolled }).toEqual({ poll: false, isPolled: true });
      return;
    }
    if (packet.poll) expect({ state, polling }).toEqual({ state: 'Up', polling: true });
    const passed = at - this.#sent;
    this.#sent = at;
    // A packet for a state change may leave at any time, even when the peer wants no packets.
    if (isStateChange) return;
    expect(remote.receiveInterval, 'the peer accepts no packets').not.toBe(0);
    expect(remote.demand && state === 'Up' && remote.state === 'Up' && !polling, 'the peer has demand mode').toBe(false);
    expect(passed).toBeGreaterThanOrEqual(0.75 * (transmitInterval ?? Infinity) - 1e-6);
  }
}

test('BFD-008 BFD-010 BFD-014 BFD-017 BFD-019 BFD-034 our packets obey the rules for any peer and options', () => {
  fc.assert(
    fc.property(fc.nat(), fc.array(act, { maxLength: 60 }), (seed, acts) => {
      const peer = new ScriptedPeer({}, seededRandom(seed));
      const inspector = new Inspector(peer);
      peer.configure();
      for (const one of acts) {
        if ('wants' in one) {
          const { pause, ...wants } = one.wants;
          peer.clock.advance(pause);
          inspector.isPassive = wants.passive;
          peer.configure(wants);
        } else {
          const { pause, knowsUs, bits, ...says } = one.says;
          peer.clock.advance(pause);
          inspector.isPolled = 'poll' in bits;
          const mustKnow = says.state === 'Init' || says.state === 'Up';
          peer.send({ ...says, ...bits, ...(knowsUs || mustKnow ? {} : { yourDiscriminator: 0 }) });
          inspector.isPolled = false;
        }
      }
    }),
    { numRuns: runs(200) },
  );
});
