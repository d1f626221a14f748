import type { ServiceKey } from '../../src/model/metadata.ts';

/** On every Service for which something was or may be made in AWS: it is not gone before that is. */
export const finalizer = 'herald.dev/aws';

/** What the provider keeps on the Service itself. Standalone there is no such thing: then nothing is kept, and orphans are found by tags. */
export interface ServiceMetadata {
  /** Resolves when the finalizer is on the Service. Doing so again is free. */
  addFinalizer(service: ServiceKey): Promise<void>;
  removeFinalizer(service: ServiceKey): Promise<void>;
  /** Sets annotations; undefined removes one. */
  annotate(service: ServiceKey, annotations: Readonly<Record<string, string | undefined>>): Promise<void>;
}
