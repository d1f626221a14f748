import { KubeError, undefinedOn } from '../../../kube/error.ts';
import type { Requests } from '../../../kube/client/fenced-client.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { servicePath } from './service-status.ts';

/**
 * Writes Herald's metadata on Services: a finalizer, so that a deletion is noticed before the Service is gone, and annotations. A write
 * touches only the fields that it names and fails when a new Service has the name. When something is removed, a missing Service is no
 * error.
 */
export class KubernetesServiceMetadata {
  readonly #client: Requests;
  readonly #snapshot: Snapshot;
  readonly #finalizer: string;

  constructor(components: { readonly client: Requests; readonly snapshot: Snapshot }, finalizer: string) {
    this.#client = components.client;
    this.#snapshot = components.snapshot;
    this.#finalizer = finalizer;
  }

  /**
   * Resolves when the finalizer is set. Rejects with `conflict` when the Service is gone: nothing may be made for it, because its deletion
   * would not be noticed.
   */
  async addFinalizer(service: ServiceKey): Promise<void> {
    if (this.#has(service)) return;
    if (!(await this.#patch(service, { finalizers: [this.#finalizer] }))) throw new KubeError('conflict', `Service ${service} is gone`);
  }

  async removeFinalizer(service: ServiceKey): Promise<void> {
    if (!this.#has(service)) return;
    // A strategic merge patch leaves other programs' entries as they are.
    await this.#patch(service, { '$deleteFromPrimitiveList/finalizers': [this.#finalizer] });
  }

  /**
   * Sets annotations; undefined removes one. Writes nothing that is set already. Returns false when the Service changed meanwhile and must
   * be decided again.
   */
  async annotate(service: ServiceKey, annotations: Readonly<Record<string, string | undefined>>): Promise<boolean> {
    const { annotations: there = {}, resourceVersion } = this.#snapshot.services.get(service)?.metadata ?? {};
    const different = Object.entries(annotations).filter(([key, value]) => there[key] !== value);
    if (different.length === 0) return true;
    const changed = Object.fromEntries(different.map(([key, value]) => [key, value ?? null]));
    return (await undefinedOn(this.#patch(service, { resourceVersion, annotations: changed }), 'conflict')) !== undefined;
  }

  #has(service: ServiceKey): boolean {
    return this.#snapshot.services.get(service)?.metadata.finalizers?.includes(this.#finalizer) ?? false;
  }

  /** Returns false when the Service does not exist. */
  async #patch(service: ServiceKey, metadata: object): Promise<boolean> {
    const uid = this.#snapshot.services.get(service)?.metadata.uid;
    if (uid === undefined) return false;
    const patch = { contentType: 'application/strategic-merge-patch+json', body: { metadata: { uid, ...metadata } } } as const;
    const written = this.#client.write({ method: 'PATCH', path: servicePath(service), ...patch }).then(() => true);
    return (await undefinedOn(written, 'notFound')) ?? false;
  }
}
