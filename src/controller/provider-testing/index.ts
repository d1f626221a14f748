import { addProviderTables, findProvider, removeProviderTables } from '../../model/provider-tables.ts';
import { InMemoryCluster } from './in-memory-cluster.ts';
import { checks } from './checks.ts';
import type { ProviderSubject } from './subject.ts';

/**
 * Compliance tests of the provider contract, `herald/provider-testing`, for any test runner: each check is a name and a function that
 * rejects.
 */
export type { ProviderSubject, ProviderWorld } from './subject.ts';

export interface ProviderCheck {
  readonly name: string;
  /** Rejects with AssertionError when the provider breaks the contract. */
  readonly run: () => Promise<void>;
}

/**
 * Returns the checks for a provider. Each runs it in Herald's controller, on a cluster in memory and a virtual clock:
 *
 *     for (const { name, run } of providerChecks(subject)) test(name, run);
 */
export function providerChecks(subject: ProviderSubject): readonly ProviderCheck[] {
  const takeBack = addTables(subject);
  const { world } = new InMemoryCluster(subject);
  takeBack();
  const parts = new Set(subject.parts);
  const applicable = checks.filter(
    ({ needs, part }) => (needs === undefined || world[needs] !== undefined) && (part === undefined || parts.has(part)),
  );
  return applicable.map(({ name, run }) => ({
    name,
    run: async () => {
      const takeBack = addTables(subject);
      const cluster = new InMemoryCluster(subject);
      try {
        await run(cluster, subject);
      } finally {
        await cluster.stop();
        takeBack();
      }
    },
  }));
}

/** Adds the tables of the provider unless the process has them, and returns what takes them back. */
function addTables({ definition }: ProviderSubject): () => void {
  if (definition === undefined || findProvider(definition.name) !== undefined) return () => undefined;
  addProviderTables(definition);
  return () => removeProviderTables(definition.name);
}
