import type { Reconciliation } from '../../../src/controller/provider.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { sameContent } from '../../../src/model/store/same-content.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import { finalizer, ownAnnotations } from '../model/service-metadata.ts';

interface Entry {
  readonly service: Service;
  readonly result: Reconciliation;
}

/**
 * What was found out about Services, and when to look at them again. To look costs calls to AWS, and the controller asks for many reasons that do
 * not concern AWS, the first of which is that it has just written the answer: so the answer holds until the Service, or something that its load
 * balancer depends on, has changed, or its time has come.
 */
export class ResultCache {
  readonly #entries = new Map<ServiceKey, Entry>();
  /** Looked at at this moment, and nothing has changed since that began. */
  readonly #fresh = new Set<ServiceKey>();
  /** Milliseconds since the epoch. */
  readonly #due = new Map<ServiceKey, number>();

  /** The answer that holds, if one does. */
  result(key: ServiceKey, service: Service): Reconciliation | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && sameRequest(entry.service, service) ? entry.result : undefined;
  }

  /** Whether another Service, or another form of it, was looked at last. */
  isChanged(key: ServiceKey, service: Service): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && !sameRequest(entry.service, service);
  }

  /** Something that its load balancer depends on has changed. */
  invalidate(key: ServiceKey): void {
    this.#entries.delete(key);
    this.#fresh.delete(key);
  }

  startReconcile(key: ServiceKey): void {
    this.#entries.delete(key);
    this.#fresh.add(key);
  }

  /** What was answered to this form of the Service. It holds unless something has changed since `begin`; what was put right was so once. */
  storeResult(key: ServiceKey, service: Service, answer: Reconciliation): void {
    if (this.#fresh.delete(key)) this.#entries.set(key, { service, result: { ...answer, repaired: [] } });
  }

  requeueAt(key: ServiceKey, at: number): void {
    this.#due.set(key, at);
  }

  /** Those whose time has come: each once, and no answer about them holds any more. */
  takeDue(now: number): ServiceKey[] {
    const due = [...this.#due].filter(([, at]) => at <= now).map(([key]) => key);
    for (const key of due) {
      this.#due.delete(key);
      this.invalidate(key);
    }
    return due;
  }

  forgetService(key: ServiceKey): void {
    this.invalidate(key);
    this.#due.delete(key);
  }
}

/** What we write ourselves, finalizer and annotation and status, is no question. */
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
