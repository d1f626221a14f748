import { lastChangeTrigger } from '../../model/annotations.ts';
import type { EndpointSlice } from '../../model/objects/endpoint-slice.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Change, Snapshot } from '../../model/store/snapshot.ts';
import type { Family } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';

type ChangedKind = 'Service' | 'EndpointSlice';

/** The changes of a Service that are not in the kernel or not announced yet. Times are by the clock's `now`. */
export interface ServiceChange {
  /** The earliest change of each kind. */
  readonly since: Map<ChangedKind, number>;
  /** The earliest endpoint change that has a trigger time, by family. */
  readonly triggered: Map<Family, number>;
  /** True if the kernel had the change before the pass failed. */
  isCommitted: boolean;
}

/** Tracks how long changed Services have been waiting. Objects that exist at the start do not count as changed. */
export class ChangeTimes {
  readonly #clock: Clock;
  readonly #started: number;
  readonly #waiting = new Map<ServiceKey, ServiceChange>();
  /** The last trigger time of each slice. Other changes of a slice leave the annotation as it was. */
  readonly #triggers = new Map<string, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#started = clock.date().getTime();
  }

  get waiting(): ReadonlyMap<ServiceKey, ServiceChange> {
    return this.#waiting;
  }

  /** Records changes. Returns the age in milliseconds of each change that has a trigger time. */
  recordChanges(changes: readonly Change[], snapshot: Snapshot): number[] {
    const now = this.#clock.now();
    const ages: number[] = [];
    for (const { kind, key, services = [] } of changes) {
      if (kind === 'Service') note(this.#changeOf(key as ServiceKey).since, 'Service', now);
      if (kind !== 'EndpointSlice') continue;
      const slice = services.map((service) => sliceOf(snapshot, service, key)).find((found) => found !== undefined);
      const age = this.#ageOf(key, slice);
      if (age !== undefined) ages.push(age);
      for (const service of services) {
        const change = this.#changeOf(service);
        note(change.since, 'EndpointSlice', now - (age ?? 0));
        if (age !== undefined && slice !== undefined) note(change.triggered, slice.family, now - age);
      }
    }
    return ages;
  }

  /** Returns the pending changes of these Services and removes them, for a pass. */
  take(services: ReadonlySet<ServiceKey>): Map<ServiceKey, ServiceChange> {
    const taken = new Map([...this.#waiting].filter(([service]) => services.has(service)));
    for (const service of taken.keys()) this.#waiting.delete(service);
    return taken;
  }

  /** Makes the changes of a failed pass pending again. */
  restore(taken: ReadonlyMap<ServiceKey, ServiceChange>): void {
    for (const [service, before] of taken) {
      const later = this.#waiting.get(service);
      for (const [kind, since] of later?.since ?? []) note(before.since, kind, since);
      for (const [family, since] of later?.triggered ?? []) note(before.triggered, family, since);
      // The kernel does not have the later change.
      if (later !== undefined) before.isCommitted = false;
      this.#waiting.set(service, before);
    }
  }

  #changeOf(service: ServiceKey): ServiceChange {
    const known = this.#waiting.get(service);
    if (known !== undefined) return known;
    const fresh: ServiceChange = { since: new Map(), triggered: new Map(), isCommitted: false };
    this.#waiting.set(service, fresh);
    return fresh;
  }

  /** Returns the milliseconds since the trigger time of the slice. Undefined: there is none, it is not new, or it is before our start. */
  #ageOf(key: string, slice: EndpointSlice | undefined): number | undefined {
    const text = slice?.metadata.annotations[lastChangeTrigger];
    const before = this.#triggers.get(key);
    if (text === undefined) {
      this.#triggers.delete(key);
      return undefined;
    }
    this.#triggers.set(key, text);
    // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
    const at = Date.parse(text);
    if (text === before || Number.isNaN(at) || at < this.#started) return undefined;
    // The clocks of two machines differ.
    return Math.max(0, this.#clock.date().getTime() - at);
  }
}

function sliceOf(snapshot: Snapshot, service: ServiceKey, key: string): EndpointSlice | undefined {
  return snapshot.endpointSlices(service).find(({ metadata: { namespace, name } }) => `${namespace}/${name}` === key);
}

function note<K>(times: Map<K, number>, key: K, since: number): void {
  times.set(key, Math.min(since, times.get(key) ?? Number.POSITIVE_INFINITY));
}
