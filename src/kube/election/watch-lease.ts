import type { ElectionComponents } from './election.ts';
import { leasesPath } from './election.ts';
import { Reflector, type ReflectorComponents } from '../reflector/reflector.ts';

/**
 * Watches one Lease. Only waiting processes need this, and none depends on it, because they also read the Lease every few seconds. With the
 * watch a handover takes no longer than the request that it needs.
 */
export function leaseWatch(components: ReflectorComponents): ElectionComponents['watch'] {
  return (lease, changed, signal) => {
    const sink = {
      present: changed,
      deleted: changed,
      flush: nothing,
      complete: nothing,
      // The election reports errors when it reads the Lease.
      failed: nothing,
    };
    void new Reflector({ path: leasesPath(lease), fieldSelector: `metadata.name=${lease.name}` }, sink, components).run(signal);
  };
}

function nothing(): void {
  // The election reads the Lease itself.
}
