import { formatAddress, isLinkLocal, sameAddress, type Address } from '../../net/address.ts';
import { prefixContains } from '../../net/prefix.ts';
import type { Clock } from '../../system/clock.ts';
import { MemoryConnection } from './memory-connection.ts';
import type {
  Connection,
  ConnectionEvents,
  DialOptions,
  DiscoveryEvents,
  KernelDrops,
  Listener,
  ListenerEvents,
  ListenOptions,
  PeerKey,
  TcpAoKey,
  Transport,
} from './transport.ts';

const noVrf = 'the network in memory has no VRFs';

/** The port for `listen({ port: 0 })`. */
const ephemeralPort = 49_152;

/**
 * A network of hosts inside the process, so that two real speakers can meet on a virtual clock. Segments arrive in the order of sending,
 * after the latency. Segments sent while two hosts are cut off from each other arrive when the cut ends.
 */
export class MemoryNetwork {
  readonly clock: Clock;
  /** In milliseconds, one way. */
  readonly latency: number;
  readonly #hosts = new Set<MemoryHost>();
  readonly #cuts = new Set<{ readonly hosts: readonly MemoryHost[]; readonly held: (() => void)[] }>();

  constructor(clock: Clock, latency = 0) {
    this.clock = clock;
    this.latency = latency;
  }

  /**
   * Adds a host with these addresses and one network interface of that name. An earlier host with one of the addresses is powered off
   * first, as in a reboot.
   */
  host(addresses: readonly Address[], networkInterface = 'eth0'): MemoryHost {
    for (const address of addresses) this.hostOf(address)?.powerOff();
    const host = new MemoryHost(this, addresses, networkInterface);
    this.#hosts.add(host);
    return host;
  }

  /** Holds all packets between two hosts, in both directions, until the returned function is called. */
  cut(a: MemoryHost, b: MemoryHost): () => void {
    const cut = { hosts: [a, b], held: [] };
    this.#cuts.add(cut);
    return () => {
      this.#cuts.delete(cut);
      for (const deliver of cut.held.splice(0)) this.#deliver(a, b, deliver);
    };
  }

  hostOf(address: Address): MemoryHost | undefined {
    return [...this.#hosts].find((host) => host.addresses.some((own) => sameAddress(own, address)));
  }

  get hosts(): readonly MemoryHost[] {
    return [...this.#hosts];
  }

  remove(host: MemoryHost): void {
    this.#hosts.delete(host);
  }

  /** Delivers something from one host to the other. */
  carry(from: MemoryHost, to: MemoryHost, deliver: () => void): void {
    this.clock.after(this.latency, () => this.#deliver(from, to, deliver));
  }

  #deliver(from: MemoryHost, to: MemoryHost, deliver: () => void): void {
    const cut = [...this.#cuts].find(({ hosts }) => hosts.includes(from) && hosts.includes(to));
    if (cut === undefined) deliver();
    else cut.held.push(deliver);
  }
}

interface MemoryListener {
  readonly options: ListenOptions;
  readonly events: ListenerEvents;
  keys: readonly PeerKey[];
}

/** A host of the network, as the transport of a speaker. */
export class MemoryHost implements Transport {
  readonly addresses: readonly Address[];
  readonly interface: string;
  /** The options of all dials of this host, in order. */
  readonly dialed: DialOptions[] = [];
  readonly #network: MemoryNetwork;
  readonly #listeners = new Set<MemoryListener>();
  readonly #ends = new Set<MemoryConnection>();
  readonly #discoveries = new Set<DiscoveryEvents>();
  #drops: KernelDrops = { missing: 0, unexpected: 0, wrong: 0, belowMinimumTtl: 0 };

  constructor(network: MemoryNetwork, addresses: readonly Address[], networkInterface: string) {
    this.#network = network;
    this.addresses = addresses;
    this.interface = networkInterface;
  }

  /** Number of open connections of this host. */
  get connections(): number {
    return this.#ends.size;
  }

  cannot({ vrf }: DialOptions): string | undefined {
    return vrf === undefined ? undefined : noVrf;
  }

  dial(options: DialOptions, events: ConnectionEvents): Connection {
    this.dialed.push(options);
    const local = options.sourceAddress ?? this.#sourceFor(options.address);
    const end = this.#end(local, options.address, options, events);
    if (local === undefined || !this.#has(local)) {
      end.fail({ kind: 'other', detail: 'the source address is not configured on this host' });
      return end;
    }
    const remote = this.#network.hostOf(options.address);
    if (remote === undefined) {
      end.fail({ kind: 'unreachable', detail: 'no route to host, or it does not answer ARP or neighbour discovery' });
      return end;
    }
    this.#network.carry(this, remote, () => remote.#receiveSyn(this, end, local, options));
    return end;
  }

  listen(options: ListenOptions, events: ListenerEvents): Listener {
    const listener: MemoryListener = { options: { ...options, port: options.port === 0 ? ephemeralPort : options.port }, events, keys: [] };
    const isIncapable = options.vrf !== undefined;
    const taken = this.#listenerFor(options.address, listener.options.port) !== undefined;
    if (!taken && !isIncapable) this.#listeners.add(listener);
    this.#network.clock.after(0, () => {
      if (isIncapable) events.failed({ kind: 'unsupported', detail: noVrf });
      else if (taken) events.failed({ kind: 'other', detail: `another program listens on port ${options.port}` });
      else if (this.#listeners.has(listener)) events.listening(listener.options.port);
    });
    return {
      setKeys: (keys) => {
        listener.keys = keys;
        return new Map();
      },
      close: () => void this.#listeners.delete(listener),
    };
  }

  kernelDrops(): KernelDrops {
    return this.#drops;
  }

  /** Finds every other host with a link-local address that runs discovery too. */
  discover(networkInterface: string, events: DiscoveryEvents): { close(): void } {
    if (networkInterface !== this.interface) {
      this.#network.clock.after(0, () => events.failed({ kind: 'other', detail: `there is no network interface ${networkInterface}` }));
      return { close: () => {} };
    }
    this.#discoveries.add(events);
    for (const other of this.#network.hosts) {
      if (other === this) continue;
      this.#advertise(other);
      other.#advertise(this);
    }
    return { close: () => void this.#discoveries.delete(events) };
  }

  countDrop(kind: keyof KernelDrops): void {
    this.#drops = { ...this.#drops, [kind]: this.#drops[kind] + 1 };
  }

  /** Ends the process: its connections and listeners close, and the peers notice it. No more events come. */
  kill(): void {
    this.#listeners.clear();
    this.#discoveries.clear();
    for (const end of this.#ends) end.sever(true);
    this.#ends.clear();
  }

  /** Turns the host off at once, without a message to any peer. */
  powerOff(): void {
    this.#network.remove(this);
    for (const end of this.#ends) end.sever(false);
    this.#ends.clear();
    this.#listeners.clear();
    this.#discoveries.clear();
  }

  #advertise(to: MemoryHost): void {
    const address = this.addresses.find(isLinkLocal);
    if (address === undefined || this.#discoveries.size === 0) return;
    this.#network.carry(this, to, () => {
      for (const events of to.#discoveries) events.found(address);
    });
  }

  #receiveSyn(from: MemoryHost, remoteEnd: MemoryConnection, source: Address, options: DialOptions): void {
    const answer = (deliver: () => void): void => this.#network.carry(this, from, deliver);
    if (!this.#has(options.address)) return; // powered off meanwhile: no answer
    const listener = this.#listenerFor(options.address, options.port);
    if (!this.#signatureIsRight(listener?.keys ?? [], source, options)) return;
    if (listener === undefined) {
      answer(() => remoteEnd.fail({ kind: 'refused', detail: 'connection refused' }));
      return;
    }
    // The kernel completes the handshake before the program learns of it, so data may come before `accept`.
    const end = this.#end(options.address, source, { ttl: 255 }, undefined);
    end.attach(remoteEnd, { mine: this, theirs: from });
    remoteEnd.attach(end, { mine: from, theirs: this });
    answer(() => remoteEnd.connect());
    this.#network.clock.after(2 * this.#network.latency, () => {
      if (!this.#listeners.has(listener)) {
        end.reject();
        return;
      }
      listener.events.connection({
        remoteAddress: source,
        ...(isLinkLocal(source) ? { interface: this.interface } : {}),
        accept: (socketOptions, events) => {
          end.accept(socketOptions, events);
          return end;
        },
        reject: () => end.reject(),
      });
    });
  }

  /** Tells whether the SYN has the expected signature. The kernel drops segments with a wrong, missing or unexpected one (RFC 2385 2). */
  #signatureIsRight(keys: readonly PeerKey[], source: Address, { password, tcpAo }: DialOptions): boolean {
    const [key] = keys.filter(({ prefix }) => prefixContains(prefix, source)).sort((a, b) => b.prefix.length - a.prefix.length);
    if (tcpAo !== undefined || key?.tcpAo !== undefined) return isTcpAoRight(key?.tcpAo?.keys ?? [], tcpAo?.keys[0]);
    if (key?.password === password) return true;
    this.countDrop(password === undefined ? 'missing' : key === undefined ? 'unexpected' : 'wrong');
    return false;
  }

  #end(local: Address | undefined, remote: Address, options: { ttl: number }, events: ConnectionEvents | undefined): MemoryConnection {
    const end = new MemoryConnection(this.#network, { local, remote, options, events, gone: () => void this.#ends.delete(end) });
    this.#ends.add(end);
    return end;
  }

  #has(address: Address): boolean {
    return this.#network.hostOf(address) === this;
  }

  #sourceFor(destination: Address): Address | undefined {
    const own = this.addresses.filter(({ family }) => family === destination.family);
    return own.find((address) => isLinkLocal(address) === isLinkLocal(destination));
  }

  #listenerFor(address: Address | undefined, port: number): MemoryListener | undefined {
    return [...this.#listeners].find(
      ({ options }) =>
        options.port === port && (options.address === undefined || address === undefined || sameAddress(options.address, address)),
    );
  }

  toString(): string {
    return this.addresses.map(formatAddress).join();
  }
}

/** Tells whether a listener with these keys takes a SYN that is signed with this one (RFC 5925 7.5). */
function isTcpAoRight(keys: readonly TcpAoKey[], signed: TcpAoKey | undefined): boolean {
  return keys.some(
    ({ sendId, receiveId, secret, algorithm }) =>
      receiveId === signed?.sendId && sendId === signed.receiveId && secret === signed.secret && algorithm === signed.algorithm,
  );
}
