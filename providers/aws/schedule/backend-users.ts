import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import { backendServices } from '../desire/ports/weights.ts';

/** Which Services send to which others as well, as of their last reconcile. A change of the others concerns them. */
export class BackendUsers {
  readonly #backends = new Map<ServiceKey, readonly ServiceKey[]>();
  readonly #users = new Map<ServiceKey, Set<ServiceKey>>();

  record(key: ServiceKey, service: Service): void {
    this.forget(key);
    const backends = backendServices(service);
    if (backends.length === 0) return;
    this.#backends.set(key, backends);
    for (const backend of backends) this.#users.set(backend, (this.#users.get(backend) ?? new Set()).add(key));
  }

  forget(key: ServiceKey): void {
    for (const backend of this.#backends.get(key) ?? []) {
      const users = this.#users.get(backend);
      users?.delete(key);
      if (users?.size === 0) this.#users.delete(backend);
    }
    this.#backends.delete(key);
  }

  of(backend: ServiceKey): Iterable<ServiceKey> {
    return this.#users.get(backend) ?? [];
  }
}
