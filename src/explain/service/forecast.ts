import { defined } from '../../lang/defined.ts';
import { decideAllocationClaim } from '../../decisions/allocation/claim.ts';
import { forecastVerdict, withoutEndpoint } from '../../decisions/verdict/forecast.ts';
import type { ReleasedAddress } from '../../model/parse/released-address.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { expectedAddresses, withExpectedAddresses } from '../pools/allocation.ts';
import { withExpectedIngress } from '../pools/with-ingress.ts';
import { explainService, type ServiceExplanation } from './service.ts';

/**
 * Explains a Service of manifests, to which no controller has given an address, as it would be with the addresses that a controller would
 * give. Undefined: it has addresses, it is not ours, or agents report about it, so that the present state decides.
 */
export function forecastService(
  snapshot: Snapshot,
  present: ServiceExplanation,
  now: number,
  released: readonly ReleasedAddress[] = [],
): ServiceExplanation | undefined {
  const service = snapshot.services.get(present.service);
  if (service?.type !== 'LoadBalancer' || service.ingress.length > 0 || snapshot.nodeStates.size > 0) return undefined;
  if (!decideAllocationClaim(service, snapshot.config).mine) return undefined;
  const allocation = withExpectedAddresses(present.allocation, snapshot, present.service, released);
  const future = withExpectedIngress(snapshot, expectedAddresses(snapshot, snapshot, released));
  const expected = explainService(future, present.service, now);
  const after = future.services.get(present.service);
  if (expected === undefined || after === undefined) return undefined;
  const { nodes } = expected;
  const clients = (expected.clients ?? []).map((client) => withoutEndpoint(client, nodes));
  const { expected: given = [], reason: unmet } = allocation;
  const verdict = forecastVerdict({ service: after, expected: given, nodes, clients, ...defined({ unmet }) });
  return { ...present, allocation, nodes, clients, verdict };
}
