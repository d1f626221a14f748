import { compareAddresses, type Address, type Family } from '../../net/address.ts';
import {
  frontendFamily,
  frontendKey,
  type Backend,
  type Frontend,
  type FrontendMatch,
  type FrontendScope,
  type ServiceForwarding,
} from '../../net/frontend.ts';
import { familyOf } from '../../net/prefix.ts';
import type { Reason } from '../../model/reasons.ts';
import { assignedAddresses, type Service, type ServicePort } from '../../model/service.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { chooseEndpoints, placeOf, targetsOf, type NodePlace, type Target } from './endpoints.ts';
import { whyExternalIPDenied } from './external-ips.ts';
import { whyNotServed } from './served.ts';

export interface ForwardingDecision {
  /** Absent: this node does nothing for the Service, and `reasons` says why. */
  readonly forwarding?: ServiceForwarding;
  /** Why the Service, or some of its addresses, are not forwarded. */
  readonly reasons: readonly Reason[];
}

/**
 * What a node forwards for a Service, with the semantics of kube-proxy 1.36. Addresses of a family that is not among
 * spec.ipFamilies are ignored, as kube-proxy does. Source ranges guard load balancer addresses only.
 */
export function decideForwarding(snapshot: Snapshot, service: Service, nodeName: string): ForwardingDecision {
  const no = whyNotServed(service);
  if (no !== undefined) return { reasons: [no] };
  const { allowed, reasons } = externalIPs(snapshot, service);
  const listeners: Listener[] = [
    ...listen(service.clusterIPs, 'internal', false),
    ...listen(service.type === 'LoadBalancer' ? assignedAddresses(service) : [], 'external', true),
    ...listen(allowed, 'external', false),
  ];
  const place = placeOf(snapshot, nodeName);
  const frontends = new Map<string, Frontend>();
  for (const port of service.ports) {
    const backends = backendsByFamily(snapshot, service, port, place);
    for (const { match, scope, guarded } of listenersOfPort(service, port, listeners)) {
      const choice = backends.get(frontendFamily(match));
      const key = frontendKey(match);
      // An external IP may repeat the load balancer address; the first, which is guarded, stays.
      if (choice === undefined || frontends.has(key)) continue;
      frontends.set(key, frontend(service, match, scope, guarded, choice));
    }
  }
  const sorted = [...frontends].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, frontend]) => frontend);
  return { forwarding: { frontends: sorted }, reasons };
}

interface Listener {
  readonly address: Address;
  readonly scope: FrontendScope;
  /** loadBalancerSourceRanges apply. */
  readonly guarded: boolean;
}

interface PortListener {
  readonly match: FrontendMatch;
  readonly scope: FrontendScope;
  readonly guarded: boolean;
}

interface Backends {
  readonly cluster: readonly Backend[];
  readonly local: readonly Backend[];
}

function listen(addresses: readonly Address[], scope: FrontendScope, guarded: boolean): Listener[] {
  return addresses.map((address) => ({ address, scope, guarded }));
}

function externalIPs(snapshot: Snapshot, service: Service): { allowed: Address[]; reasons: Reason[] } {
  const allowed: Address[] = [];
  const reasons: Reason[] = [];
  for (const address of service.externalIPs) {
    const denied = whyExternalIPDenied(snapshot, service.metadata.namespace, address);
    if (denied === undefined) allowed.push(address);
    else reasons.push(denied);
  }
  return { allowed, reasons };
}

function listenersOfPort(service: Service, { protocol, port, nodePort }: ServicePort, listeners: readonly Listener[]): PortListener[] {
  const onAddresses = listeners.map(({ address, scope, guarded }): PortListener => {
    return { match: { kind: 'address', address, protocol, port }, scope, guarded };
  });
  if (nodePort === 0 || service.type === 'ClusterIP') return onAddresses;
  const onNode = service.ipFamilies.map((family): PortListener => {
    return { match: { kind: 'nodePort', family, protocol, port: nodePort }, scope: 'external', guarded: false };
  });
  return [...onAddresses, ...onNode];
}

function backendsByFamily(snapshot: Snapshot, service: Service, port: ServicePort, place: NodePlace): Map<Family, Backends> {
  return new Map(
    service.ipFamilies.map((family) => {
      const { cluster, local } = chooseEndpoints(targetsOf(snapshot, service, port, family), place);
      return [family, { cluster: toBackends(cluster, place), local: toBackends(local, place) }];
    }),
  );
}

function toBackends(targets: readonly Target[], place: NodePlace): Backend[] {
  return targets
    .map(({ address, port, nodeName }) => ({ address, port, local: nodeName === place.name }))
    .sort((a, b) => compareAddresses(a.address, b.address) || a.port - b.port);
}

function frontend(service: Service, match: FrontendMatch, scope: FrontendScope, guarded: boolean, choice: Backends): Frontend {
  const policy = scope === 'internal' ? service.internalTrafficPolicy : service.externalTrafficPolicy;
  const ranges = guarded ? service.loadBalancerSourceRanges.filter((range) => familyOf(range) === frontendFamily(match)) : [];
  const restricted = ranges.length > 0 && ranges.every(({ length }) => length > 0);
  return {
    match,
    scope,
    policy,
    backends: choice.cluster,
    localBackends: policy === 'Local' ? choice.local : [],
    ...(service.affinitySeconds === undefined ? {} : { affinitySeconds: service.affinitySeconds }),
    ...(restricted ? { sourceRanges: ranges } : {}),
  };
}
