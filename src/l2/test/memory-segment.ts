import type { Random } from '../../../src/system/random.ts';
import type { Clock } from '../../../src/system/clock.ts';
import { isGroupMac, readMac, type Mac } from '../../../src/l2/wire/mac.ts';
import type { LinkNews, Transport, TransportEvents } from '../../../src/l2/transport/transport.ts';

/** A frame on its way from one host to another. */
export interface Flight {
  readonly from: string;
  readonly to: string;
  readonly octets: Uint8Array;
}

/** A segment inside the process: a switch that delivers to the MAC address, or to all. The test decides what is lost and delayed. */
export class MemorySegment {
  /** Every frame that a host sent, with the time. The test may shorten it. */
  readonly log: { readonly from: string; readonly at: number; readonly octets: Uint8Array }[] = [];
  /** Milliseconds that a frame takes. */
  delay: (flight: Flight) => number = () => 0.1;
  loses: (flight: Flight) => boolean = () => false;
  readonly #clock: Clock;
  readonly #hosts = new Map<string, MemoryTransport>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Plugs a host in. The name is that of the node; a host that restarts gets a new transport with the same name. */
  host(name: string, mac: Mac): MemoryTransport {
    const host = new MemoryTransport(name, mac, (octets) => this.#carry(name, octets));
    this.#hosts.set(name, host);
    return host;
  }

  unplug(name: string): void {
    this.#hosts.delete(name);
  }

  /** Loses this share of the frames. */
  loseAtRandom(random: Random, share: number): void {
    this.loses = () => random() < share;
  }

  #carry(from: string, octets: Uint8Array): void {
    const copy = octets.slice();
    this.log.push({ from, at: this.#clock.now(), octets: copy });
    const destination = readMac(copy, 0);
    for (const [to, host] of this.#hosts) {
      if (to === from || (destination !== host.mac && !isGroupMac(destination))) continue;
      const flight = { from, to, octets: copy };
      if (this.loses(flight)) continue;
      this.#clock.after(this.delay(flight), () => {
        if (this.#hosts.get(to) === host) host.arrive(copy);
      });
    }
  }
}

/** The only interface of a host on a segment, whatever its name. */
export class MemoryTransport implements Transport {
  readonly name: string;
  readonly mac: Mac;
  /** Groups that were joined, as text of their octets. */
  readonly groups = new Set<string>();
  /** Why the next join fails. */
  joinProblem: string | undefined;
  /** Frames wait until `wake` while the host does not run. */
  asleep = false;
  readonly #waiting: Uint8Array[] = [];
  readonly #send: (octets: Uint8Array) => void;
  #events: TransportEvents | undefined;
  #interface: string | undefined;

  constructor(name: string, mac: Mac, send: (octets: Uint8Array) => void) {
    this.name = name;
    this.mac = mac;
    this.#send = send;
  }

  listen(events: TransportEvents): void {
    this.#events = events;
  }

  open(networkInterface: string): void {
    this.#interface = networkInterface;
  }

  close(): void {
    this.#interface = undefined;
  }

  send(_: string, octets: Uint8Array): boolean {
    if (this.#interface === undefined) return false;
    this.#send(octets);
    return true;
  }

  join(_: string, group: Uint8Array): string | undefined {
    if (this.joinProblem === undefined) this.groups.add(Buffer.from(group).toString('hex'));
    return this.joinProblem;
  }

  leave(_: string, group: Uint8Array): void {
    this.groups.delete(Buffer.from(group).toString('hex'));
  }

  problem(): undefined {
    return undefined;
  }

  drops(): undefined {
    return undefined;
  }

  arrive(octets: Uint8Array): void {
    if (this.asleep) this.#waiting.push(octets);
    else if (this.#interface !== undefined) this.#events?.received(this.#interface, octets);
  }

  /** The kernel of the host tells something about the interface. */
  tell(news: LinkNews): void {
    if (this.#interface !== undefined) this.#events?.linkChanged(this.#interface, news);
  }

  /** Delivers the frames that arrived meanwhile. */
  wake(): void {
    this.asleep = false;
    for (const octets of this.#waiting.splice(0)) this.arrive(octets);
  }
}
