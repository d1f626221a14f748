import { defined } from '../../lang/defined.ts';
import { findEntry, reason, type Reason, type ReasonCode } from '../../model/reasons.ts';
import { familyOfText } from '../../net/address.ts';
import type { Service } from '../../model/objects/service.ts';
import { causesOf, isAnnounced, lossesOf, portWithoutEndpoint, type Cause } from './causes.ts';
import type { ClientReachability } from './client-reachability.ts';
import { nodesOfViews, type NodeView } from './node-view.ts';
import { objectOfReason } from './object-of-reason.ts';
import { leadOfLoadBalancer, causeText, listText, problemLine, targetsText } from './verdict-text.ts';

/** Says if clients outside the cluster reach a Service, with the first cause if they do not, and the fix. Plain data. */
export interface Verdict {
  /** served: clients of every target are answered. partly: of some. unknown: no report says it, or an object could not be read. */
  readonly outcome: 'served' | 'partly' | 'notServed' | 'unknown';
  /** The outcome, its cause and the fix. It contains no number that changes while the cause stays. */
  readonly line: string;
  /** The cause. A served Service has one when something that it asks for is missing although clients are answered. */
  readonly code?: ReasonCode;
  /** The object to change: "IPAddressPool/public". */
  readonly object?: string;
  /** The field to change: "spec.addresses". */
  readonly field?: string;
  /** The action that helps, as an imperative. */
  readonly fix?: string;
}

interface VerdictFacts {
  readonly service: Service;
  /** Why pools do not serve the Service. Absent: they do. */
  readonly notOurs?: Reason;
  /** Why the Service does not have the addresses that it asks for. Absent: it has them. */
  readonly unmet?: Reason;
  readonly nodes: readonly NodeView[];
  /** Why there are no nodes. */
  readonly noNodes?: Reason;
  /** The result for clients of each target, by `clientReachability` for the same nodes. */
  readonly clients: readonly ClientReachability[];
}

export function decideVerdict(facts: VerdictFacts): Verdict {
  const { service, notOurs, unmet, nodes, clients } = facts;
  if (clients.length === 0) return withoutAddress(service, notOurs, unmet);
  if (nodes.length === 0) {
    const cause = [{ reason: facts.noNodes ?? reason('NoNodes', undefined), nodes: [] }];
    return verdictOf(service, 'unknown', 'Not known whether it is served', cause, 0);
  }
  const answered = clients.filter(({ outcome }) => outcome === 'answered');
  if (answered.length === clients.length) return servedVerdict(facts);
  const failed = clients.filter(({ outcome }) => outcome !== 'answered');
  const isPartly = answered.length > 0 || failed.some((one) => partial.has(one.outcome));
  const outcome = isPartly ? 'partly' : failed.some((one) => uncertain.has(one.outcome)) ? 'unknown' : 'notServed';
  return verdictOf(service, outcome, leadOf(outcome, answered, failed), causesOfFailure(facts, failed), countNodes(nodes));
}

function withoutAddress(service: Service, notOurs: Reason | undefined, unmet: Reason | undefined): Verdict {
  const because = notOurs ?? unmet ?? reason('NoAddress', undefined);
  const cause = [{ reason: because, nodes: [] }];
  if (because.code === 'Undecided') return verdictOf(service, 'unknown', 'Not known whether it is served', cause, 0);
  if (findEntry(because.code)?.givesAway === true && service.ingress.length > 0)
    return verdictOf(service, 'unknown', 'Served by another program, or not at all', cause, 0);
  // A load balancer of another provider, which has a host name.
  if (notOurs === undefined && unmet !== undefined && service.ingress.length > 0)
    return verdictOf(service, 'unknown', leadOfLoadBalancer(unmet), cause, 0);
  return verdictOf(service, 'notServed', notOurs === undefined ? 'Not served' : 'Not served by Herald', cause, 0);
}

/** An allocation that holds back every announcement, although the Service keeps an address. */
const allocationCauses: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['AddressNotFromPool']);

function causesOfFailure({ service, unmet, nodes }: VerdictFacts, failed: readonly ClientReachability[]): Cause[] {
  const [first] = failed.toSorted((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome));
  if (first === undefined) throw new RangeError('at least one client is not answered');
  if (first.outcome === 'refused') return refusals(service, nodes, first);
  if (first.outcome === 'cutOff' || first.outcome === 'partly') return cutOffCauses(failed, nodes);
  if ((first.outcome === 'intercepted' || first.outcome === 'contested') && first.why !== undefined)
    return [{ reason: first.why, nodes: first.via }];
  const causes = causesOf(nodes, first.address);
  const [cause] = causes;
  if (unmet?.code === 'HeldOutsidePools' && cause !== undefined && allocationCauses.has(cause.reason.code))
    return [{ ...cause, reason: unmet }];
  return causes;
}

/** The failure that a verdict explains first. */
const order: readonly ClientReachability['outcome'][] = [
  'unreachable',
  'refused',
  'cutOff',
  'partly',
  'contested',
  'intercepted',
  'expected',
  'answered',
];

/** Some connections to the target are answered. */
const partial: ReadonlySet<ClientReachability['outcome']> = new Set(['partly', 'contested']);

const uncertain: ReadonlySet<ClientReachability['outcome']> = new Set(['intercepted', 'expected']);

/** Returns why endpoints are cut off, once for each node and family that a client needs. */
function cutOffCauses(failed: readonly ClientReachability[], nodes: readonly NodeView[]): Cause[] {
  const families = new Set(failed.map(({ address }) => familyOfText(address)));
  return nodes.flatMap(({ node, lost = [] }) =>
    lost.filter(({ family }) => families.has(family)).map(({ reason: why }) => ({ reason: why, nodes: [node] })),
  );
}

/** Returns why nodes that announce the address refuse connections to one of its ports. */
function refusals(service: Service, nodes: readonly NodeView[], client: ClientReachability): Cause[] {
  const announcing = nodes.filter((node) => isAnnounced(node, client.address));
  const kernel = lossesOf(announcing, [client.address]).causes.filter(({ reason: { code } }) => code === 'FrontendQuarantined');
  if (kernel.length > 0) return kernel;
  return [portWithoutEndpoint(service, client)];
}

function leadOf(outcome: Verdict['outcome'], answered: readonly ClientReachability[], failed: readonly ClientReachability[]): string {
  if (outcome === 'unknown') return 'Not known whether it is served';
  if (outcome === 'notServed') return 'Not served';
  if (failed.every((one) => partial.has(one.outcome))) return 'Partly served';
  const isOf = (version: string, list: readonly ClientReachability[]): boolean =>
    list.every(({ address }) => `IPv${familyOfText(address)}` === version);
  const family = ['IPv4', 'IPv6'].find(
    (version) => isOf(version, answered) && !list(failed).some((address) => list(answered).includes(address)),
  );
  const other = family === undefined ? undefined : family === 'IPv4' ? 'IPv6' : 'IPv4';
  if (family !== undefined && other !== undefined && isOf(other, failed))
    return `Served over ${family} only, not at ${listText(list(failed))}`;
  return `Partly served, not at ${targetsText(failed, answered)}`;
}

function countNodes(views: readonly NodeView[]): number {
  return views.reduce((sum, { alike = [] }) => sum + 1 + alike.length, 0);
}

function list(clients: readonly ClientReachability[]): string[] {
  return [...new Set(clients.map(({ address }) => address))];
}

function servedVerdict({ service, unmet, nodes, clients }: VerdictFacts): Verdict {
  const addresses = list(clients);
  const sources = [...new Set(clients.flatMap((client) => client.sources ?? []))];
  const to = sources.length === 0 ? 'Served' : `Served to ${listText(sources)} only (spec.loadBalancerSourceRanges)`;
  const announcing = nodes.filter((node) => addresses.some((address) => isAnnounced(node, address)));
  const all = countNodes(nodes);
  if (unmet !== undefined && unmet.code !== 'Undecided')
    return verdictOf(service, 'served', `${to}, but not as it asks`, [{ reason: unmet, nodes: [] }], all);
  const drains = announcing.map(({ addresses: views }) => views.find((one) => one.drain !== undefined)?.drain);
  const [drain] = drains;
  if (drain !== undefined && drains.every((one) => one !== undefined)) {
    return verdictOf(service, 'served', `${to}, but only by nodes that are being drained`, [{ reason: drain, nodes: [] }], all);
  }
  const { causes, byNode } = lossesOf(nodes, addresses);
  if (causes.length > 0) {
    const code = causes[0]?.reason.code;
    if (code === 'L2KernelAnswers') return verdictOf(service, 'served', `${to}, but two nodes answer at once`, causes, all);
    const way = code?.startsWith('L2') === true ? 'by ARP and NDP' : byNode ? 'by every node' : 'through every router';
    return verdictOf(service, 'served', `${to}, but not ${way}`, causes, all);
  }
  const via = listText(nodesOfViews(announcing));
  const families = new Set(addresses.map(familyOfText));
  // PreferDualStack accepts one family when no pool gives both.
  const only =
    service.ipFamilies.length > 1 && families.size === 1 ? `, over ${[...families].map((family) => `IPv${family}`).join()} only` : '';
  return { outcome: 'served', line: `${to}${only}: clients reach ${listText(addresses)} via ${via}.` };
}

/** Builds a verdict from its causes, the first of which decides. `nodes`: how many nodes there are. */
function verdictOf(service: Service, outcome: Verdict['outcome'], lead: string, causes: readonly Cause[], nodes: number): Verdict {
  const [first] = causes;
  if (first === undefined) return { outcome, line: `${lead}.` };
  const { line, fix } = problemLine(lead, causeText(causes, nodes), first.reason);
  return { outcome, line, code: first.reason.code, ...objectOfReason(service, first.reason), ...defined({ fix }) };
}
