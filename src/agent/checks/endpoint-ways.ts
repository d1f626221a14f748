import { formatAddress, type Address, type Family } from '../../net/address.ts';
import type {
  AnswerQuestion,
  AnswerWay,
  DroppingInterface,
  LinkHop,
  Neighbor,
  NoWay,
  RouteAnswer,
  RouteChange,
  WrongNeighbor,
} from '../../net/endpoint-way.ts';
import { lastAddress, type Prefix } from '../../net/prefix.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { limits } from '../limits.ts';

/** Reads the ways from this host. Promises reject if the kernel does not answer. */
export interface ReadWays {
  readonly routes: (addresses: readonly Address[]) => Promise<readonly RouteAnswer[]>;
  /** The ways of answers to clients, in the order of the questions. */
  readonly answers: (questions: readonly AnswerQuestion[]) => Promise<readonly AnswerWay[]>;
  readonly neighbors: () => Promise<readonly Neighbor[]>;
  /** The names of interfaces by index. */
  readonly interfaces: () => Promise<ReadonlyMap<number, string>>;
  readonly follow: (changed: (change: RouteChange) => void) => Cancel;
}

interface EndpointWaysComponents {
  /** Absent: this host cannot be asked, so nothing is found. */
  readonly ways?: ReadWays;
  readonly clock: Clock;
  readonly log: Log;
}

interface EndpointWaysOptions {
  /** The addresses to which this node's forwarding sends connections. They may repeat. */
  readonly endpoints: () => Iterable<Address>;
  /** Finds interfaces by which packets of clients for endpoints certainly do not leave. Rejects if the kernel does not answer. Absent: there are none. */
  readonly dropping?: () => Promise<readonly DroppingInterface[]>;
  /** Returns a function that finds out, by their routes, which endpoints are not where their EndpointSlices place them. Absent: all are. */
  readonly places?: () => (address: string, route: Pick<RouteAnswer, 'hop' | 'isSpread'>) => NoWay | undefined;
  /** Called when `ways` has changed. */
  readonly onChanged: () => void;
}

/** What is known of one address. */
interface Entry {
  readonly key: string;
  readonly address: Address;
  hop?: LinkHop;
  isSpread?: true;
  problem?: string;
  /** Looks in a row that found a problem. */
  failedLooks: number;
  /** Absent: nobody has looked yet. */
  lookedAt?: number;
}

/** Attempts of the kernel to find a machine on a link that failed. */
interface FailedHop {
  readonly interface: string;
  readonly attempts: number;
  /** When the latest one failed, on the clock's scale. */
  readonly failedAt: number;
}

/**
 * Finds endpoints to which this node has no way, by its routes and neighbours. A route without a way counts when two looks in a row find it,
 * because network plugins replace routes; a machine on a link counts as missing when the kernel has asked for it twice in vain.
 *
 * The kernel reports changes of routes, so a look costs as many questions as addresses that the change concerns, and a bounded number a second.
 * Changes of neighbours are not followed: each use of a neighbour is one.
 */
export class EndpointWays {
  readonly #components: EndpointWaysComponents;
  readonly #options: EndpointWaysOptions;
  readonly #entries = new Map<string, Entry>();
  /** By family, in the order of the addresses. */
  #sorted: Readonly<Record<Family, readonly Entry[]>> = { 4: [], 6: [] };
  /** Addresses that wait for a look: those that are new or failed, before those that a change concerns. */
  readonly #first = new Set<Entry>();
  readonly #changed = new Set<Entry>();
  readonly #failedHops = new Map<string, FailedHop>();
  /** Machines on links whose entry leads to none. */
  #wrongHops: ReadonlyMap<string, WrongNeighbor> = new Map();
  #dropping: readonly DroppingInterface[] = [];
  /** Names of interfaces by index. */
  #names: ReadonlyMap<number, string> = new Map();
  #interfaces: readonly string[] = [];
  #ways: ReadonlyMap<string, NoWay> = new Map();
  #isStale = true;
  #tookEndpointsAt = Number.NEGATIVE_INFINITY;
  #turnedAt = Number.NEGATIVE_INFINITY;
  #roundAt = Number.NEGATIVE_INFINITY;
  /** When a round last took addresses at which nobody had looked for long. */
  #sweptAt = Number.NEGATIVE_INFINITY;
  /** When the planned turn comes. */
  #dueAt = Number.POSITIVE_INFINITY;
  #isRunning = false;
  #isTurning = false;
  #cancel: Cancel = () => undefined;
  #unfollow: Cancel = () => undefined;

  constructor(components: EndpointWaysComponents, options: EndpointWaysOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** The endpoints without a way, by their address as text. A new map after each change. */
  get ways(): ReadonlyMap<string, NoWay> {
    return this.#ways;
  }

  /** The interfaces by which packets for IPv4 endpoints leave, those of most endpoints first. */
  get interfaces(): readonly string[] {
    return this.#interfaces;
  }

  start(): void {
    const { ways } = this.#components;
    if (ways === undefined || this.#isRunning) return;
    this.#isRunning = true;
    this.#unfollow = ways.follow((change) => this.#onRouteChange(change));
    this.#schedule();
  }

  /** Forgets everything. `start` begins anew. */
  stop(): void {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#cancel();
    this.#unfollow();
    for (const each of [this.#entries, this.#first, this.#changed, this.#failedHops]) each.clear();
    this.#wrongHops = new Map();
    this.#dropping = [];
    this.#interfaces = [];
    this.#ways = new Map();
    this.#isStale = true;
    this.#roundAt = Number.NEGATIVE_INFINITY;
  }

  /** Called when `endpoints` may have changed. New ones are looked at within about a second. */
  endpointsChanged(): void {
    this.#isStale = true;
    this.#schedule();
  }

  /** Called when `dropping` may have changed. */
  droppingChanged(): void {
    this.#roundAt = Number.NEGATIVE_INFINITY;
    this.#schedule();
  }

  #onRouteChange(change: RouteChange): void {
    if (change === undefined) for (const entry of this.#entries.values()) this.#changed.add(entry);
    else if ('prefix' in change) for (const entry of this.#inside(change.prefix)) this.#changed.add(entry);
    else for (const entry of this.#entries.values()) if ((entry.hop?.index ?? change.index) === change.index) this.#changed.add(entry);
    if (this.#changed.size > 0) this.#schedule();
  }

  *#inside(prefix: Prefix): Iterable<Entry> {
    const entries = this.#sorted[prefix.address.family];
    const last = lastAddress(prefix).value;
    let [low, high] = [0, entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((entries[middle]?.address.value ?? 0n) < prefix.address.value) low = middle + 1;
      else high = middle;
    }
    for (let at = low; at < entries.length; at++) {
      const entry = entries[at];
      if (entry === undefined || entry.address.value > last) return;
      yield entry;
    }
  }

  /** Plans the next turn: soon when addresses wait for one, but not before the pause after the last one is over. A planned turn comes no later. */
  #schedule(): void {
    if (!this.#isRunning || this.#isTurning) return;
    const { clock } = this.#components;
    const now = clock.now();
    const waits = this.#isStale || this.#first.size > 0 || this.#changed.size > 0;
    const soon = waits ? now + limits.wayPauseMilliseconds : Number.POSITIVE_INFINITY;
    const due = Math.max(Math.min(this.#roundAt + this.#roundMilliseconds(), soon), this.#turnedAt + limits.wayTurnMilliseconds, now);
    if (due >= this.#dueAt) return;
    this.#dueAt = due;
    this.#cancel();
    this.#cancel = clock.after(due - now, () => {
      this.#dueAt = Number.POSITIVE_INFINITY;
      void this.#turn();
    });
  }

  #roundMilliseconds(): number {
    return this.#failedHops.size > 0 || this.#wrongHops.size > 0 ? limits.wayRetryMilliseconds : limits.wayRoundMilliseconds;
  }

  async #turn(): Promise<void> {
    const { ways, clock, log } = this.#components;
    if (ways === undefined || this.#isTurning) return;
    this.#isTurning = true;
    this.#turnedAt = clock.now();
    const isRound = this.#turnedAt >= this.#roundAt + this.#roundMilliseconds();
    if (isRound) this.#roundAt = this.#turnedAt;
    let entries: readonly Entry[] = [];
    try {
      if (this.#isStale || this.#turnedAt - this.#tookEndpointsAt >= limits.wayRoundMilliseconds) this.#takeEndpoints();
      entries = this.#take(isRound);
      const answers = entries.length === 0 ? [] : await ways.routes(entries.map(({ address }) => address));
      for (const [at, entry] of entries.entries()) this.#judge(entry, answers[at] ?? {});
      await this.#findInterfaces(ways);
      if (isRound) {
        this.#judgeNeighbors(await ways.neighbors());
        this.#dropping = (await this.#options.dropping?.()) ?? [];
      }
    } catch (error) {
      // The result of the last look stays valid.
      log.debug({ error }, 'the routes to endpoints cannot be read');
      for (const entry of entries) if (this.#entries.get(entry.key) === entry) this.#changed.add(entry);
    }
    this.#isTurning = false;
    if (!this.#isRunning) return;
    this.#publish();
    this.#schedule();
  }

  #takeEndpoints(): void {
    this.#isStale = false;
    this.#tookEndpointsAt = this.#turnedAt;
    const found = new Map<string, Address>();
    for (const address of this.#options.endpoints()) {
      if (found.size >= limits.wayEndpoints) break;
      found.set(formatAddress(address), address);
    }
    let isSame = true;
    for (const [key, entry] of this.#entries) {
      if (found.has(key)) continue;
      isSame = false;
      this.#entries.delete(key);
      this.#first.delete(entry);
      this.#changed.delete(entry);
    }
    for (const [key, address] of found) {
      if (this.#entries.has(key)) continue;
      isSame = false;
      const entry = { key, address, failedLooks: 0 };
      this.#entries.set(key, entry);
      this.#first.add(entry);
    }
    if (isSame) return;
    const entries = [...this.#entries.values()].toSorted((a, b) => (a.address.value < b.address.value ? -1 : 1));
    this.#sorted = { 4: entries.filter(({ address }) => address.family === 4), 6: entries.filter(({ address }) => address.family === 6) };
  }

  /** Returns the addresses for this turn. A round also takes failed ones, and those at which nobody has looked for the longest time. */
  #take(isRound: boolean): Entry[] {
    const taken = new Set<Entry>();
    const add = (entries: Iterable<Entry>, most: number = limits.waysPerTurn): void => {
      for (const entry of entries) {
        if (taken.size >= most) return;
        taken.add(entry);
      }
    };
    add(this.#first);
    add(this.#changed);
    if (isRound && taken.size < limits.waysPerRound) {
      const entries = [...this.#entries.values()];
      add(
        entries.filter(({ failedLooks }) => failedLooks > 0),
        limits.waysPerRound,
      );
      if (this.#turnedAt - this.#sweptAt >= limits.wayRoundMilliseconds) {
        this.#sweptAt = this.#turnedAt;
        add(
          entries.toSorted((a, b) => (a.lookedAt ?? 0) - (b.lookedAt ?? 0)),
          limits.waysPerRound,
        );
      }
    }
    for (const entry of taken) {
      this.#first.delete(entry);
      this.#changed.delete(entry);
    }
    return [...taken];
  }

  #judge(entry: Entry, { problem, hop, isSpread }: RouteAnswer): void {
    entry.lookedAt = this.#turnedAt;
    delete entry.problem;
    delete entry.hop;
    if (hop !== undefined) entry.hop = hop;
    delete entry.isSpread;
    if (isSpread === true) entry.isSpread = isSpread;
    if (problem === undefined) {
      entry.failedLooks = 0;
      return;
    }
    entry.problem = problem;
    entry.failedLooks++;
    if (entry.failedLooks < failedLooksNeeded && this.#entries.get(entry.key) === entry) this.#first.add(entry);
  }

  async #findInterfaces(ways: ReadWays): Promise<void> {
    const counts = new Map<number, number>();
    for (const { address, hop } of this.#entries.values())
      if (hop !== undefined) counts.set(hop.index, (counts.get(hop.index) ?? 0) + (address.family === 4 ? 1 : 0));
    if ([...counts.keys()].some((index) => !this.#names.has(index))) this.#names = await ways.interfaces();
    const inOrder = [...counts].filter(([, count]) => count > 0).toSorted(([a, first], [b, second]) => second - first || a - b);
    this.#interfaces = inOrder.flatMap(([index]) => this.#names.get(index) ?? []);
  }

  #judgeNeighbors(neighbors: readonly Neighbor[]): void {
    const used = new Set([...this.#entries.values()].flatMap(({ hop }) => (hop === undefined ? [] : hopKey(hop))));
    this.#wrongHops = new Map(
      neighbors.flatMap((one) => (one.wrong !== undefined && used.has(hopKey(one)) ? [[hopKey(one), one.wrong]] : [])),
    );
    for (const neighbor of neighbors) {
      const key = hopKey(neighbor);
      if (neighbor.state === 'known' || !used.has(key)) this.#failedHops.delete(key);
      else if (neighbor.state === 'failed') this.#noteFailure(key, neighbor);
    }
    for (const [key, { failedAt }] of this.#failedHops)
      if (!used.has(key) || this.#turnedAt - failedAt >= limits.wayFailureMilliseconds) this.#failedHops.delete(key);
  }

  /** The kernel keeps a failed entry for as long as it likes. Nobody may have sent to the address since. */
  #noteFailure(key: string, { interface: name, age }: Neighbor): void {
    const failedAt = this.#turnedAt - age;
    const known = this.#failedHops.get(key);
    if (known === undefined ? age > limits.wayRoundMilliseconds : failedAt - known.failedAt < sameFailureMilliseconds) return;
    this.#failedHops.set(key, { interface: name, attempts: (known?.attempts ?? 0) + 1, failedAt });
  }

  #publish(): void {
    const ways = new Map<string, NoWay>();
    const misplaced = this.#options.places?.();
    for (const entry of this.#entries.values()) {
      const way = this.#wayOf(entry) ?? misplaced?.(entry.key, entry);
      if (way !== undefined) ways.set(entry.key, way);
    }
    if (JSON.stringify([...ways]) === JSON.stringify([...this.#ways])) return;
    this.#ways = ways;
    this.#components.log.info({ endpoints: ways.size }, 'the endpoints without a way changed');
    this.#options.onChanged();
  }

  #wayOf({ address, problem, failedLooks, hop }: Entry): NoWay | undefined {
    if (problem !== undefined) return failedLooks < failedLooksNeeded ? undefined : { kind: 'unroutable', route: problem };
    const name = hop === undefined ? undefined : this.#names.get(hop.index);
    const dropping = this.#dropping.find(
      (one) => one.interface === name && one.families.includes(address.family) && !(one.onLinkOnly === true && hop?.isGateway === true),
    );
    if (dropping !== undefined) return { kind: 'unroutable', route: dropping.why, remedy: dropping.remedy };
    const wrong = hop === undefined ? undefined : this.#wrongHops.get(hopKey(hop));
    if (wrong !== undefined) return { kind: 'unroutable', route: wrong.why, remedy: wrong.remedy };
    const failed = hop === undefined ? undefined : this.#failedHops.get(hopKey(hop));
    if (hop === undefined || failed === undefined || failed.attempts < failedAttemptsNeeded) return undefined;
    if (!hop.isGateway) return { kind: 'notOnLink', interface: failed.interface };
    return { kind: 'unroutable', route: `nobody on ${failed.interface} answers for the gateway ${formatAddress(hop.address)}` };
  }
}

const failedLooksNeeded = 2;
const failedAttemptsNeeded = 2;
/** The kernel counts the age of a neighbour's state in hundredths of a second. */
const sameFailureMilliseconds = 100;

const hopKey = ({ index, address }: Pick<LinkHop, 'index' | 'address'>): string => `${index} ${formatAddress(address)}`;
