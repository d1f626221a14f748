import { Manager, type ManagerOptions } from '../../../src/bfd/manager.ts';
import type { SessionOptions } from '../../../src/bfd/session-options.ts';
import type { SessionStatus, Transition } from '../../../src/bfd/session-status.ts';
import { MemoryWire, type MemoryTransport } from './memory-wire.ts';
import { ControlPacket, decodeControlPacket, encodeControlPacket } from '../../../src/bfd/wire/control-packet.ts';
import { address } from '../../../src/net/address.ts';
import type { Random } from '../../../src/system/random.ts';
import { seededRandom } from '../../../src/system/random.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

export const ourAddress = '10.0.0.1';
export const peerAddress = '10.0.0.2';

/** A packet that we sent, with its time in milliseconds. */
export interface Sent extends ControlPacket {
  readonly at: number;
}

/** One manager on a virtual clock, with a peer whose packets the test writes. */
export class ScriptedPeer {
  readonly clock = new VirtualClock();
  readonly wire = new MemoryWire(this.clock);
  readonly transport: MemoryTransport = this.wire.host(address(ourAddress));
  readonly transitions: Transition[] = [];
  readonly manager: Manager;
  /** The fields of the peer's packets, unless a call overrides them. */
  defaultFields: Partial<ControlPacket> = {
    state: 'Down',
    detectMultiplier: 3,
    myDiscriminator: 77,
    desiredMinTxInterval: 300_000,
    requiredMinRxInterval: 300_000,
  };

  constructor(options: ManagerOptions = {}, random: Random = seededRandom(1)) {
    this.wire.delay = 0;
    const events = { changed: (_: string, transition: Transition) => void this.transitions.push(transition) };
    this.manager = new Manager({ clock: this.clock, random, transport: this.transport }, events, options);
  }

  /** Sets the one session with the peer, then advances the clock by `milliseconds`. */
  configure(options: Partial<SessionOptions> = {}, milliseconds = 0): void {
    this.manager.replaceSessions([{ name: 'peer', peer: peerAddress, ...options }]);
    this.clock.advance(milliseconds);
  }

  /** Encodes the packet that the peer would send now. */
  packet(fields: Partial<ControlPacket> = {}): Uint8Array {
    const octets = new Uint8Array(24);
    const yourDiscriminator = this.status().discriminator;
    encodeControlPacket(Object.assign(new ControlPacket(), { yourDiscriminator, ...this.defaultFields, ...fields }), octets);
    return octets;
  }

  send(fields: Partial<ControlPacket> = {}): void {
    this.transport.arrive(this.packet(fields), peerAddress, undefined, false);
    this.clock.advance(0);
  }

  /** Sends a packet every `interval` milliseconds, for `milliseconds` in total. */
  keepSending(milliseconds: number, interval = 100, fields: Partial<ControlPacket> = {}): void {
    for (let passed = 0; passed < milliseconds; passed += interval) {
      this.send(fields);
      this.clock.advance(interval);
    }
  }

  /** Brings the session up, and answers the first poll. */
  bringUp(options: Partial<SessionOptions> = {}): void {
    this.configure(options);
    this.send({ state: 'Down', yourDiscriminator: 0 });
    this.send({ state: 'Up' });
    this.defaultFields = { ...this.defaultFields, state: 'Up' };
    this.clock.advance(this.status().transmitInterval ?? 0);
    this.send({ final: true });
    this.take();
  }

  /** Returns the packets sent since the last call. */
  take(): Sent[] {
    return this.wire.log.splice(0).map(({ octets, at }) => {
      const packet = new ControlPacket();
      const fault = decodeControlPacket(octets, packet);
      if (fault !== undefined) throw new Error(`we sent a packet with a wrong ${fault}`);
      return Object.assign(packet, { at });
    });
  }

  status(): SessionStatus {
    const [session] = this.manager.status().sessions;
    if (session === undefined) throw new Error('there is no session');
    return session;
  }

  get state(): string {
    return this.status().state;
  }
}

/** Returns the times between packets, in milliseconds. */
export function gaps(packets: readonly Sent[]): number[] {
  return packets.slice(1).map(({ at }, i) => at - (packets[i]?.at ?? 0));
}
