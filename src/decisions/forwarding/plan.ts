import { defined } from '../../lang/defined.ts';
import type { Address, Family } from '../../net/address.ts';
import {
  frontendFamily,
  frontendKey,
  type Backend,
  type Frontend,
  type FrontendMatch,
  type FrontendScope,
  type ServiceForwarding,
} from '../../net/frontend.ts';
import { familyOf, hostPrefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import type { HeraldConfig } from '../../model/kinds/types.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import type { Reason } from '../../model/reasons.ts';
import { assignedAddresses, type Service, type ServicePort } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { algorithmOf, hashingOf, sortTargets } from './balancing.ts';
import { choosing, noChoices, type Choices } from './choosing.ts';
import { whyHeldTwice } from '../allocation/held-twice.ts';
import { planDirectReturn } from '../direct-return/plan.ts';
import { chooseEndpoints, topologyOf, targetsOf, type NodeTopology, type Target } from './endpoints.ts';
import { whyExternalIPDenied } from './external-ips.ts';
import { withRestRefused } from './own-addresses.ts';
import { isInScope } from './scope.ts';
import { whyNotForwarded } from './service-proxy-name.ts';

interface ForwardingDecision {
  /** Herald's own forwarding. Absent when this node forwards nothing for the Service; `reasons` says why. */
  readonly forwarding?: ServiceForwarding;
  /** Frontends that HeraldConfig leaves to another program, in the form and order that Herald would use. */
  readonly foreign: readonly Frontend[];
  /** Why the Service, or some of its addresses, are not forwarded. */
  readonly reasons: readonly Reason[];
}

/**
 * Decides what a node forwards for a Service, with the semantics of kube-proxy 1.36. Addresses of a family outside spec.ipFamilies are
 * ignored, as in kube-proxy. Source ranges guard load balancer addresses, and all external frontends when HeraldConfig says so. Ranges that
 * contain the node's primary address also admit the load balancer address itself, with which the node may be masqueraded.
 */
export function decideForwarding(snapshot: Snapshot, service: Service, nodeName: string): ForwardingDecision {
  const no = whyNotForwarded(service, snapshot.config.serviceProxyName);
  if (no !== undefined) return { foreign: [], reasons: [no] };
  const external = externalIPs(snapshot, service);
  const balanced = balancedAddresses(snapshot, service);
  const reasons = [...balanced.reasons, ...external.reasons];
  const listeners: Listener[] = [
    ...listen(service.clusterIPs, 'internal', false),
    ...listen(balanced.addresses, 'external', true),
    ...listen(external.allowed, 'external', false),
  ];
  const place = topologyOf(snapshot, nodeName);
  const nodeAddresses = snapshot.nodes.get(nodeName)?.internalIPs ?? [];
  const frontends = new Map<string, Frontend>();
  for (const port of service.ports) {
    const backends = backendsByFamily(snapshot, service, port, place);
    for (const { match, scope, guarded } of listenersOfPort(service, port, listeners)) {
      const choice = backends.get(frontendFamily(match));
      const key = frontendKey(match);
      // An external IP may repeat the load balancer address; the first frontend, which is guarded, stays.
      if (choice === undefined || frontends.has(key)) continue;
      const sources =
        guarded || (scope === 'external' && snapshot.config.sourceRangesEverywhere)
          ? allowedSources(service, match, nodeAddresses)
          : undefined;
      frontends.set(key, {
        ...frontend({ config: snapshot.config, service, port }, { match, scope }, choice),
        ...defined({ sourceRanges: sources }),
      });
    }
  }
  const sorted = [...frontends].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, frontend]) => frontend);
  const { services } = snapshot.config;
  const own = sorted.filter((frontend) => isInScope(services, frontend));
  const ours = withRestRefused(snapshot, service, withIcmpEcho(snapshot, service, nodeName, own));
  const foreign = sorted.filter((frontend) => !isInScope(services, frontend));
  const direct = planDirectReturn(snapshot, service, nodeName, ours);
  return { forwarding: { frontends: direct.frontends }, foreign, reasons: [...reasons, ...direct.reasons] };
}

interface Listener {
  readonly address: Address;
  readonly scope: FrontendScope;
  /** True when loadBalancerSourceRanges apply. */
  readonly guarded: boolean;
}

interface PortListener extends Omit<Listener, 'address'> {
  readonly match: FrontendMatch;
}

/** The endpoints of one port in one family that new connections may get. */
interface Backends {
  readonly place: NodeTopology;
  /** For policy Cluster: those near the node. */
  readonly near: Choices;
  /** For policy Cluster where every node must find the same backend by a hash: all, with the address of the node of each. */
  readonly everywhere: () => Choices;
  /** For policy Local. */
  readonly local: Choices;
  /** Serving endpoints that are in none of these lists, for protocols whose flows the kernel must forget. */
  readonly retained: (...chosen: readonly Choices[]) => readonly Backend[];
}

function listen(addresses: readonly Address[], scope: FrontendScope, guarded: boolean): Listener[] {
  return addresses.map((address) => ({ address, scope, guarded }));
}

/** Returns the recorded addresses without those that belong to another Service. */
function balancedAddresses(snapshot: Snapshot, service: Service): { addresses: Address[]; reasons: Reason[] } {
  const recorded = service.type === 'LoadBalancer' ? assignedAddresses(service) : [];
  const reasons = recorded.map((address) => whyHeldTwice(snapshot, service, address));
  return { addresses: recorded.filter((_, index) => reasons[index] === undefined), reasons: reasons.flatMap((reason) => reason ?? []) };
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

function backendsByFamily(snapshot: Snapshot, service: Service, port: ServicePort, place: NodeTopology): Map<Family, Backends> {
  return new Map(
    service.ipFamilies.map((family) => {
      const targets = targetsOf(snapshot, service, port, family);
      const { cluster, everywhere, local } = chooseEndpoints(targets, place);
      const forgets = port.protocol !== 'TCP' || service.resetOnRemoval === true;
      let all: Choices | undefined;
      return [
        family,
        {
          place,
          near: choicesOf(cluster, place),
          everywhere: () => (all ??= choicesOf(everywhere, place, (target) => nodeOf(snapshot, target, family))),
          local: choicesOf(local, place),
          retained(...chosen) {
            if (!forgets) return [];
            const taken = new Set(chosen.flatMap(({ targets }) => targets));
            const serving = targets.filter((target) => (target.ready || target.serving) && !taken.has(target));
            return choicesOf(serving, place).backends;
          },
        },
      ];
    }),
  );
}

function choicesOf(targets: readonly Target[], place: NodeTopology, more: (target: Target) => Pick<Backend, 'node'> = () => ({})): Choices {
  const sorted = sortTargets(targets);
  return {
    targets: sorted,
    backends: sorted.map((target) => ({
      address: target.address,
      port: target.port,
      local: target.nodeName === place.name,
      ...more(target),
    })),
  };
}

function nodeOf(snapshot: Snapshot, { nodeName }: Target, family: Family): Pick<Backend, 'node'> {
  const node = snapshot.nodes.get(nodeName ?? '')?.internalIPs.find((address) => address.family === family);
  return node === undefined ? {} : { node };
}

/** Returns the allowed sources. Undefined means all. */
function allowedSources(service: Service, match: FrontendMatch, nodeAddresses: readonly Address[]): Prefix[] | undefined {
  const ranges = service.loadBalancerSourceRanges.filter((range) => familyOf(range) === frontendFamily(match));
  if (ranges.length === 0 || ranges.some(({ length }) => length === 0)) return undefined;
  const primary = nodeAddresses.find(({ family }) => family === frontendFamily(match));
  const holdsNode = primary !== undefined && ranges.some((range) => prefixContains(range, primary));
  return match.kind === 'address' && holdsNode ? [...ranges, hostPrefix(match.address)] : ranges;
}

function frontend(
  { config, service, port }: { readonly config: HeraldConfig; readonly service: Service; readonly port: ServicePort },
  { match, scope }: Pick<PortListener, 'match' | 'scope'>,
  { near, everywhere, local, retained, place }: Backends,
): Frontend {
  const policy = scope === 'internal' ? service.internalTrafficPolicy : service.externalTrafficPolicy;
  const isExternalAddress = scope === 'external' && match.kind === 'address';
  const algorithm = algorithmOf(config, service, isExternalAddress ? 'external address' : 'elsewhere');
  const hashing = hashingOf(algorithm, config, service);
  const any = hashing !== undefined && scope === 'external' && policy === 'Cluster' ? everywhere() : near;
  const own = policy === 'Local' ? local : noChoices;
  const kept = retained(any, own);
  return {
    match,
    scope,
    policy,
    backends: any.backends,
    localBackends: own.backends,
    ...choosing(service, { algorithm, hashing, node: place.name, servicePort: servicePortOf(service, port) }, any, own),
    ...(hashing === undefined || any.backends.length === 0 ? affinityOf(service, port) : {}),
    ...(kept.length === 0 ? {} : { retained: kept }),
    ...(service.resetOnRemoval === true && port.protocol === 'TCP' ? { resetRemoved: true as const } : {}),
  };
}

/** All frontends of a port remember clients together, whichever address they used. */
function affinityOf(service: Service, port: ServicePort): Pick<Frontend, 'affinity'> {
  const { affinitySeconds } = service;
  return affinitySeconds === undefined ? {} : { affinity: { seconds: affinitySeconds, servicePort: servicePortOf(service, port) } };
}

const servicePortOf = ({ metadata }: Service, { name, protocol }: ServicePort): string => `${serviceKey(metadata)} ${name} ${protocol}`;

/**
 * Marks frontends whose address answers ICMP echo with the node's first address of the family, which answers in its place. An address
 * answers when one of its ports has a backend that this node may use for outside clients, so that "ping" tells of this node what it tells
 * of a server.
 */
function withIcmpEcho(snapshot: Snapshot, service: Service, nodeName: string, frontends: readonly Frontend[]): readonly Frontend[] {
  if (!(service.icmpEcho ?? snapshot.config.icmpEcho)) return frontends;
  const own = snapshot.nodes.get(nodeName)?.internalIPs ?? [];
  return frontends.map((frontend) => {
    const { match, scope, policy, backends, localBackends } = frontend;
    if (match.kind !== 'address' || scope !== 'external') return frontend;
    const usable = policy === 'Local' ? localBackends : backends;
    const echoFrom = own.find(({ family }) => family === match.address.family);
    return usable.length === 0 || echoFrom === undefined ? frontend : { ...frontend, echoFrom };
  });
}
