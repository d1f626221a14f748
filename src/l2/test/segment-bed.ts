import { address, formatAddress } from '../../../src/net/address.ts';
import { Engine } from '../../../src/l2/engine/engine.ts';
import { stallTime } from '../../../src/l2/limits.ts';
import type { L2Event } from '../../../src/l2/status.ts';
import type { AddressEntry, PeerSession, Table } from '../../../src/l2/table.ts';
import { MemorySegment, type Flight, type MemoryTransport } from './memory-segment.ts';
import { encodeArp } from '../../../src/l2/wire/arp.ts';
import { decodeFrame, type Frame } from '../../../src/l2/wire/frame.ts';
import { broadcastMac, formatMac, type Mac } from '../../../src/l2/wire/mac.ts';
import { multicastMac, solicitedNodeGroup } from '../../../src/l2/wire/multicast.ts';
import { encodeSolicitation } from '../../../src/l2/wire/ndp.ts';
import type { Cancel, Clock } from '../../../src/system/clock.ts';
import { seededRandom } from '../../../src/system/random.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

export const macOf = (index: number): Mac => 0x0200_0000_0000 + index + 1;
export const clientMac: Mac = 0x0200_0000_ff00;
const clientAddress = { 4: address('192.0.2.254'), 6: address('2001:db8::fe') } as const;

/** BFD of the bed: the interval and the detection time in milliseconds. */
const bfdInterval = 50;
const detectionTime = 150;

/** The clock of a node that may not run: its timers wait until it does. */
class NodeClock implements Clock {
  isStopped = false;
  dateOffset = 0;
  readonly #clock: VirtualClock;
  #waiting: (() => void)[] = [];

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  date(): Date {
    return new Date(this.#clock.date().getTime() + this.dateOffset);
  }

  after(milliseconds: number, callback: () => void): Cancel {
    let isCancelled = false;
    const run = (): void => {
      if (isCancelled) return;
      if (this.isStopped) this.#waiting.push(run);
      else callback();
    };
    const cancel = this.#clock.after(milliseconds, run);
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  resume(): void {
    this.isStopped = false;
    for (const run of this.#waiting.splice(0)) run();
  }
}

/** One node: an engine, its place on the segment, and its view of the BFD sessions. */
export class BedNode {
  readonly name: string;
  readonly index: number;
  readonly events: L2Event[] = [];
  readonly bed: SegmentBed;
  clock: NodeClock;
  transport: MemoryTransport;
  engine: Engine;
  isAlive = true;
  /** Since when it runs without a pause. */
  runsSince: number;
  #stoppedAt: number | undefined;
  table: Table;
  readonly sessions = new Map<number, PeerSession>();

  constructor(bed: SegmentBed, index: number, table: Table) {
    this.bed = bed;
    this.index = index;
    this.name = `n${index}`;
    this.table = table;
    this.clock = new NodeClock(bed.clock);
    this.transport = bed.segment.host(this.name, macOf(index));
    this.engine = this.#start();
    this.runsSince = bed.clock.now();
  }

  get isRunning(): boolean {
    return this.isAlive && !this.clock.isStopped;
  }

  stateOf(text: string): string {
    return this.engine.stateOf(text, 'eth0') ?? 'none';
  }

  setTable(table: Table): void {
    this.table = table;
    this.engine.setTable(table);
  }

  /** Ends at once, as by SIGKILL. */
  kill(): void {
    this.isAlive = false;
    this.engine.close();
    this.bed.segment.unplug(this.name);
    this.sessions.clear();
  }

  restart(): void {
    if (this.isAlive) this.kill();
    this.isAlive = true;
    this.clock = new NodeClock(this.bed.clock);
    this.transport = this.bed.segment.host(this.name, macOf(this.index));
    this.engine = this.#start();
    this.runsSince = this.bed.clock.now();
  }

  pause(): void {
    if (!this.isRunning) return;
    this.clock.isStopped = true;
    this.transport.asleep = true;
    this.#stoppedAt = this.bed.clock.now();
  }

  /** Runs on, as the thread does: the stall is noticed first, then the frames that wait are read, then timers ring. */
  resume(): void {
    if (!this.isAlive || this.#stoppedAt === undefined) return;
    const gap = this.bed.clock.now() - this.#stoppedAt;
    this.#stoppedAt = undefined;
    this.clock.isStopped = false;
    this.runsSince = this.bed.clock.now();
    if (gap > stallTime) this.engine.stalled(gap);
    this.transport.wake();
    this.engine.drained();
    this.clock.resume();
  }

  /** The state of the session with another node, as BFD reports it. */
  session(peer: number, state: PeerSession): void {
    if (this.sessions.get(peer) === state) return;
    this.sessions.set(peer, state);
    this.engine.sessionChanged(`bfd-n${peer}`, state);
  }

  #start(): Engine {
    const engine = new Engine({ clock: this.clock, random: this.bed.random, transport: this.transport }, (event) => {
      this.events.push(event);
    });
    engine.setTable(this.table);
    return engine;
  }
}

interface BedOptions {
  readonly seed?: number;
  readonly nodes: number;
  readonly addresses: readonly string[];
  /** The order of the candidates of each address, as numbers of nodes. Default: by number, rotated by the address. */
  readonly ranks?: (at: number) => readonly number[];
  readonly bfd?: boolean;
  readonly everHeld?: boolean;
  readonly entry?: Partial<AddressEntry>;
}

/** Nodes and a client on one segment, on a virtual clock. */
export class SegmentBed {
  readonly clock = new VirtualClock();
  readonly segment = new MemorySegment(this.clock);
  readonly random: () => number;
  readonly nodes: BedNode[] = [];
  readonly client: MemoryTransport;
  /** Answers that the client has received: address and MAC. */
  readonly answers: { readonly address: string; readonly mac: Mac; readonly at: number }[] = [];
  /** The latest MAC that the client learned for an address, by an answer or an announcement. */
  readonly neighbours = new Map<string, Mac>();
  blocksBfd = false;
  readonly #options: BedOptions;
  readonly #heard = new Map<string, number>();

  constructor(options: BedOptions) {
    this.#options = options;
    this.random = seededRandom(options.seed ?? 1);
    this.segment.delay = () => 0.05 + this.random() * 0.2;
    this.client = this.segment.host('client', clientMac);
    this.client.open('c0');
    this.client.listen({ received: (_, octets) => this.#clientReceives(octets), reopened: () => undefined, linkChanged: () => undefined });
    for (let index = 0; index < options.nodes; index++) this.nodes.push(new BedNode(this, index, this.tableFor(index)));
    const tick = (): void => {
      this.#bfd();
      this.clock.after(bfdInterval, tick);
    };
    // A session takes a while to come up.
    if (options.bfd !== false) this.clock.after(100, tick);
  }

  tableFor(index: number): Table {
    const { nodes, addresses, everHeld = true, entry, ranks, bfd } = this.#options;
    const numbers = Array.from({ length: nodes }, (_, number) => number);
    const order = ranks ?? ((at: number) => numbers.map((number) => (number + at) % nodes));
    return {
      node: `n${index}`,
      links: [
        {
          interface: 'eth0',
          mac: formatMac(macOf(index)),
          peers: numbers
            .filter((number) => number !== index)
            .map((number) => ({
              node: `n${number}`,
              mac: formatMac(macOf(number)),
              ...(bfd === false ? {} : { session: `bfd-n${number}` }),
            })),
        },
      ],
      addresses: addresses.map((address, at) => ({
        address,
        interface: 'eth0',
        candidates: order(at).map((number) => `n${number}`),
        everHeld,
        ...entry,
      })),
    };
  }

  node(index: number): BedNode {
    const node = this.nodes[index];
    if (node === undefined) throw new Error(`there is no node ${index}`);
    return node;
  }

  /** Drops frames between these hosts, one way. */
  block(...pairs: readonly (readonly [from: string, to: string])[]): void {
    const blocked = new Set(pairs.map(([from, to]) => `${from}>${to}`));
    this.segment.loses = ({ from, to }: Flight) => blocked.has(`${from}>${to}`);
  }

  /** Names of the running nodes that hold the address, as the nodes say. */
  owners(text: string): string[] {
    return this.nodes
      .filter((node) => node.isRunning && ['owner', 'keeping', 'leaving'].includes(node.stateOf(text)))
      .map(({ name }) => name);
  }

  /** The client asks for an address by a broadcast. */
  ask(text: string): void {
    const target = address(text);
    this.client.send(
      'c0',
      target.family === 4
        ? encodeArp({
            etherDestination: broadcastMac,
            etherSource: clientMac,
            operation: 'request',
            senderMac: clientMac,
            sender: clientAddress[4],
            targetMac: 0,
            target,
          })
        : encodeSolicitation({
            etherDestination: multicastMac(solicitedNodeGroup(target)),
            etherSource: clientMac,
            source: clientAddress[6],
            destination: solicitedNodeGroup(target),
            target,
            sourceLink: clientMac,
          }),
    );
  }

  /** Asks, and returns the nodes that answer within 5 ms. */
  answering(text: string): string[] {
    const before = this.answers.length;
    this.ask(text);
    this.clock.advance(5);
    return this.answers
      .slice(before)
      .filter((answer) => answer.address === text)
      .map(({ mac }) => `n${mac - macOf(0)}`);
  }

  /** Frames that a node sent since a time, decoded. */
  sent(node: string, since = 0): Frame[] {
    return this.segment.log
      .filter(({ from, at }) => from === node && at >= since)
      .map(({ octets }) => decodeFrame(octets))
      .filter((frame): frame is Frame => typeof frame !== 'string');
  }

  /** True if a frame from one host to the other arrives at present. */
  reaches(from: string, to: string): boolean {
    return !this.segment.loses({ from, to, octets: new Uint8Array() });
  }

  #clientReceives(octets: Uint8Array): void {
    const frame = decodeFrame(octets);
    if (typeof frame === 'string' || frame.kind === 'solicitation') return;
    const [claimed, mac, isAnswer] =
      frame.kind === 'arp'
        ? [frame.sender, frame.senderMac, frame.operation === 'reply' && frame.etherDestination === clientMac]
        : [frame.target, frame.targetLink ?? 0, frame.solicited];
    const text = formatAddress(claimed);
    this.neighbours.set(text, mac);
    if (isAnswer) this.answers.push({ address: text, mac, at: this.clock.now() });
  }

  /** Each running node sends to all others. A session is up while both sides hear each other. */
  #bfd(): void {
    const now = this.clock.now();
    for (const from of this.nodes) {
      if (!from.isRunning || this.blocksBfd) continue;
      for (const to of this.nodes)
        if (to.isRunning && from !== to && this.reaches(from.name, to.name)) this.#heard.set(`${from.index}>${to.index}`, now);
    }
    const hears = (to: BedNode, from: BedNode): boolean =>
      now - (this.#heard.get(`${from.index}>${to.index}`) ?? -Infinity) < detectionTime;
    for (const node of this.nodes) {
      if (!node.isRunning) continue;
      for (const peer of this.nodes) if (peer !== node) node.session(peer.index, hears(node, peer) && hears(peer, node) ? 'Up' : 'Down');
    }
  }
}
