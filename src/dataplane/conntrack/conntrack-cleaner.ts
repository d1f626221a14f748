import { formatAddress, type Address } from '../../net/address.ts';
import type { Backend, Frontend } from '../../net/frontend.ts';

/**
 * Which UDP flows the kernel must forget. A flow keeps its backend as long as packets come, so a client that never pauses
 * would talk to a removed backend for ever (kube-proxy does the same clean-up). TCP clients notice by themselves.
 */
export interface StaleFlows {
  readonly protocol: 'UDP';
  /** The address the client sent to; absent: any (a NodePort). */
  readonly destination?: Address;
  readonly port: number;
  /** The address that answers: of the removed backend, or of the frontend itself where flows were not translated. */
  readonly replySource: Address;
  /** The port that answers; absent: any. */
  readonly replyPort?: number;
}

export interface ConntrackCleaner {
  /** Deletes the flows; none there is success. Rejects with DataplaneError where the backend is missing or refuses. */
  delete(flows: StaleFlows): Promise<void>;
}

/** For one frontend that changed from one form to another; undefined: absent. */
export function staleFlows(before: Frontend | undefined, after: Frontend | undefined, nodePortAddresses: readonly Address[]): StaleFlows[] {
  const match = (after ?? before)?.match;
  if (match?.protocol !== 'UDP') return [];
  const where = match.kind === 'address' ? { destination: match.address } : {};
  const old = backendsOf(before);
  const current = backendsOf(after);
  const stale: StaleFlows[] = [];
  for (const [key, backend] of old) {
    if (current.has(key)) continue;
    stale.push({ protocol: 'UDP', ...where, port: match.port, replySource: backend.address, replyPort: backend.port });
  }
  if (old.size === 0 && current.size > 0) {
    const own = match.kind === 'address' ? [match.address] : nodePortAddresses.filter((address) => address.family === match.family);
    for (const address of own) stale.push({ protocol: 'UDP', destination: address, port: match.port, replySource: address });
  }
  return stale;
}

function backendsOf(frontend: Frontend | undefined): Map<string, Backend> {
  const all = [...(frontend?.backends ?? []), ...(frontend?.localBackends ?? [])];
  return new Map(all.map((backend) => [`${formatAddress(backend.address)} ${backend.port}`, backend]));
}
