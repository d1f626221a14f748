import { InMemoryCluster } from './in-memory-cluster.ts';
import { checks } from './checks.ts';
import type { ProviderSubject } from './subject.ts';

/** The compliance tests of the provider contract, `herald/provider-testing`, for any test runner: each check is a name and a function that rejects. */
export type { ProviderSubject, ProviderWorld } from './subject.ts';

export interface ProviderCheck {
  readonly name: string;
  /** Rejects (AssertionError) where the provider does not keep to it. */
  readonly run: () => Promise<void>;
}

/**
 * Runs the provider in Herald's own controller, on a cluster in memory and a clock that is played:
 *
 *     for (const { name, run } of providerChecks(subject)) test(name, run);
 */
export function providerChecks(subject: ProviderSubject): readonly ProviderCheck[] {
  const { world } = new InMemoryCluster(subject);
  const parts = new Set(subject.parts);
  const applicable = checks.filter(
    ({ needs, part }) => (needs === undefined || world[needs] !== undefined) && (part === undefined || parts.has(part)),
  );
  return applicable.map(({ name, run }) => ({
    name,
    run: async () => {
      const bed = new InMemoryCluster(subject);
      try {
        await run(bed, subject);
      } finally {
        await bed.stop();
      }
    },
  }));
}
