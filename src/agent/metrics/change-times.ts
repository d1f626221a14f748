import type { EndpointSlice } from '../../model/objects/endpoint-slice.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Change, Snapshot } from '../../model/store/snapshot.ts';
import type { Family } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';

type ChangedKind = 'Service' | 'EndpointSlice';

/** What has changed of a Service and is not in the kernel, or not announced: since when, by the clock's `now`. */
export interface ServiceChange {
  /** The earliest change of each kind. */
  readonly since: Map<ChangedKind, number>;
  /** The earliest change of endpoints that says when it came about, by family. */
  readonly triggered: Map<Family, number>;
  /** The kernel had it already when the pass failed later. */
  isCommitted: boolean;
}

/** kube-controller-manager writes when the pod or the Service changed, from which the change of endpoints came. */
const trigger = 'endpoints.kubernetes.io/last-change-trigger-time';

/** Since when the Services that have changed wait. What was there at the start has not changed. */
export class ChangeTimes {
  readonly #clock: Clock;
  readonly #started: number;
  readonly #waiting = new Map<ServiceKey, ServiceChange>();
  /** What the annotation of a slice said last: other changes of the slice leave it as it was. */
  readonly #triggers = new Map<string, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#started = clock.date().getTime();
  }

  get waiting(): ReadonlyMap<ServiceKey, ServiceChange> {
    return this.#waiting;
  }

  /** Returns how old, in milliseconds, the changes are that say when they came about. */
  recordChanges(changes: readonly Change[], snapshot: Snapshot): number[] {
    const now = this.#clock.now();
    const ages: number[] = [];
    for (const { kind, key, services = [] } of changes) {
      if (kind === 'Service') note(this.#of(key as ServiceKey).since, 'Service', now);
      if (kind !== 'EndpointSlice') continue;
      const slice = services.map((service) => sliceOf(snapshot, service, key)).find((found) => found !== undefined);
      const age = this.#ageOf(key, slice);
      if (age !== undefined) ages.push(age);
      for (const service of services) {
        const change = this.#of(service);
        note(change.since, 'EndpointSlice', now - (age ?? 0));
        if (age !== undefined && slice !== undefined) note(change.triggered, slice.family, now - age);
      }
    }
    return ages;
  }

  /** What waits of these Services is taken by a pass. */
  take(services: ReadonlySet<ServiceKey>): Map<ServiceKey, ServiceChange> {
    const taken = new Map([...this.#waiting].filter(([service]) => services.has(service)));
    for (const service of taken.keys()) this.#waiting.delete(service);
    return taken;
  }

  /** The pass failed. */
  restore(taken: ReadonlyMap<ServiceKey, ServiceChange>): void {
    for (const [service, before] of taken) {
      const later = this.#waiting.get(service);
      for (const [kind, since] of later?.since ?? []) note(before.since, kind, since);
      for (const [family, since] of later?.triggered ?? []) note(before.triggered, family, since);
      // What has changed since then is not in the kernel.
      if (later !== undefined) before.isCommitted = false;
      this.#waiting.set(service, before);
    }
  }

  #of(service: ServiceKey): ServiceChange {
    const known = this.#waiting.get(service);
    if (known !== undefined) return known;
    const fresh: ServiceChange = { since: new Map(), triggered: new Map(), isCommitted: false };
    this.#waiting.set(service, fresh);
    return fresh;
  }

  /** Milliseconds since the change that the slice tells of; undefined: it tells of none that is new, or of one before our start. */
  #ageOf(key: string, slice: EndpointSlice | undefined): number | undefined {
    const text = slice?.metadata.annotations[trigger];
    const before = this.#triggers.get(key);
    if (text === undefined) {
      this.#triggers.delete(key);
      return undefined;
    }
    this.#triggers.set(key, text);
    // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
    const at = Date.parse(text);
    if (text === before || Number.isNaN(at) || at < this.#started) return undefined;
    // Clocks of two machines differ.
    return Math.max(0, this.#clock.date().getTime() - at);
  }
}

function sliceOf(snapshot: Snapshot, service: ServiceKey, key: string): EndpointSlice | undefined {
  return snapshot.endpointSlices(service).find(({ metadata: { namespace, name } }) => `${namespace}/${name}` === key);
}

function note<K>(times: Map<K, number>, key: K, since: number): void {
  times.set(key, Math.min(since, times.get(key) ?? Number.POSITIVE_INFINITY));
}
