import { serviceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { familyOfText, formatAddress } from '../../net/address.ts';
import { groupCauses, type Cause } from './causes/causes.ts';
import { failuresOf } from './client-reachability.ts';
import { nodesOfViews, waysOf, type NodeView } from './node-view.ts';
import { servedFrontends, type SeenConnections } from './seen-connections.ts';
import { listText } from './verdict-text.ts';
import { verdictOf, type Verdict } from './verdict.ts';

interface InsideFacts {
  readonly service: Service;
  readonly nodes: readonly NodeView[];
  readonly seen: SeenConnections;
}

/**
 * Judges a Service without an address of its own outside the cluster (ClusterIP, NodePort) that Herald forwards. Undefined: no
 * node has anything of it to forward.
 */
export function insideVerdict(facts: InsideFacts): Verdict | undefined {
  const { service, nodes } = facts;
  const forwarding = nodes.filter(({ frontends }) => frontends > 0);
  if (forwarding.length === 0) return nodes.some(({ elsewhere }) => elsewhere > 0) ? leftToAnother(service) : undefined;
  const judge = (outcome: Verdict['outcome'], lead: string, causes: readonly Cause[]): Verdict =>
    verdictOf(service, outcome, lead, causes, nodesOfViews(nodes).length);
  const refused = refusedPorts(service, forwarding);
  if (refused.length > 0) return judge(refused.length === service.ports.length ? 'notServed' : 'partly', leadOf(service, refused), refused);
  const failing = forwarding.flatMap((view) => failuresOn(view, service).map((failure) => ({ view, ...failure })));
  if (failing.length > 0) {
    const isTotal = forwarding.every((view) => failuresOn(view, service).some(({ areAll }) => areAll));
    return judge(isTotal ? 'notServed' : 'partly', isTotal ? 'Not served' : 'Not fully served', groupCauses(failing));
  }
  const losses = [...forwarding, ...nodes.filter(({ problem, frontends }) => problem !== undefined && frontends === 0)].flatMap((view) =>
    [view.problem, ...view.forwarding, localMissing(view, service)].flatMap((because) =>
      because === undefined ? [] : { view, reason: because },
    ),
  );
  const isSeen = servedFrontends(service).every(facts.seen.answered);
  if (losses.length > 0) return judge(isSeen ? 'served' : 'announced', 'Forwarded, but not by every node', groupCauses(losses));
  return withoutProblem(facts, isSeen, forwarding);
}

function leftToAnother({ clusterIPs }: Service): Verdict {
  const what = listText(clusterIPs.map(formatAddress));
  return {
    outcome: 'unknown',
    line: `Not known whether it is served: HeraldConfig (services) leaves ${what} to another program, such as kube-proxy.`,
  };
}

/** "Not served", or "Not served at 80/TCP" when other ports have endpoints. */
function leadOf({ ports }: Service, refused: readonly Cause[]): string {
  if (refused.length === ports.length) return 'Not served';
  return `Not served at ${listText(refused.map(({ reason: { details } }) => (details as { readonly port: string }).port))}`;
}

/** Returns the ports to which no node has an endpoint. */
function refusedPorts(service: Service, nodes: readonly NodeView[]): Cause[] {
  return service.ports.flatMap(({ protocol, port, targetPort }): Cause[] => {
    const frontends = service.clusterIPs.map((address) => `${formatAddress(address)} ${protocol} ${port}`);
    const isRefused = ({ idle = [] }: NodeView): boolean =>
      frontends.every((key) => idle.some(({ frontend, effect }) => frontend === key && effect === 'refused'));
    if (frontends.length === 0 || !nodes.every(isRefused)) return [];
    return [{ reason: reason('PortWithoutEndpoint', { port: `${port}/${protocol}`, targetPort: String(targetPort) }), nodes: [] }];
  });
}

function failuresOn(view: NodeView, { clusterIPs, ports }: Service): ReturnType<typeof failuresOf> {
  return clusterIPs.flatMap((address) =>
    ports.flatMap(({ port, protocol }) => failuresOf(view, formatAddress(address), `${port}/${protocol}`)),
  );
}

/** Under internalTrafficPolicy Local, pods on a node without an endpoint reach none. */
function localMissing({ node, idle = [] }: NodeView, { clusterIPs }: Service): Reason | undefined {
  const addresses = new Set(clusterIPs.map(formatAddress));
  const isMissing = idle.some(({ frontend, effect }) => effect === 'dropped' && addresses.has(frontend.replace(/ .*/, '')));
  return isMissing ? reason('NoLocalEndpoints', { node, policy: 'internalTrafficPolicy' }) : undefined;
}

function withoutProblem({ service, seen, nodes }: InsideFacts, isSeen: boolean, forwarding: readonly NodeView[]): Verdict {
  const clusterIPs = service.clusterIPs.map(formatAddress);
  const ports = service.type === 'NodePort' ? service.ports.filter(({ nodePort }) => nodePort > 0) : [];
  const nodePorts = ports.map(({ nodePort, protocol }) => `${nodePort}/${protocol}`);
  const onNodes = nodePorts.length === 0 ? '' : ` and NodePort ${listText(nodePorts)}`;
  const announcing = nodes.filter(({ addresses }) =>
    addresses.some((one) => one.type === 'ClusterIP' && waysOf(one).some((way) => way.reason === undefined)),
  );
  const announced = announcing.length === 0 ? '' : `, announced by ${listText(nodesOfViews(announcing))}`;
  const where = `${listText(clusterIPs)}${onNodes} on ${listText(nodesOfViews(forwarding))}${announced}`;
  const families = new Set(clusterIPs.map(familyOfText));
  const what = families.size > 1 ? 'connections over each family' : 'connections';
  if (isSeen) return { outcome: 'served', line: `Served: ${where}; ${what} were answered in the last 10 minutes.` };
  const fix = `Check it: herald check service ${serviceKey(service.metadata)}.`;
  const why = seen.unseen() ?? `not every address and port saw a connection in the last 10 minutes`;
  return { outcome: 'announced', line: `Forwarded, not checked: ${where}; ${why}. ${fix}`, fix };
}
