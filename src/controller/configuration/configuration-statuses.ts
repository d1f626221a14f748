import { coversPool } from '../../decisions/announcement/advertisements.ts';
import type { KeptInPool, PoolUsage } from '../../decisions/allocation/allocator.ts';
import { effectivePools } from '../../decisions/allocation/pools/pools.ts';
import { advertisementStatus } from '../../decisions/configuration/advertisement-status.ts';
import type { ObjectStatus } from '../../decisions/configuration/object-status.ts';
import { peerStatus } from '../../decisions/configuration/peer-status.ts';
import { addressesOfOthers, type AddressesOfOthers } from '../../decisions/addresses-of-others.ts';
import { clusterAddressesIn } from '../../decisions/configuration/cluster-addresses.ts';
import { conflictsOf } from '../../decisions/configuration/pool-conflicts.ts';
import { poolStatus } from '../../decisions/configuration/pool-status.ts';
import { heraldApiVersion } from '../../model/kinds.ts';
import type { Condition } from '../../model/objects/condition.ts';
import { originText } from '../../model/objects/metadata.ts';
import type { ObjectEvent, ObjectReference } from '../../model/objects/object-event.ts';
import { type Reason, reason } from '../../model/reasons.ts';
import type { Change, Snapshot } from '../../model/store/snapshot.ts';
import type { Source, SourceProblem } from '../../sources/source.ts';
import type { Cancel } from '../../system/clock.ts';
import type { ControllerObserver, QueueFigures } from '../controller-observer.ts';
import type { EventSink } from '../events/event-sink.ts';
import { limits } from '../limits.ts';
import type { RandomSurroundings } from '../../system/random.ts';
import type { StatusWriter } from '../status-writer.ts';
import { WorkQueue } from '../queue/work-queue.ts';
import {
  configurationObject,
  isConfigurationKind,
  keysOf,
  objectKeyOf,
  partsOf,
  translatedObject,
  type ConfigurationObject,
  type ObjectKey,
} from './configuration-objects.ts';
import { objectConditions, objectEvents } from './object-conditions.ts';
import { KeyThrottle } from '../queue/key-throttle.ts';
import { PeerSessionCounts } from './peer-session-counts.ts';

interface ConfigurationStatusesComponents extends RandomSurroundings {
  readonly source: Source;
  readonly writer: StatusWriter;
  readonly events: EventSink;
  readonly observer: ControllerObserver;
  /** How much of each pool is assigned. */
  readonly usage: () => readonly PoolUsage[];
  /** Addresses that pools keep for Services that released them. */
  readonly kept: () => readonly KeptInPool[];
}

/** By pool. */
interface PoolFigures {
  readonly usage: ReadonlyMap<string, readonly PoolUsage[]>;
  readonly kept: ReadonlyMap<string, readonly KeptInPool[]>;
}

/** Kinds that say which addresses the cluster needs itself, besides the Service default/kubernetes. */
const clusterKinds = new Set<Change['kind']>(['IPAddressPool', 'Node', 'BGPPeer', 'ServiceCIDR', 'HeraldConfig']);

function isClusterAddress({ kind, key }: Change): boolean {
  return clusterKinds.has(kind) || (kind === 'Service' && key === 'default/kubernetes');
}

/**
 * Writes the status of every configuration object: whether it is in force, whether it works, and the figures of pools and peers. An object
 * is written only when its status differs, and at most once in `objectStatusMilliseconds`, so that ten thousand Services that take
 * addresses of a pool cause a handful of writes.
 */
export class ConfigurationStatuses {
  readonly #components: ConfigurationStatusesComponents;
  readonly #queue: WorkQueue<ObjectKey>;
  readonly #throttle: KeyThrottle<ObjectKey>;
  readonly #sessions = new PeerSessionCounts();
  /** The last written status, as JSON. */
  readonly #written = new Map<ObjectKey, string>();
  /** The last conditions of objects of another program, which are reported as Events only. */
  readonly #translatedConditions = new Map<ObjectKey, readonly Condition[]>();
  #unreadable: ReadonlyMap<ObjectKey, Unreadable> = new Map();
  #figures: PoolFigures = { usage: new Map(), kept: new Map() };
  #conflicts: ReadonlyMap<string, readonly string[]> = new Map();
  /** By pool: why addresses in it that the cluster needs are a problem. */
  #clusterAddresses: ReadonlyMap<string, Reason> = new Map();
  /** The addresses of others for which `#clusterAddresses` was decided. */
  #others: AddressesOfOthers | undefined;
  #cancelUsageCheck: Cancel | undefined;

  constructor(components: ConfigurationStatusesComponents) {
    this.#components = components;
    this.#queue = new WorkQueue(
      { ...components, onFinished: (result) => components.observer.reconcileFinished('configuration', result) },
      (key) => this.#write(key),
    );
    this.#throttle = new KeyThrottle(components.clock, limits.objectStatusMilliseconds, (key) => this.#queue.add(key));
  }

  /** `recordedPools`: pools with a recorded status. Records of pools that were deleted in the meantime go. */
  start(recordedPools: readonly string[] = []): void {
    const { source, clock } = this.#components;
    this.#sessions.updateAllNodes(source.snapshot, clock.date().getTime());
    this.#conflicts = conflictsOf(source.snapshot.pools.values());
    this.#clusterAddresses = clusterAddressesIn(source.snapshot);
    this.#figures = this.#figuresNow();
    this.#unreadable = unreadableObjects(source.problems(), source.snapshot);
    this.#requeue(...keysOf(source.snapshot), ...this.#unreadable.keys());
    // An object may exist in a part that could not be read.
    if (!source.problems().some(({ severity }) => severity === 'error'))
      this.#requeue(...recordedPools.map((name) => objectKeyOf('IPAddressPool', name)));
    this.#queue.start();
  }

  figures(): QueueFigures {
    return this.#queue.figures();
  }

  /** Resolves when no work is left now. */
  settled(): Promise<void> {
    return this.#queue.idle();
  }

  async stop(): Promise<void> {
    this.#throttle.stop();
    this.#cancelUsageCheck?.();
    await this.#queue.stop();
  }

  changed(changes: readonly Change[]): void {
    const { source, clock } = this.#components;
    const { snapshot } = source;
    const now = clock.date().getTime();
    const kinds = new Set(changes.map(({ kind }) => kind));
    for (const { kind, key } of changes) if (isConfigurationKind(kind)) this.#requeue(objectKeyOf(kind, key));
    if (kinds.has('IPAddressPool')) {
      this.#conflicts = conflictsOf(snapshot.pools.values());
      this.#figures = { ...this.#figures, usage: this.#figuresNow().usage };
      this.#requeue(...keysOf(snapshot, 'IPAddressPool'));
    }
    if (changes.some(isClusterAddress) || this.#others !== addressesOfOthers(snapshot)) this.#checkClusterAddresses(snapshot);
    if (kinds.has('BGPPeer') || kinds.has('Secret') || kinds.has('BFDProfile'))
      this.#requeuePeers(this.#sessions.updateAllNodes(snapshot, now));
    for (const { kind, key } of changes) {
      if (kind === 'Node' || kind === 'NodeState') this.#requeuePeers(this.#sessions.updateNode(snapshot, key, now));
    }
    if (['IPAddressPool', 'BGPPeer', 'Node', 'Community'].some((kind) => kinds.has(kind as Change['kind'])))
      this.#requeue(...keysOf(snapshot, 'BGPAdvertisement', 'L2Advertisement'));
  }

  /** Requeues only pools with another result: Nodes change all the time, their addresses hardly ever. */
  #checkClusterAddresses(snapshot: Snapshot): void {
    const before = this.#clusterAddresses;
    this.#clusterAddresses = clusterAddressesIn(snapshot);
    this.#others = addressesOfOthers(snapshot);
    for (const name of new Set([...before.keys(), ...this.#clusterAddresses.keys()]))
      if (JSON.stringify(before.get(name)) !== JSON.stringify(this.#clusterAddresses.get(name)))
        this.#requeue(objectKeyOf('IPAddressPool', name));
  }

  problemsChanged(): void {
    const { source } = this.#components;
    const before = this.#unreadable;
    this.#unreadable = unreadableObjects(source.problems(), source.snapshot);
    for (const key of new Set([...before.keys(), ...this.#unreadable.keys()])) {
      if (JSON.stringify(before.get(key)) !== JSON.stringify(this.#unreadable.get(key))) this.#requeue(key);
    }
  }

  /** Called when addresses were assigned, released or are no longer kept. Checks once for all calls within `usageMilliseconds`. */
  usageChanged(): void {
    this.#cancelUsageCheck ??= this.#components.clock.after(limits.usageMilliseconds, () => {
      this.#cancelUsageCheck = undefined;
      const before = this.#figures;
      const now = this.#figuresNow();
      this.#figures = now;
      const textOf = ({ usage, kept }: PoolFigures, pool: string): string => jsonText([usage.get(pool), kept.get(pool)]);
      for (const pool of now.usage.keys())
        if (textOf(now, pool) !== textOf(before, pool)) this.#requeue(objectKeyOf('IPAddressPool', pool));
      this.#requeue(...this.#ofMissingPools());
    });
  }

  /** Returns the advertisements that may have an effect only because Services keep addresses of pools that are gone. */
  #ofMissingPools(): readonly ObjectKey[] {
    const { pools, advertisements, l2Advertisements } = this.#components.source.snapshot;
    const all = [...advertisements.values(), ...l2Advertisements.values()];
    return all.flatMap((one) =>
      one.ipAddressPools.some((name) => !pools.has(name)) || !pools.values().some((pool) => coversPool(one, pool))
        ? [objectKeyOf(one.kind, one.metadata.name)]
        : [],
    );
  }

  /** Called periodically, because no source reports that an agent fell silent. */
  checkTimeouts(): void {
    const { source, clock } = this.#components;
    this.#requeuePeers(this.#sessions.updateSilentNodes(source.snapshot, clock.date().getTime()));
  }

  #requeue(...keys: readonly ObjectKey[]): void {
    for (const key of keys) this.#throttle.trigger(key);
  }

  #requeuePeers(names: Iterable<string>): void {
    for (const name of names) this.#requeue(objectKeyOf('BGPPeer', name));
  }

  #figuresNow(): PoolFigures {
    const { usage, kept } = this.#components;
    return { usage: Map.groupBy(usage(), ({ pool }) => pool), kept: Map.groupBy(kept(), ({ pool }) => pool) };
  }

  async #write(key: ObjectKey): Promise<void> {
    const { source, writer } = this.#components;
    const { kind, name } = partsOf(key);
    const object = configurationObject(source.snapshot, key);
    const unreadable = this.#unreadable.get(key);
    if (object === undefined && unreadable === undefined) {
      const translated = translatedObject(source.snapshot, key);
      if (translated !== undefined) return this.#recordTranslated(key, translated);
      this.#translatedConditions.delete(key);
      this.#throttle.forgetKey(key);
      this.#written.delete(key);
      return writer.removeObject(kind, name);
    }
    const { fields, ...status } = this.#statusOf(object, unreadable);
    const generation = unreadable === undefined ? object?.metadata.generation : unreadable.generation;
    const conditions = objectConditions({ ...status, fields }, generation);
    const regarding = objectReferenceOf(kind, name, unreadable ?? object?.metadata);
    const text = jsonText([regarding.uid, conditions, fields]);
    if (this.#written.get(key) === text) return;
    const before = await writer.writeObject(regarding, { conditions, fields });
    if (before === undefined) return void this.#written.delete(key);
    this.#written.set(key, text);
    this.#recordEvents(key, objectEvents(regarding, before, conditions));
  }

  /** Records the Events of an object of another program. Nothing is written to the object. */
  #recordTranslated(key: ObjectKey, object: ConfigurationObject): void {
    const { origin, uid, resourceVersion, generation } = object.metadata;
    if (origin === undefined) return;
    const conditions = objectConditions(this.#statusOfReadable(object, this.#components.source.snapshot), generation);
    const before = this.#translatedConditions.get(key) ?? [];
    this.#translatedConditions.set(key, conditions);
    this.#recordEvents(originText(origin), objectEvents({ ...origin, uid, resourceVersion }, before, conditions));
  }

  #recordEvents(object: string, told: readonly ObjectEvent[]): void {
    const { events, log } = this.#components;
    for (const event of told) {
      events.record(event);
      const said = { object, reason: event.reason, note: event.note };
      if (event.type === 'Warning') log.warn(said, 'configuration object');
      else log.info(said, 'configuration object');
    }
  }

  #statusOf(object: ConfigurationObject | undefined, unreadable: Unreadable | undefined): ObjectStatus {
    const refused = unreadable === undefined ? {} : { refused: unreadable.reason };
    if (object === undefined) return { ...refused, ...(unreadable === undefined ? {} : { unready: unreadable.reason }), fields: {} };
    return { ...this.#statusOfReadable(object, this.#components.source.snapshot), ...refused };
  }

  #statusOfReadable(object: ConfigurationObject, snapshot: Snapshot): ObjectStatus {
    const { name } = object.metadata;
    switch (object.kind) {
      case 'IPAddressPool':
        return poolStatus(object, {
          refused: effectivePools(snapshot.pools).refused.get(name)?.reason,
          usage: this.#figures.usage.get(name) ?? [],
          conflicts: this.#conflicts.get(name) ?? [],
          clusterAddress: this.#clusterAddresses.get(name),
          released: this.#figures.kept.get(name) ?? [],
        });
      case 'BGPPeer':
        return peerStatus(object, this.#sessions.of(name));
      case 'BGPAdvertisement':
      case 'L2Advertisement':
        return advertisementStatus(object, snapshot);
      case 'BFDProfile':
      case 'Community':
      case 'ExternalIPPolicy':
      case 'HeraldConfig':
        return { fields: {} };
    }
  }
}

function objectReferenceOf(
  kind: ConfigurationObject['kind'],
  name: string,
  version: { readonly uid: string; readonly resourceVersion: string } | undefined,
): ObjectReference {
  const { uid = '', resourceVersion = '' } = version ?? {};
  return { apiVersion: heraldApiVersion, kind, namespace: '', name, uid, resourceVersion };
}

function jsonText(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part)) ?? '';
}

/** A configuration object whose current version the source refuses. An earlier version may still be in force. */
interface Unreadable {
  readonly reason: Reason;
  /** Of the refused version. "" and undefined when the source does not report them. */
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number | undefined;
}

/** Returns the first error of each configuration object. */
function unreadableObjects(problems: readonly SourceProblem[], snapshot: Snapshot): ReadonlyMap<ObjectKey, Unreadable> {
  const found = new Map<ObjectKey, Unreadable>();
  const errors = problems.filter(({ severity }) => severity === 'error');
  const named = errors.flatMap((problem) => [problem.object ?? '', ...(problem.keeps ?? [])].map((object) => ({ ...problem, object })));
  for (const { object, about, field = '', message, fix } of named) {
    const [kind = '', name = '', ...further] = object.split('/');
    if (!isConfigurationKind(kind) || name === '' || further.length > 0) continue;
    const key = objectKeyOf(kind, name);
    if (found.has(key)) continue;
    const inForce = configurationObject(snapshot, key) !== undefined;
    found.set(key, {
      reason: reason('ObjectUnreadable', { field, problem: message, remedy: fix, inForce }),
      uid: about?.uid ?? '',
      resourceVersion: about?.resourceVersion ?? '',
      generation: about?.generation,
    });
  }
  return found;
}
