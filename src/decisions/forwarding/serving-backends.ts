import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import type { Backend } from '../../net/frontend.ts';

/**
 * Which backends of a Service can still take a packet, for a frontend that the Service no longer has. Where the Service went
 * with its slices nothing says that its pods have ended too: then all can.
 */
export function livingBackends(snapshot: Snapshot, key: ServiceKey): (backend: Backend) => boolean {
  const slices = snapshot.endpointSlices(key);
  if (slices.length === 0) return () => true;
  const living = new Set(
    slices.flatMap(({ endpoints }) =>
      endpoints.flatMap(({ address, ready, serving }) => (ready || serving ? [formatAddress(address)] : [])),
    ),
  );
  return ({ address }) => living.has(formatAddress(address));
}
