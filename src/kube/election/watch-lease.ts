import type { ElectionComponents } from './election.ts';
import { leasesPath } from './election.ts';
import { Reflector, type ReflectorComponents } from '../reflector/reflector.ts';

/**
 * Tells of changes of one Lease. Only those who wait need it, and none depends on it, as the Lease is read every few seconds as well: it is what
 * makes a handover take no longer than the request that it needs.
 */
export function leaseWatch(components: ReflectorComponents): ElectionComponents['watch'] {
  return (lease, changed, signal) => {
    const sink = {
      present: changed,
      gone: changed,
      flush: nothing,
      complete: nothing,
      // Whoever reads the Lease says so.
      trouble: nothing,
    };
    void new Reflector({ path: leasesPath(lease), fieldSelector: `metadata.name=${lease.name}` }, sink, components).run(signal);
  };
}

function nothing(): void {
  // Of no interest here.
}
