import type { Snapshot } from './snapshot.ts';

/** Copies a snapshot to a plain object, which can be spread. */
export function valuesOf(snapshot: Snapshot): Snapshot {
  return {
    ...snapshot,
    // A class may have these in its prototype.
    config: snapshot.config,
    holdersOf: (address) => snapshot.holdersOf(address),
    declaredBy: (address) => snapshot.declaredBy(address),
    endpointSlices: (key) => snapshot.endpointSlices(key),
  };
}
