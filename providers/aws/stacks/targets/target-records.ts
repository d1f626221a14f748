import { serviceKey, type ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { Service } from '../../../../src/model/objects/service.ts';
import { targetsAnnotation, type ServiceMetadata } from '../../model/service-metadata.ts';
import { formatRecord, parseRecord, type TargetRecord } from '../../model/targets/target-record.ts';

/**
 * Keeps the record of registered targets in an annotation of each Service, which every later controller reads. In memory it is newer than
 * what the API server has shown so far.
 */
export class TargetRecords {
  readonly #metadata: ServiceMetadata | undefined;
  readonly #known = new Map<ServiceKey, TargetRecord>();

  constructor(metadata: ServiceMetadata | undefined) {
    this.#metadata = metadata;
  }

  /** False in a directory of manifests. */
  get canWrite(): boolean {
    return this.#metadata !== undefined;
  }

  of({ metadata }: Pick<Service, 'metadata'>): TargetRecord {
    return this.#known.get(serviceKey(metadata)) ?? parseRecord(metadata.annotations[targetsAnnotation]);
  }

  /** Resolves to false when the Service has just been changed, and nothing was written. */
  async write(key: ServiceKey, record: TargetRecord): Promise<boolean> {
    const isWritten = (await this.#metadata?.annotate(key, { [targetsAnnotation]: formatRecord(record) })) === true;
    if (isWritten) this.#known.set(key, record);
    return isWritten;
  }

  forgetService(key: ServiceKey): void {
    this.#known.delete(key);
  }
}
