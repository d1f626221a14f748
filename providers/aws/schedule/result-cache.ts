import type { Reconciliation } from '../../../src/controller/provider.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { sameContent } from '../../../src/model/store/same-content.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import { finalizer, ownAnnotations } from '../model/service-metadata.ts';

interface Entry {
  readonly service: Service;
  /** Undefined: it has to be determined again. */
  result?: Reconciliation | undefined;
}

/**
 * Caches the results of reconciles and holds the time of the next one. A reconcile costs calls to AWS, and the controller asks for many
 * reasons that do not concern AWS, such as its own status write. A result is valid until the Service or something that its load balancer
 * depends on changes, or its time has come.
 */
export class ResultCache {
  readonly #entries = new Map<ServiceKey, Entry>();
  /** Services that depend on something that has changed since their last reconcile began. */
  readonly #affected = new Set<ServiceKey>();
  /** Services whose reconcile is running, while nothing has changed since it started. */
  readonly #fresh = new Set<ServiceKey>();
  /** Milliseconds since the epoch. */
  readonly #due = new Map<ServiceKey, number>();

  /** Returns the cached result, if it is valid. `now`: milliseconds since the epoch. */
  result(key: ServiceKey, service: Service, now: number): Reconciliation | undefined {
    if ((this.#due.get(key) ?? Infinity) <= now) this.#expire(key);
    const entry = this.#entries.get(key);
    return entry !== undefined && sameRequest(entry.service, service) ? entry.result : undefined;
  }

  /** True when the Service has been reconciled before. */
  isKnown(key: ServiceKey): boolean {
    return this.#entries.has(key);
  }

  /** True when the Service differs from the one that was reconciled last. */
  isChanged(key: ServiceKey, service: Service): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && !sameRequest(entry.service, service);
  }

  /** True when something that the load balancer of the Service depends on has changed. */
  isAffected(key: ServiceKey): boolean {
    return this.#affected.has(key);
  }

  /** Something that the load balancer of the Service depends on has changed. */
  invalidate(key: ServiceKey): void {
    this.#drop(key);
    this.#affected.add(key);
  }

  startReconcile(key: ServiceKey): void {
    this.#drop(key);
    this.#affected.delete(key);
    this.#fresh.add(key);
  }

  /**
   * Stores the result for this version of the Service, unless something has changed since `startReconcile`. Repairs are not stored: they
   * are reported once.
   */
  storeResult(key: ServiceKey, service: Service, result: Reconciliation): void {
    const { repaired: _, againAfterMilliseconds: _again, ...kept } = result;
    this.#entries.set(key, { service, result: this.#fresh.delete(key) ? kept : undefined });
  }

  requeueAt(key: ServiceKey, at: number): void {
    this.#due.set(key, at);
  }

  /** Milliseconds since the epoch. Undefined: no reconcile is due. */
  dueAt(key: ServiceKey): number | undefined {
    return this.#due.get(key);
  }

  /** Returns the Services whose time has come, each once, and drops their results. */
  takeDue(now: number): ServiceKey[] {
    const due: ServiceKey[] = [];
    for (const [key, at] of this.#due) if (at <= now) due.push(key);
    for (const key of due) this.#expire(key);
    return due;
  }

  forgetService(key: ServiceKey): void {
    this.#entries.delete(key);
    this.#fresh.delete(key);
    this.#affected.delete(key);
    this.#due.delete(key);
  }

  #expire(key: ServiceKey): void {
    this.#due.delete(key);
    this.#drop(key);
  }

  #drop(key: ServiceKey): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.result = undefined;
    this.#fresh.delete(key);
  }
}

/** Ignores what Herald writes itself: finalizer, annotation and status. */
function sameRequest(a: Service, b: Service): boolean {
  return sameContent(requestOf(a), requestOf(b));
}

function requestOf(service: Service): unknown {
  const { labels: _, generation: __, annotations, finalizers = [], ...metadata } = service.metadata;
  const others = Object.entries(annotations).filter(([key]) => !ownAnnotations.has(key));
  return {
    ...service,
    ingress: [],
    metadata: { ...metadata, annotations: Object.fromEntries(others), finalizers: finalizers.filter((name) => name !== finalizer) },
  };
}
