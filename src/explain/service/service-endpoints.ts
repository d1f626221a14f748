import { defined } from '../../lang/defined.ts';
import { chooseEndpoints, topologyOf, targetsOf, type Target } from '../../decisions/forwarding/endpoints.ts';
import type { EndpointSlice } from '../../model/objects/endpoint-slice.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Pod } from '../../model/objects/pod.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { explainPods } from './pod-reasons.ts';

interface EndpointCounts {
  readonly ready: number;
  /** Endpoints that terminate but still serve. They are used when none is ready. */
  readonly terminating: number;
  readonly unusable: number;
}

/** The endpoints of the Service's first family. A pod of a dual-stack Service is an endpoint of each family, and counts once. */
export interface EndpointsExplanation extends EndpointCounts {
  /** The endpoints of each family. Absent: the families have the same counts. */
  readonly byFamily?: readonly (EndpointCounts & { readonly family: string })[];
  /** Why Pods are not ready endpoints. Absent: Pods were not read. */
  readonly pods?: readonly Reason[];
}

/** Where a node sends the traffic of one family. Endpoint addresses are counted, whatever their ports. */
export interface NodeEndpoints {
  readonly family: string;
  /** Endpoints that receive new connections from outside. */
  readonly used: number;
  /** How many of them are on this node. */
  readonly here: number;
  /** Endpoints that could receive traffic, on any node. */
  readonly usable: number;
  /** Why not all usable endpoints are used. */
  readonly because?: 'local' | 'topology';
}

export function explainEndpoints(
  snapshot: Snapshot,
  service: Service,
  key: ServiceKey,
  pods: readonly Pod[] | undefined,
): EndpointsExplanation {
  const slices = snapshot.endpointSlices(key);
  const byFamily = service.ipFamilies.map((family) => ({
    family: `IPv${family}`,
    ...countEndpoints(slices.filter((slice) => slice.family === family)),
  }));
  const [{ family: _, ...first } = { family: '', ready: 0, terminating: 0, unusable: 0 }] = byFamily;
  const differ = byFamily.some(
    ({ ready, terminating, unusable }) => ready !== first.ready || terminating !== first.terminating || unusable !== first.unusable,
  );
  const addresses = new Set(slices.flatMap(({ endpoints }) => endpoints.map(({ address }) => formatAddress(address))));
  const told = pods === undefined || service.type === 'ExternalName' ? undefined : explainPods(service, pods, addresses);
  return { ...first, ...(differ ? { byFamily } : {}), ...defined({ pods: told }) };
}

function countEndpoints(slices: readonly EndpointSlice[]): EndpointCounts {
  const states = new Map<string, keyof EndpointCounts>();
  for (const { address, ready, serving, terminating } of slices.flatMap(({ endpoints }) => endpoints))
    states.set(formatAddress(address), ready ? 'ready' : serving && terminating ? 'terminating' : 'unusable');
  const count = (state: keyof EndpointCounts): number => [...states.values()].filter((other) => other === state).length;
  return { ready: count('ready'), terminating: count('terminating'), unusable: count('unusable') };
}

/** Uses the same function as the node. */
export function endpointsForNode(snapshot: Snapshot, service: Service, node: string): NodeEndpoints[] {
  const place = topologyOf(snapshot, node);
  const isLocal = service.externalTrafficPolicy === 'Local';
  return service.ipFamilies.flatMap((family): NodeEndpoints[] => {
    const choices = service.ports.map((port) => chooseEndpoints(targetsOf(snapshot, service, port, family), place));
    const everywhere = addressesOf(choices.flatMap((choice) => choice.everywhere));
    const used = choices.flatMap((choice) => (isLocal ? choice.local : choice.cluster));
    const here = addressesOf(used.filter(({ nodeName }) => nodeName === node));
    const count = addressesOf(used).size;
    const because = count === everywhere.size ? {} : { because: isLocal ? ('local' as const) : ('topology' as const) };
    return [{ family: `IPv${family}`, used: count, here: here.size, usable: everywhere.size, ...because }];
  });
}

function addressesOf(targets: readonly Target[]): Set<string> {
  return new Set(targets.map(({ address }) => formatAddress(address)));
}
