import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import type { StackIdentity } from '../model/circumstances.ts';
import { verifyRecordedArns } from '../observe/recorded-arns.ts';
import { scanOwned } from '../observe/scan.ts';
import type { AwsSettings } from '../model/settings.ts';
import type { StackRegistry } from './stack-registry.ts';

interface Where {
  readonly cloud: ReadOnlyCloud;
  readonly settings: AwsSettings;
}

/**
 * Finds the existing resources of a stack at its first reconcile: by the ARNs recorded on its Services, where AWS confirms them, otherwise
 * by listing the account once. Listing it for each of a thousand Services would use up AWS' request rate.
 */
export class StackDiscovery {
  readonly #stacks: StackRegistry;
  readonly #found = new Set<string>();
  readonly #refused = new Map<ServiceKey, readonly Reason[]>();
  #listing: Promise<void> | undefined;

  constructor(stacks: StackRegistry) {
    this.#stacks = stacks;
  }

  /** Resolves when the resources of the stack are known. `services`: those with a part in it. Rejects with AwsError. */
  async discover(where: Where, stack: StackIdentity, services: readonly Service[]): Promise<void> {
    if (this.#found.has(stack.key)) return;
    const verified = this.#listing === undefined ? await this.#readRecordedArns(where, stack, services) : [];
    const ours = verified.flatMap((one) => one.ours);
    // When a recorded ARN is wrong, the right one is unknown.
    if (ours.length === 0 || verified.some(({ moved, refused }) => moved || refused.length > 0)) await this.#list(where);
    const { known } = this.#stacks.getOrCreate(stack);
    for (const id of ours) known.recordFound(id);
    this.#found.add(stack.key);
  }

  /** Returns, once, why recorded ARNs of the Service were refused. */
  takeRefusedArns(key: ServiceKey): readonly Reason[] {
    const refused = this.#refused.get(key) ?? [];
    this.#refused.delete(key);
    return refused;
  }

  async #readRecordedArns({ cloud, settings }: Where, stack: StackIdentity, services: readonly Service[]) {
    return Promise.all(
      services.map(async (service) => {
        const one = await verifyRecordedArns(cloud, service, stack.key, settings);
        if (one.refused.length > 0) this.#refused.set(serviceKey(service.metadata), one.refused);
        return one;
      }),
    );
  }

  async #list({ cloud, settings }: Where): Promise<void> {
    const listing = (this.#listing ??= scanOwned(cloud, settings).then((owned) => this.#stacks.recordFound(owned)));
    await listing.catch((error: unknown) => {
      if (this.#listing === listing) this.#listing = undefined;
      throw error;
    });
  }
}
