import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { arnAnnotation, endpointServiceAnnotation, targetsAnnotation, type ServiceMetadata } from '../model/service-metadata.ts';
import { isClassicName, isLoadBalancerArn } from '../observe/known-resources.ts';
import type { StackState } from '../stacks/stack-registry.ts';

/** Writes our finalizer and the ARN annotation to Services. Without write access (standalone) every method does nothing. */
export class ServiceMetadataWriter {
  readonly #metadata: ServiceMetadata | undefined;

  constructor(metadata: ServiceMetadata | undefined) {
    this.#metadata = metadata;
  }

  get canWrite(): boolean {
    return this.#metadata !== undefined;
  }

  /** Rejects when the Service is gone: nothing may be created for it. */
  async addFinalizer(key: ServiceKey): Promise<void> {
    await this.#metadata?.addFinalizer(key);
  }

  /**
   * Records the load balancers of these stacks on the Service, so that they are found again without listing the account, and the name of
   * the endpoint service, for its clients. Resolves to false when the Service has just been changed and nothing was written. Keeps the
   * annotations as they are when there are no stacks.
   */
  async recordResources(
    { metadata: { annotations } }: Service,
    key: ServiceKey,
    stacks: readonly StackState[],
    endpointService: string | undefined,
  ): Promise<boolean> {
    const metadata = this.#metadata;
    if (metadata === undefined || stacks.length === 0) return true;
    const all = new Set(stacks.flatMap(({ known }) => known.ids));
    const ids = [...all].filter((id) => isLoadBalancerArn(id) || isClassicName(id)).toSorted();
    const wanted = { [arnAnnotation]: ids.length === 0 ? undefined : ids.join(' '), [endpointServiceAnnotation]: endpointService };
    const changed = Object.entries(wanted).filter(([name, text]) => annotations[name] !== text);
    return changed.length === 0 || (await metadata.annotate(key, Object.fromEntries(changed)));
  }

  /** Removes annotations and finalizer. Resolves to what remains: the annotations, when the Service has just been changed. */
  async remove(key: ServiceKey, { services }: Snapshot): Promise<Reason | undefined> {
    const hasFuture = services.get(key)?.metadata.deleting === false;
    const none = { [arnAnnotation]: undefined, [endpointServiceAnnotation]: undefined, [targetsAnnotation]: undefined };
    if (hasFuture && (await this.#metadata?.annotate(key, none)) === false)
      return reason('AwsProvisioning', { waitsFor: 'the ARN annotation of the Service to be removed' });
    await this.#metadata?.removeFinalizer(key);
    return undefined;
  }
}
