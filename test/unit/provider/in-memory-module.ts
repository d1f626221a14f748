import type { CreateProvider } from '../../../src/controller/provider-module.ts';
import { InMemoryCloud, InMemoryCloudProvider } from './in-memory-cloud.ts';
import type { cloudMetrics } from './in-memory-definition.ts';

/** The in-memory cloud as a module that `--provider` loads. */
export { definition } from './in-memory-definition.ts';

export const createProvider: CreateProvider<typeof cloudMetrics> = (components) => {
  const { inMemoryCloudThird: third = 113 } = components.options ?? {};
  return new InMemoryCloudProvider(new InMemoryCloud(Number(third)), components);
};
