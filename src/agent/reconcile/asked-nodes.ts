import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Change, Snapshot } from '../../model/store/snapshot.ts';
import type { Cancel } from '../../system/clock.ts';
import type { Surroundings } from '../../system/random.ts';
import { limits } from '../limits.ts';
import { readinessText, settingsText } from './other-nodes.ts';
import type { ServicePlan } from './service-plan.ts';

interface AskedNodesOptions {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  readonly plans: () => ReadonlyMap<ServiceKey, Pick<ServicePlan, 'asked'>>;
  readonly requeue: (services: Iterable<ServiceKey>) => void;
}

/** The state of another node as far as choices of next hops depend on it. */
interface AskedNode {
  readonly settings: string;
  readonly readiness: string;
  readonly differing: ReadonlySet<ServiceKey>;
}

/**
 * Plans Services again whose routes depend on other nodes (`maxNextHops`) when one of these nodes changes or falls silent: the Services that
 * asked the node, and only the one concerned if the node's report differs in one. A Node that comes, goes or gets other labels concerns all
 * Services with a bound.
 */
export class AskedNodes {
  readonly #components: Surroundings;
  readonly #options: AskedNodesOptions;
  readonly #known = new Map<string, AskedNode>();
  #nextCheck: Cancel | undefined;

  constructor(components: Surroundings, options: AskedNodesOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Called before the first Service is planned. */
  start(): void {
    if (this.#isNeeded()) this.#begin();
  }

  /** Called with every change of the source. */
  onChanges(changes: readonly Change[]): void {
    if (!this.#isNeeded()) return;
    if (this.#nextCheck === undefined) {
      // Whoever sets the first bound has all Services planned again.
      this.#begin();
      return;
    }
    const touched = new Set(changes.flatMap(({ kind, key }) => (kind === 'Node' || kind === 'NodeState' ? [key] : [])));
    this.#check(touched);
  }

  stop(): void {
    this.#nextCheck?.();
  }

  #isNeeded(): boolean {
    return this.#options
      .snapshot()
      .advertisements.values()
      .some(({ maxNextHops }) => maxNextHops !== undefined);
  }

  #begin(): void {
    const snapshot = this.#options.snapshot();
    this.#known.clear();
    for (const name of snapshot.nodes.keys()) this.#remember(name, this.#read(snapshot, name));
    this.#checkLater();
  }

  /** A report that grows stale causes no change of the source. */
  #checkLater(): void {
    this.#nextCheck = this.#components.clock.after(limits.nodeDrainPollMilliseconds, () => {
      this.#nextCheck = undefined;
      if (!this.#isNeeded()) return;
      this.#checkLater();
      this.#check(this.#options.snapshot().nodes.keys());
    });
  }

  #check(names: Iterable<string>): void {
    const snapshot = this.#options.snapshot();
    const affected = new Set<ServiceKey>();
    for (const name of names) {
      if (name === this.#options.node) continue;
      const [before, after] = [this.#known.get(name), this.#read(snapshot, name)];
      this.#remember(name, after);
      for (const key of this.#servicesAffected(name, before, after)) affected.add(key);
    }
    if (affected.size > 0) this.#options.requeue(affected);
  }

  *#servicesAffected(name: string, before: AskedNode | undefined, after: AskedNode | undefined): Iterable<ServiceKey> {
    const concernsAll = before?.settings !== after?.settings;
    const concernsAsking = before?.readiness !== after?.readiness;
    const differing = (before?.differing ?? new Set<ServiceKey>()).symmetricDifference(after?.differing ?? new Set<ServiceKey>());
    if (!concernsAll && !concernsAsking && differing.size === 0) return;
    for (const [key, { asked }] of this.#options.plans()) {
      if (asked === undefined) continue;
      if (concernsAll || ((concernsAsking || differing.has(key)) && asked.includes(name))) yield key;
    }
  }

  #read(snapshot: Snapshot, name: string): AskedNode | undefined {
    const node = snapshot.nodes.get(name);
    if (node === undefined) return undefined;
    const differing = new Set((snapshot.nodeStates.get(name)?.differing ?? []).map(({ service }) => service));
    const now = this.#components.clock.date().getTime();
    return { settings: settingsText(node), readiness: readinessText(snapshot, node, now), differing };
  }

  #remember(name: string, state: AskedNode | undefined): void {
    if (state === undefined) this.#known.delete(name);
    else this.#known.set(name, state);
  }
}
