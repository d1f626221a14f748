import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { StackState } from './stack-registry.ts';
import { mayBelongTo, movedService } from './stack-users.ts';

/** Remembers the Services that are being released, are disowned or cannot be read. This decides what happens to their resources. */
export class DepartedServices {
  /** Services that are deleted or belong to another provider now. Their resources are deleted at once, even after the Service is gone. */
  readonly releasing = new Set<ServiceKey>();
  /** Services whose load balancers were disowned. */
  readonly disowned = new Set<ServiceKey>();
  /** Services whose manifests cannot be read. Their resources are no orphans. */
  #unreadable = new Set<ServiceKey>();

  markUnreadable(services: Iterable<ServiceKey>): void {
    this.#unreadable = new Set(services);
  }

  /** The Service is known to be gone. */
  clearUnreadable(service: ServiceKey): void {
    this.#unreadable.delete(service);
  }

  /** True when the stack may belong to a Service whose manifest cannot be read. */
  mayBeUnreadable(stack: string): boolean {
    return [...this.#unreadable].some((key) => mayBelongTo(stack, key));
  }

  /** True when a Service is gone without a deletion that Herald saw. */
  isVanished({ services }: Snapshot): (service: ServiceKey) => boolean {
    return (service) => !services.has(service) && !this.releasing.has(service) && !this.#unreadable.has(service);
  }

  /**
   * Returns the Service when it belongs to another stack or provider now, and clients may still use its part of this stack. `releasing`: a
   * Service whose part is released now.
   */
  movedAway(stack: string, settings: AwsSettings, snapshot: Snapshot, releasing?: ServiceKey): (key: ServiceKey) => Service | undefined {
    const isReleasing = (key: ServiceKey): boolean => key === releasing || this.releasing.has(key) || this.disowned.has(key);
    return (key) => (isReleasing(key) ? undefined : movedService(key, stack, snapshot, settings));
  }

  /**
   * True when a Service that has a part in the stack exists or was deleted: its own reconcile or release removes that part, so the stack is
   * no orphan.
   */
  hasRemainingParts(state: StackState, settings: AwsSettings, snapshot: Snapshot): boolean {
    const { identity, services, tagged } = state;
    const movedAway = this.movedAway(identity.key, settings, snapshot);
    return (
      [...services].some((key) => snapshot.services.has(key) || this.releasing.has(key)) ||
      [...tagged].some((key) => movedAway(key) !== undefined)
    );
  }

  /** False when a Service may need node rules that cannot be known: it is disowned, or its manifest cannot be read. */
  allServicesKnown({ services }: Snapshot): boolean {
    return this.disowned.size === 0 && [...this.#unreadable].every((key) => services.has(key));
  }
}
