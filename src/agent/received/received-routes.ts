import { selectBestPath, type Peer, type PerFamily, type ReceivedRoute } from '../../bgp/index.ts';
import { ReceivedRouteSet } from '../../dataplane/received-routes/received-route-set.ts';
import type { KernelRoute, ReceivedRouteTable } from '../../dataplane/received-routes/received-table.ts';
import { decideReceived, type ReceivedContext, type ReceivedDecision } from '../../decisions/received-routes/decision.ts';
import { guardedDestinations, type ConnectedNetwork, type GuardedDestinations } from '../../decisions/received-routes/guarded-ranges.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, parseAddress } from '../../net/address.ts';
import { formatPrefix, hostPrefix, maskedPrefix, type Prefix } from '../../net/prefix.ts';
import type { Cancel } from '../../system/clock.ts';
import type { Host } from '../../system/host.ts';
import { limits } from '../limits.ts';
import type { Surroundings } from '../../system/random.ts';
import { SettledPeers } from './settled-peers.ts';

export interface ReceivedRoutesComponents extends Surroundings {
  /** Absent: this machine takes no routes. */
  readonly receivedTable?: ReceivedRouteTable;
  readonly host: Pick<Host, 'interfaces'>;
  /** Calls the function when a link or an address of this host may have changed, until cancelled. Absent: only time shows it. */
  readonly followLinks?: (changed: () => void) => Cancel;
}

interface ReceivedRoutesOptions {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  readonly peers: () => ReadonlyMap<string, Peer>;
  /** Called when the numbers of routes may have changed. */
  readonly onStatusChanged: () => void;
}

/** A received route, and the next hop that it adds or the reason why it adds none. */
export interface ReceivedState {
  readonly route: ReceivedRoute;
  readonly installed: boolean;
  readonly reason?: Reason;
}

interface Decided {
  readonly prefix: Prefix;
  readonly decision: ReceivedDecision<ReceivedRoute>;
}

/**
 * Puts the routes that peers announced and the decision selects into the kernel. A change of a peer's routes is decided and applied in the
 * next turn of the event loop; only the prefixes that it concerns are looked at.
 */
export class ReceivedRoutes {
  readonly #components: ReceivedRoutesComponents;
  readonly #options: ReceivedRoutesOptions;
  readonly #set: ReceivedRouteSet | undefined;
  readonly #settled: SettledPeers;
  readonly #following = new Map<Peer, () => void>();
  /** By the text of the prefix, as all of these. */
  readonly #decided = new Map<string, Decided>();
  readonly #due = new Map<string, Prefix>();
  /** Prefixes in the kernel. */
  readonly #taken = new Set<string>();
  /** Prefixes that do not go into the kernel because it has too many. */
  readonly #surplus = new Map<string, Prefix>();
  /** Prefixes that no peer has any more, and that stay in the kernel until the sessions of this process are settled. */
  readonly #deferred = new Map<string, Prefix>();
  /** Addresses of peers that received routes must not be used for. */
  #excluded: ReadonlyMap<string, Prefix> = new Map();
  #guarded: GuardedDestinations = { ranges: [], peers: new Map() };
  #guardedText = '';
  #counts: ReadonlyMap<string, PerFamily> | undefined;
  /** Undefined: to be collected anew. */
  #nextHops: ReadonlySet<string> | undefined;
  #cancelRun: Cancel | undefined;
  #unfollowLinks: Cancel | undefined;
  #started = false;
  #stopped = false;

  constructor(components: ReceivedRoutesComponents, options: ReceivedRoutesOptions) {
    const { receivedTable: table, clock, log } = components;
    this.#components = components;
    this.#options = options;
    this.#set = table === undefined ? undefined : new ReceivedRouteSet({ table, clock, log }, () => this.#kernelChanged());
    this.#settled = new SettledPeers(clock, () => this.#settle());
  }

  /** Takes changes of peers and of the node. Before the first `reconcile` there are no sessions, and it does nothing. */
  updateExisting(): void {
    if (this.#started) this.reconcile();
  }

  /** Follows the peers whose BGPPeer has `import`, and decides everything anew if the node or the cluster has changed. */
  reconcile(): void {
    if (this.#stopped) return;
    this.#started = true;
    const { node, snapshot, peers } = this.#options;
    const present = snapshot();
    const importing = new Set([...peers().values()].filter(({ name }) => present.peers.get(name)?.import !== undefined));
    for (const [peer, unfollow] of this.#following) {
      if (importing.has(peer)) continue;
      unfollow();
      this.#following.delete(peer);
      this.#decideAll();
    }
    for (const peer of importing) {
      if (this.#following.has(peer)) continue;
      this.#following.set(peer, this.#follow(peer));
      for (const family of [4, 6] as const) for (const { prefix } of peer.received(family)) this.#due.set(formatPrefix(prefix), prefix);
    }
    this.#guard(importing.size === 0 ? { ranges: [], peers: new Map() } : guardedDestinations(present, node));
    if (importing.size > 0) this.#unfollowLinks ??= this.#components.followLinks?.(() => this.#linksChanged());
    else {
      this.#unfollowLinks?.();
      this.#unfollowLinks = undefined;
    }
    this.#settled.reconcile(importing);
    if (this.#due.size > 0) this.#schedule();
  }

  /** Returns the number of routes of a peer that are in the kernel. */
  installed(peer: string): PerFamily {
    this.#counts ??= this.#count();
    return this.#counts.get(peer) ?? { ipv4: 0, ipv6: 0 };
  }

  /** Returns the next hops of the routes that this node takes, as text. */
  nextHops(): ReadonlySet<string> {
    this.#nextHops ??= new Set(
      [...this.#decided.values()].flatMap(({ decision: { hops } }) => hops.map(({ address }) => formatAddress(address))),
    );
    return this.#nextHops;
  }

  /** Yields each accepted route of every peer, with what became of it. */
  *states(): Generator<ReceivedState> {
    for (const [key, { decision }] of this.#decided) {
      for (const { route, hop, reason: because } of decision.verdicts) {
        if (hop === undefined) yield { route, installed: false, reason: because };
        else {
          const missing = this.#whyMissing(key, route);
          yield missing === undefined ? { route, installed: true } : { route, installed: false, reason: missing };
        }
      }
    }
  }

  /** The routes stay in the kernel, for the next process. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelRun?.();
    this.#unfollowLinks?.();
    this.#settled.stop();
    for (const unfollow of this.#following.values()) unfollow();
    await this.#set?.close();
  }

  /** Also removes the routes that no peer has any more. */
  #settle(): void {
    void this.#set?.settle().then(() => this.#kernelChanged());
    for (const [key, prefix] of this.#deferred) this.#due.set(key, prefix);
    this.#deferred.clear();
    if (this.#due.size > 0) this.#schedule();
  }

  #whyMissing(key: string, { prefix, from }: ReceivedRoute): Reason | undefined {
    const named = { peer: from.peer, prefix: formatPrefix(prefix) };
    if (this.#set === undefined) return reason('ReceivedRoutesNotPossible', named);
    if (this.#surplus.has(key)) return reason('ReceivedRoutesFull', { ...named, limit: limits.receivedRoutes });
    if (this.#set.isInstalled(key)) return undefined;
    return reason('ReceivedRouteNotInstalled', { ...named, error: this.#set.problem(key) ?? 'the kernel has not answered yet' });
  }

  #follow(peer: Peer): () => void {
    return peer.on('routes', ({ changes }) => {
      for (const { route } of changes) this.#due.set(formatPrefix(route.prefix), route.prefix);
      this.#schedule();
    });
  }

  #guard(guarded: GuardedDestinations): void {
    this.#guarded = guarded;
    const text = JSON.stringify([guarded.ranges.map(({ prefix, from }) => [formatPrefix(prefix), from]), [...guarded.peers]]);
    if (text === this.#guardedText) return;
    this.#guardedText = text;
    const excluded = new Map<string, Prefix>();
    for (const address of guarded.peers.keys()) {
      const parsed = parseAddress(address);
      if (parsed.ok) excluded.set(formatPrefix(hostPrefix(parsed.value)), hostPrefix(parsed.value));
    }
    // Before the routes: a received default route must not lead to a peer for a moment.
    const changes = new Map<string, KernelRoute | undefined>([...this.#excluded.keys()].map((key) => [key, undefined]));
    for (const [key, prefix] of excluded) changes.set(key, { prefix, hops: [] });
    this.#excluded = excluded;
    if (changes.size > 0) void this.#set?.change(changes);
    this.#decideAll();
  }

  #decideAll(): void {
    for (const [key, { prefix }] of this.#decided) this.#due.set(key, prefix);
    if (this.#due.size > 0) this.#schedule();
  }

  #linksChanged(): void {
    this.#decideAll();
    this.#set?.checkSoon();
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancelRun ??= this.#components.clock.after(0, () => {
      this.#cancelRun = undefined;
      this.#run();
    });
  }

  #run(): void {
    const { peers, snapshot } = this.#options;
    const followed = [...peers().values()].filter((peer) => this.#following.has(peer));
    const context: ReceivedContext = {
      guarded: this.#guarded,
      networks: this.#networks(),
      sessionInterface: (peer) => snapshot().peers.get(peer)?.interface,
    };
    const changes = new Map<string, KernelRoute | undefined>();
    for (const [key, prefix] of this.#due) {
      const candidates = followed.flatMap((peer) => peer.receivedRoutes(prefix));
      const decision = decideReceived(candidates, context, selectBestPath);
      if (candidates.length === 0) this.#decided.delete(key);
      else this.#decided.set(key, { prefix, decision });
      this.#surplus.delete(key);
      if (candidates.length === 0 && this.#set?.isSettled === false) {
        this.#deferred.set(key, prefix);
        continue;
      }
      if (this.#excluded.has(key)) {
        this.#taken.delete(key);
        continue;
      }
      const isTaken = decision.hops.length > 0;
      if (isTaken && !this.#taken.has(key) && this.#taken.size >= limits.receivedRoutes) this.#surplus.set(key, prefix);
      else {
        if (isTaken) this.#taken.add(key);
        else this.#taken.delete(key);
        changes.set(key, isTaken ? { prefix, hops: decision.hops } : undefined);
      }
    }
    this.#due.clear();
    for (const [key, prefix] of this.#surplus) {
      if (this.#taken.size + this.#due.size >= limits.receivedRoutes) break;
      this.#due.set(key, prefix);
    }
    if (this.#due.size > 0) this.#schedule();
    this.#counts = undefined;
    this.#nextHops = undefined;
    if (changes.size > 0) void this.#set?.change(changes).then(() => this.#kernelChanged());
    else this.#options.onStatusChanged();
  }

  #kernelChanged(): void {
    this.#counts = undefined;
    if (!this.#stopped) this.#options.onStatusChanged();
  }

  #networks(): ConnectedNetwork[] {
    return this.#components.host.interfaces().flatMap(({ name, address, length }) => {
      const own = parseAddress(address);
      return own.ok ? [{ interface: name, prefix: maskedPrefix(own.value, length) }] : [];
    });
  }

  #count(): ReadonlyMap<string, PerFamily> {
    const counts = new Map<string, { ipv4: number; ipv6: number }>();
    for (const { route, installed } of this.states()) {
      if (!installed) continue;
      const of = counts.get(route.from.peer) ?? { ipv4: 0, ipv6: 0 };
      of[route.prefix.address.family === 4 ? 'ipv4' : 'ipv6']++;
      counts.set(route.from.peer, of);
    }
    return counts;
  }
}
