import { Speaker, type Peer, type PeerOptions, type SpeakerOptions } from '../../../src/bgp/index.ts';
import { MemoryNetwork, type MemoryHost } from '../../../src/bgp/transport/memory-network.ts';
import { address } from '../../../src/net/address.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { logInto } from './scripted-router.ts';

/** One end of the network for two: a host, the speaker on it and its peer, which is the other end. */
export class End {
  readonly logged: string[] = [];
  readonly options: PeerOptions;
  host: MemoryHost;
  speaker!: Speaker;
  peer!: Peer;
  readonly #network: MemoryNetwork;

  constructor(network: MemoryNetwork, options: PeerOptions, own: string) {
    this.#network = network;
    this.options = options;
    this.host = network.host([address(own)]);
  }

  /** A process begins; `change` is of its one peer. */
  start(change: Partial<PeerOptions> = {}, options: SpeakerOptions = { listen: [{}] }): void {
    const components = { clock: this.#network.clock, random: () => 0.999_999, transport: this.host, log: logInto(this.logged) };
    this.speaker = new Speaker({ ...components, ...options });
    this.peer = this.speaker.addPeer({ ...this.options, ...change });
  }

  /** kill -9: the kernel closes the connections, and nobody says why. */
  kill(): void {
    this.host.kill();
  }

  /** The machine is gone from one moment to the next, and is another one when it comes back. */
  loseMachine(): void {
    const { addresses } = this.host;
    this.host.powerOff();
    this.host = this.#network.host(addresses);
  }

  get state(): string {
    return this.peer.status().state;
  }
}

export interface Pair {
  readonly clock: VirtualClock;
  readonly network: MemoryNetwork;
  /** 10.0.0.1, AS 64512, router ID 10.0.0.1. */
  readonly left: End;
  /** 10.0.0.2, AS 65001, router ID 10.0.0.2: the larger one. */
  readonly right: End;
}

/** Two real speakers, one millisecond apart, which do not run yet. */
export function pair(): Pair {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(clock, 1);
  const common = { holdTime: 9, connectRetryTime: 5, families: [4] } as const;
  const left: PeerOptions = {
    ...common,
    name: 'right',
    address: address('10.0.0.2'),
    localAsn: 64512,
    peerAsn: 65001,
    routerId: address('10.0.0.1'),
  };
  const right: PeerOptions = {
    ...common,
    name: 'left',
    address: address('10.0.0.1'),
    localAsn: 65001,
    peerAsn: 64512,
    routerId: address('10.0.0.2'),
  };
  return { clock, network, left: new End(network, left, '10.0.0.1'), right: new End(network, right, '10.0.0.2') };
}
