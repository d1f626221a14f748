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
 * Finds what belongs to stacks when they are looked at first: by what their Services say, where AWS says the same; otherwise the account is
 * listed, once. To list it for each of a thousand Services would take all the calls that AWS allows.
 */
export class StackDiscovery {
  readonly #stacks: StackRegistry;
  readonly #found = new Set<string>();
  readonly #refused = new Map<ServiceKey, readonly Reason[]>();
  #listing: Promise<void> | undefined;

  constructor(stacks: StackRegistry) {
    this.#stacks = stacks;
  }

  /** Resolves when what is there of the stack is known. `services`: those that have a part in it. Rejects with AwsError. */
  async discover(where: Where, stack: StackIdentity, services: readonly Service[]): Promise<void> {
    if (this.#found.has(stack.key)) return;
    const looks = this.#listing === undefined ? await this.#lookAtKept(where, stack, services) : [];
    const ours = looks.flatMap((look) => look.ours);
    // Where one of them is wrong, the right one is missing.
    if (ours.length === 0 || looks.some(({ moved, refused }) => moved || refused.length > 0)) await this.#list(where);
    const { known } = this.#stacks.getOrCreate(stack);
    for (const id of ours) known.recordFound(id);
    this.#found.add(stack.key);
  }

  /** Why what the Service says was not believed: once. */
  takeRefusedArns(key: ServiceKey): readonly Reason[] {
    const refused = this.#refused.get(key) ?? [];
    this.#refused.delete(key);
    return refused;
  }

  async #lookAtKept({ cloud, settings }: Where, stack: StackIdentity, services: readonly Service[]) {
    return Promise.all(
      services.map(async (service) => {
        const look = await verifyRecordedArns(cloud, service, stack.key, settings);
        if (look.refused.length > 0) this.#refused.set(serviceKey(service.metadata), look.refused);
        return look;
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
