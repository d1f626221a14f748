import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { StackState } from './stack-registry.ts';
import { mayBelongTo, movedService } from './stack-users.ts';

/** Which Services are gone, are going, or may come back: what becomes of what they have in AWS. */
export class DepartedServices {
  /** Services that are to go, or to be another's: what they have is removed at once, also where they are gone by then. */
  readonly releasing = new Set<ServiceKey>();
  /** Services whose load balancers were let go. */
  readonly disowned = new Set<ServiceKey>();
  /** Services whose manifests cannot be read: what they have is no orphan. */
  #reserved = new Set<ServiceKey>();

  markUnreadable(services: Iterable<ServiceKey>): void {
    this.#reserved = new Set(services);
  }

  /** It is known to be gone: its manifest is not one that cannot be read. */
  clearUnreadable(service: ServiceKey): void {
    this.#reserved.delete(service);
  }

  /** Whether a stack may be that of a Service whose manifest cannot be read. */
  mayBeUnreadable(stack: string): boolean {
    return [...this.#reserved].some((key) => mayBelongTo(stack, key));
  }

  /** Gone, and nobody saw that it was to go. */
  isVanished({ services }: Snapshot): (service: ServiceKey) => boolean {
    return (service) => !services.has(service) && !this.releasing.has(service) && !this.#reserved.has(service);
  }

  /** Of a stack: the Service, if it belongs elsewhere by now and may still be reached by what it has here. `releasing`: goes at once. */
  movedAway(stack: string, settings: AwsSettings, snapshot: Snapshot, releasing?: ServiceKey): (key: ServiceKey) => Service | undefined {
    const hasLeft = (key: ServiceKey): boolean => key === releasing || this.releasing.has(key) || this.disowned.has(key);
    return (key) => (hasLeft(key) ? undefined : movedService(key, stack, snapshot, settings));
  }

  /** Somebody who had a part in it is there, or was seen to go: he lets go of it himself. */
  hasRemainingParts(state: StackState, settings: AwsSettings, snapshot: Snapshot): boolean {
    const { identity, services, tagged } = state;
    const isLeaving = this.movedAway(identity.key, settings, snapshot);
    return (
      [...services].some((key) => snapshot.services.has(key) || this.releasing.has(key)) ||
      [...tagged].some((key) => isLeaving(key) !== undefined)
    );
  }

  /** False: somebody may need rules of nodes of whom nothing can be known. */
  allServicesKnown({ services }: Snapshot): boolean {
    return this.disowned.size === 0 && [...this.#reserved].every((key) => services.has(key));
  }
}
