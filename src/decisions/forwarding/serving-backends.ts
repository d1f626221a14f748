import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import type { Backend } from '../../net/frontend.ts';

/**
 * Returns a test for backends that can still take packets of a frontend that the Service no longer has. When the Service and its slices are
 * gone, nothing says that the pods ended too, so all backends pass.
 */
export function servingBackends(snapshot: Snapshot, key: ServiceKey): (backend: Backend) => boolean {
  const slices = snapshot.endpointSlices(key);
  if (slices.length === 0) return () => true;
  const living = new Set(
    slices.flatMap(({ endpoints }) =>
      endpoints.flatMap(({ address, ready, serving }) => (ready || serving ? [formatAddress(address)] : [])),
    ),
  );
  return ({ address }) => living.has(formatAddress(address));
}
