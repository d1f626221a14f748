import { formatAddress, type Address } from '../../../src/net/address.ts';
import type { VirtualClock } from '../../../src/system/virtual-clock.ts';
import type { Channel, Endpoint, Transport, TransportEvents } from '../../../src/bfd/transport/transport.ts';

/** A packet in flight. */
interface Flight {
  readonly from: string;
  readonly to: string;
  readonly octets: Uint8Array;
  /** Time of sending, in milliseconds of the clock. */
  readonly at: number;
}

/** A network inside the process. Packets take `delay` milliseconds; the test chooses which are lost. */
export class MemoryWire {
  delay = 1;
  /** All sent packets, including lost ones. */
  readonly log: Flight[] = [];
  readonly #clock: VirtualClock;
  readonly #hosts = new Map<string, MemoryTransport>();
  #loses: (flight: Flight) => boolean = () => false;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** Adds a host with this address. */
  host(address: Address): MemoryTransport {
    const host = new MemoryTransport(this, formatAddress(address));
    this.#hosts.set(formatAddress(address), host);
    return host;
  }

  /** From now on loses the packets for which `which` returns true. */
  lose(which: (flight: Flight) => boolean): void {
    this.#loses = which;
  }

  /** Called by the hosts, and by tests that play a host. */
  carry(from: string, endpoint: Pick<Endpoint, 'peer' | 'interface' | 'multihop'>, packet: Uint8Array): void {
    const to = formatAddress(endpoint.peer);
    const flight = { from, to, octets: packet.slice(), at: this.#clock.now() };
    this.log.push(flight);
    if (this.#loses(flight)) return;
    this.#clock.after(this.delay, () => {
      this.#hosts.get(to)?.arrive(flight.octets, from, endpoint.interface, endpoint.multihop !== undefined);
    });
  }
}

export class MemoryTransport implements Transport {
  readonly address: string;
  /** The result of `send`. Undefined: sending works. */
  failure: string | undefined;
  /** How often `listen` of a channel was called. */
  listened = 0;
  /** The minimum TTL of each multihop endpoint, by address of the peer. */
  readonly minimumTtls = new Map<string, number>();
  readonly #wire: MemoryWire;
  #events: TransportEvents | undefined;
  #channels = 0;

  constructor(wire: MemoryWire, address: string) {
    this.#wire = wire;
    this.address = address;
  }

  /** Number of open channels. */
  get channels(): number {
    return this.#channels;
  }

  listen(events: TransportEvents): void {
    this.#events = events;
  }

  open(endpoint: Endpoint): Channel {
    this.#channels++;
    const setMinimumTtl = (minimumTtl: number): void => void this.minimumTtls.set(formatAddress(endpoint.peer), minimumTtl);
    if (endpoint.multihop !== undefined) setMinimumTtl(endpoint.multihop.minimumTtl);
    let isOpen = true;
    return {
      receiveProblem: undefined,
      listen: () => void this.listened++,
      setMinimumTtl,
      send: (packet) => {
        if (this.failure === undefined && isOpen) this.#wire.carry(this.address, endpoint, packet);
        return this.failure;
      },
      close: () => {
        if (isOpen) this.#channels--;
        isOpen = false;
      },
    };
  }

  kernelDrops(): undefined {
    return undefined;
  }

  close(): void {
    this.#events = undefined;
  }

  /** Returns how many milliseconds a transport may block the thread, as the manager has said. Undefined: no manager listens. */
  timeToSpare(): number | undefined {
    return this.#events?.timeToSpare();
  }

  arrive(octets: Uint8Array, from: string, networkInterface: string | undefined, multihop: boolean): void {
    this.#events?.received(octets, from, networkInterface, multihop);
  }
}
