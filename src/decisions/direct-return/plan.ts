import type { HeraldConfig } from '../../model/kinds/types.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import type { ForwardingPath } from '../../net/direct-return.ts';
import { frontendFamily, mayReturnDirectly, type Frontend } from '../../net/frontend.ts';
import { addressesOf, directReturnNotReported, forwardingPathTo, segmentThroughTunnels } from './forwarding-path.ts';

interface DirectReturnPlan {
  readonly frontends: readonly Frontend[];
  /** Why packets for some backends are translated instead. */
  readonly reasons: readonly Reason[];
}

export function wantsDirectReturn(config: HeraldConfig, service: Service): boolean {
  return service.directReturn ?? config.directReturn;
}

/** Adds direct server return to a node's frontends of a Service, where every node finds the same backend by a hash. */
export function planDirectReturn(snapshot: Snapshot, service: Service, nodeName: string, frontends: readonly Frontend[]): DirectReturnPlan {
  if (!wantsDirectReturn(snapshot.config, service)) return { frontends, reasons: [] };
  if (!frontends.some(mayReturnDirectly)) {
    const isMistake = service.directReturn === true && frontends.some(({ scope, backends }) => scope === 'external' && backends.length > 0);
    return { frontends, reasons: isMistake ? [reason('DirectReturnNeedsHashing', {})] : [] };
  }
  if (snapshot.nodeStates.get(nodeName)?.directReturn === undefined)
    return { frontends, reasons: [directReturnNotReported(snapshot, nodeName)] };
  const { passing, reasons } = forwardingPathsOf(snapshot, service, nodeName);
  const sizes = new Map(service.ipFamilies.map((family) => [family, segmentThroughTunnels(snapshot, nodeName, family)]));
  const direct = frontends.map((frontend) =>
    mayReturnDirectly(frontend) ? withForwardingPaths(frontend, passing, sizes.get(frontendFamily(frontend.match))) : frontend,
  );
  return { frontends: direct, reasons };
}

/** Returns the path to each other node with endpoints of the Service, by the text of its address. */
function forwardingPathsOf(
  snapshot: Snapshot,
  service: Service,
  nodeName: string,
): { passing: Map<string, ForwardingPath>; reasons: Reason[] } {
  const passing = new Map<string, ForwardingPath>();
  const reasons = new Map<string, Reason>();
  const slices = snapshot.endpointSlices(serviceKey(service.metadata));
  for (const name of new Set(slices.flatMap(({ endpoints }) => endpoints.flatMap((endpoint) => endpoint.nodeName ?? [])))) {
    if (name === nodeName) continue;
    for (const address of addressesOf(snapshot, name)) {
      if (!service.ipFamilies.includes(address.family)) continue;
      const way = forwardingPathTo(snapshot, nodeName, name, address);
      if ('passing' in way) passing.set(formatAddress(address), way.passing);
      else reasons.set(name, way.reason);
    }
  }
  return { passing, reasons: [...reasons].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, why]) => why) };
}

function withForwardingPaths(frontend: Frontend, passing: ReadonlyMap<string, ForwardingPath>, segmentSize: number | undefined): Frontend {
  const backends = frontend.backends.map((backend) => {
    const way = backend.local || backend.node === undefined ? undefined : passing.get(formatAddress(backend.node));
    return way === undefined ? backend : { ...backend, path: way };
  });
  return { ...frontend, backends, directReturn: segmentSize === undefined ? {} : { segmentSize } };
}
