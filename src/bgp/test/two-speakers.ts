import { Speaker, type Peer, type PeerOptions, type SpeakerOptions } from '../../../src/bgp/index.ts';
import { MemoryNetwork, type MemoryHost } from '../../../src/bgp/transport/memory-network.ts';
import { address } from '../../../src/net/address.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { logInto } from './scripted-router.ts';

/** One end of a network with two hosts: a host, its speaker, and the speaker's peer, which is the other end. */
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

  /** Starts the speaker with its one peer; `change` overrides the peer's options. */
  start(change: Partial<PeerOptions> = {}, options: SpeakerOptions = { listen: [{}] }): void {
    const components = { clock: this.#network.clock, random: () => 0.999_999, transport: this.host, log: logInto(this.logged) };
    this.speaker = new Speaker({ ...components, ...options });
    this.peer = this.speaker.addPeer({ ...this.options, ...change });
  }

  /** Kills the process like kill -9: the kernel closes its connections without a NOTIFICATION. */
  kill(): void {
    this.host.kill();
  }

  /** Powers the host off at once and puts a new host in its place, which knows nothing of the old connections. */
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
  /** Address and router ID 10.0.0.1, AS 64512. */
  readonly left: End;
  /** Address and router ID 10.0.0.2 (the larger identifier), AS 65001. */
  readonly right: End;
}

/** Returns two real speakers, one millisecond apart, that are not started yet. */
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
