import { KubeError } from '../../../kube/error.ts';
import type { Requests } from '../../../kube/client/fenced-client.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';

/**
 * What Herald keeps on a Service itself: a finalizer, by which it hears of a deletion before the Service is gone, and annotations. A write
 * touches only what it names, whatever others write at the same time, and fails where another Service of that name has come. That the
 * Service is gone is no error where something is taken away.
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

  /** Resolves when it is there. Rejects with `conflict` where the Service is gone: nothing may be made for it, for nobody would hear of its deletion. */
  async addFinalizer(service: ServiceKey): Promise<void> {
    if (this.#has(service)) return;
    if (!(await this.#patch(service, { finalizers: [this.#finalizer] }))) throw new KubeError('conflict', `Service ${service} is gone`);
  }

  async removeFinalizer(service: ServiceKey): Promise<void> {
    if (!this.#has(service)) return;
    // Strategic merge patch: the list of others stays as it is.
    await this.#patch(service, { '$deleteFromPrimitiveList/finalizers': [this.#finalizer] });
  }

  /** Undefined removes one. What is so already is not written. False: somebody has written to the Service since, so that it is to be decided anew. */
  async annotate(service: ServiceKey, annotations: Readonly<Record<string, string | undefined>>): Promise<boolean> {
    const { annotations: there = {}, resourceVersion } = this.#snapshot.services.get(service)?.metadata ?? {};
    const different = Object.entries(annotations).filter(([key, value]) => there[key] !== value);
    if (different.length === 0) return true;
    try {
      await this.#patch(service, {
        resourceVersion,
        annotations: Object.fromEntries(different.map(([key, value]) => [key, value ?? null])),
      });
      return true;
    } catch (error) {
      if (error instanceof KubeError && error.code === 'conflict') return false;
      throw error;
    }
  }

  #has(service: ServiceKey): boolean {
    return this.#snapshot.services.get(service)?.metadata.finalizers?.includes(this.#finalizer) ?? false;
  }

  /** False: there is no such Service. */
  async #patch(service: ServiceKey, metadata: object): Promise<boolean> {
    const uid = this.#snapshot.services.get(service)?.metadata.uid;
    if (uid === undefined) return false;
    const [namespace = '', name = ''] = service.split('/', 2);
    try {
      await this.#client.write({
        method: 'PATCH',
        path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${encodeURIComponent(name)}`,
        contentType: 'application/strategic-merge-patch+json',
        body: { metadata: { uid, ...metadata } },
      });
      return true;
    } catch (error) {
      if (!(error instanceof KubeError && error.code === 'notFound')) throw error;
      return false;
    }
  }
}
