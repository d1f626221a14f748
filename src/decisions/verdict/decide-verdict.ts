import { defined } from '../../lang/defined.ts';
import { findEntry, reason, type Reason, type ReasonCode } from '../../model/reasons.ts';
import { familyOfText, type Family } from '../../net/address.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import { causesOf, groupCauses, isAnnounced, limitsOf, lossesOf, portWithoutEndpoint, type Cause } from './causes/causes.ts';
import { doubtsOf, lossesOfTarget, type ClientReachability } from './client-reachability.ts';
import { nodesOfViews, type NodeView } from './node-view.ts';
import { hintsOf } from './causes/hints.ts';
import { remedyOfKept } from './kept-routes.ts';
import { verdictOf, type Verdict } from './verdict.ts';
import { insideVerdict } from './inside-verdict.ts';
import type { SeenConnections } from './seen-connections.ts';
import { explainSilent, type PlaceOf } from './causes/silent-endpoints.ts';
import { causeText, leadOfLoadBalancer, listText, problemLine, targetsText } from './verdict-text.ts';

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
  readonly seen: SeenConnections;
  readonly placeOf: PlaceOf;
}

export function decideVerdict(facts: VerdictFacts): Verdict {
  const { service, nodes, clients } = facts;
  if (clients.length === 0) return withoutAddress(facts);
  if (nodes.length === 0)
    return verdictOf(
      service,
      'unknown',
      'Not known whether it is served',
      [{ reason: facts.noNodes ?? reason('NoNodes', undefined), nodes: [] }],
      0,
    );
  const answered = clients.filter(isSound);
  if (answered.length === clients.length) return servedVerdict(facts);
  const failed = clients.filter((one) => !isSound(one));
  const isPartly = answered.length > 0 || failed.some((one) => partial.has(one.outcome));
  const causes = causesOfFailure(facts, failed);
  const isOpen = failed.some((one) => uncertain.has(one.outcome)) || causes[0]?.reason.code === 'Undecided';
  const outcome = isPartly ? 'partly' : isOpen ? 'unknown' : 'notServed';
  return verdictOf(service, outcome, `${leadOf(outcome, answered, failed)}${clientsText(causes)}`, causes, countNodes(nodes));
}

/** " to clients in 10.9.0.0/24" where the cause concerns these only. */
function clientsText(causes: readonly Cause[]): string {
  const networks = causes.map(({ reason: { code, details } }) =>
    code === 'EndpointAnswersLost' && details.clients?.endsWith('/0') !== true ? details.clients : undefined,
  );
  const known = networks.filter((one) => typeof one === 'string');
  return known.length > 0 && known.length === networks.length ? ` to clients in ${listText([...new Set(known)])}` : '';
}

/** True when nothing is known to keep clients from an answer. */
const isSound = ({ outcome }: ClientReachability): boolean => outcome === 'answered' || outcome === 'announced';

const areSeen = (clients: readonly ClientReachability[]): boolean => clients.every(({ outcome }) => outcome === 'answered');

function withoutAddress({ service, notOurs, unmet, nodes, seen }: VerdictFacts): Verdict {
  const inside = notOurs?.code === 'NotLoadBalancer' ? insideVerdict({ service, nodes, seen }) : undefined;
  if (inside !== undefined) return inside;
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

function causesOfFailure({ service, unmet, nodes, placeOf }: VerdictFacts, failed: readonly ClientReachability[]): Cause[] {
  const [first] = failed.toSorted((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome));
  if (first === undefined) throw new RangeError('at least one client is not answered');
  if (first.outcome === 'refused') return refusals(service, nodes, first);
  if (first.outcome === 'cutOff' || first.outcome === 'partly' || first.outcome === 'failing')
    return [...cutOffCauses(failed, nodes), ...explainSilent(failureCauses(failed, nodes), nodes, list(failed), placeOf)];
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
  'failing',
  'partly',
  'contested',
  'intercepted',
  'expected',
  'announced',
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

/** Returns why nodes that clients need do not reach endpoints. Alike failures on several nodes are one cause, the one on most nodes first. */
function failureCauses(failed: readonly ClientReachability[], nodes: readonly NodeView[]): Cause[] {
  const losses = failed.flatMap(({ address, target, via }) => lossesOfTarget(nodes, via, address, portOf(target)));
  // A filter explains most. Then what one node lacks for both families stays together.
  const rank = ({ view, isPassed }: (typeof losses)[number]): number => (isPassed ? -1 : nodes.indexOf(view));
  return groupCauses(losses.toSorted((a, b) => rank(a) - rank(b)).map(({ view, failure }) => ({ view, reason: failure.reason })));
}

/** Returns why connections that endpoints answered are not completed. */
function doubtCauses(clients: readonly ClientReachability[], nodes: readonly NodeView[]): Cause[] {
  const found = clients.flatMap(({ address, target, via }) =>
    nodes
      .filter(({ node }) => via.includes(node))
      .flatMap((view) => doubtsOf(view, address, portOf(target)).map((doubt) => ({ view, reason: doubt.reason }))),
  );
  return groupCauses(found);
}

/** "80/TCP" of "192.0.2.1:80/TCP". */
const portOf = (target: string): string => target.slice(target.lastIndexOf(':') + 1);

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
  if (failed.every((one) => partial.has(one.outcome))) return 'Not fully served';
  const isOf = (version: string, list: readonly ClientReachability[]): boolean =>
    list.every(({ address }) => `IPv${familyOfText(address)}` === version);
  const family = ['IPv4', 'IPv6'].find(
    (version) => isOf(version, answered) && !list(failed).some((address) => list(answered).includes(address)),
  );
  const other = family === undefined ? undefined : family === 'IPv4' ? 'IPv6' : 'IPv4';
  if (family !== undefined && other !== undefined && isOf(other, failed))
    return `Announced over ${family}, but not served over ${other} at ${listText(list(failed))}`;
  return `Not served at ${targetsText(failed, answered)}`;
}

function countNodes(views: readonly NodeView[]): number {
  return views.reduce((sum, { alike = [] }) => sum + 1 + alike.length, 0);
}

function list(clients: readonly ClientReachability[]): string[] {
  return [...new Set(clients.map(({ address }) => address))];
}

function servedVerdict(facts: VerdictFacts): Verdict {
  const { service, unmet, nodes, clients } = facts;
  const addresses = list(clients);
  const announcing = nodes.filter((node) => addresses.some((address) => isAnnounced(node, address)));
  // Conditions have these lines, so no connection may change them.
  const judge = (how: string, causes: readonly Cause[]): Verdict =>
    verdictOf(
      service,
      areSeen(clients) ? 'served' : 'announced',
      `Announced${sourcesText(clients)}, but ${how}`,
      causes,
      countNodes(nodes),
    );
  if (unmet !== undefined && unmet.code !== 'Undecided') return judge('not as it asks', [{ reason: unmet, nodes: [] }]);
  const drains = announcing.map(({ addresses: views }) => views.find((one) => one.drain !== undefined)?.drain);
  const [drain] = drains;
  if (drain !== undefined && drains.every((one) => one !== undefined))
    return judge('only by nodes that are being drained', [{ reason: drain, nodes: [] }]);
  const { causes, byNode } = lossesOf(nodes, addresses);
  if (causes.length > 0) {
    const { reason: because, nodes: where } = causes[0] ?? {};
    const code = because?.code;
    if (code === 'L2KernelAnswers' || code === 'L2TwoOwners') return judge('two nodes answer at once', causes);
    if (code?.startsWith('L2') !== true)
      return judge(
        byNode ? (where?.length === countNodes(nodes) ? 'not in full' : 'not by every node') : 'not through every router',
        causes,
      );
    return judge(
      addresses.every((address) => isAnsweredOnLink(nodes, address)) ? 'not every node stands ready' : 'not by ARP and NDP',
      causes,
    );
  }
  const limits = limitsOf(announcing, addresses);
  if (limits.length > 0) return judge('not without a limit', limits);
  const atHome = clients.flatMap(({ via, why }) => (why === undefined ? [] : via));
  return withoutProblem(facts, listText([...new Set([...nodesOfViews(announcing), ...atHome])].toSorted()));
}

/** True when a node answers for the address by ARP or NDP. */
function isAnsweredOnLink(nodes: readonly NodeView[], address: string): boolean {
  return nodes.some(({ addresses }) =>
    addresses.some((one) => one.address === address && one.l2 !== undefined && one.l2.reason === undefined),
  );
}

function sourcesText(clients: readonly ClientReachability[]): string {
  const sources = [...new Set(clients.flatMap((client) => client.sources ?? []))];
  if (sources.length === 0) return '';
  const open = [...new Set(clients.filter((client) => client.sources === undefined).map(({ address }) => `IPv${familyOfText(address)}`))];
  const others = open.length === 0 ? '' : `, and over ${listText(open)} to everyone: no range is of that family`;
  return ` to ${listText(sources)} only (spec.loadBalancerSourceRanges)${others}`;
}

/** PreferDualStack accepts one family when no pool gives both, and when one address is requested. */
function onlyOver({ requestedAddresses }: Service, family: 4 | 6): string {
  const other = family === 4 ? 'IPv6' : 'IPv4';
  const why =
    requestedAddresses.length > 0 ? `no ${other} address is requested` : `PreferDualStack without an ${other} address: see herald pools`;
  return `, over IPv${family} only (${why})`;
}

/** Says what was seen of a Service of which no problem is known. `via`: the nodes that announce it. */
function withoutProblem({ service, clients, seen, nodes }: VerdictFacts, via: string): Verdict {
  const addresses = list(clients);
  const families = new Set(addresses.map(familyOfText));
  const only = service.ipFamilies.length > 1 && families.size === 1 ? onlyOver(service, [...families][0] ?? 4) : '';
  const to = sourcesText(clients);
  const how = `${only}: ${listText(addresses)} via ${via}`;
  if (areSeen(clients)) {
    const served = `Served${to}${how}; connections were answered in the last 10 minutes${agesText(seen, families)}`;
    return {
      outcome: 'served',
      ...withHint(`${served}. Perhaps not those of all clients`, `${served}.`, hintsOf(nodes, addresses, true), countNodes(nodes)),
    };
  }
  const open = clients.filter(({ outcome }) => outcome !== 'answered');
  const where =
    open.length === clients.length
      ? ''
      : ` to ${targetsText(
          open,
          clients.filter(({ outcome }) => outcome === 'answered'),
        )}`;
  const heard = heardText(clients, seen);
  const check = `Check it: herald check service ${serviceKey(service.metadata)}.`;
  const kept = remedyOfKept(nodes, addresses);
  const fix = kept === undefined ? check : `${kept} ${check}`;
  const doubts = doubtCauses(clients, nodes);
  const [doubt] = doubts;
  if (doubt !== undefined) {
    const { line, fix: wayBack = '' } = problemLine(
      `Announced${to}, not checked${how}`,
      causeText(doubts, countNodes(nodes)),
      doubt.reason,
    );
    return { outcome: 'announced', line: `${line} ${check}`, doubt: doubt.reason.code, fix: `${wayBack} ${check}` };
  }
  const why = seen.unseen() ?? `${heard}no answer to a connection${where} was seen ${seen.since ?? 'lately'}`;
  const announced = `Announced${to}, not checked${how}; ${why}`;
  const hints = hintsOf(nodes, addresses, false);
  const { line, fix: remedy } = withHint(`${announced}. Perhaps clients get no answer`, `${announced}.`, hints, countNodes(nodes));
  const all = remedy === undefined ? fix : `${remedy} ${fix}`;
  return { outcome: 'announced', line: `${line} ${fix}`, fix: all };
}

/** Problems of nodes have rows of their own, so a hint makes the Service none. */
function withHint(lead: string, without: string, hints: readonly Cause[], all: number): Pick<Verdict, 'line' | 'fix'> {
  const [hint] = hints;
  if (hint === undefined) return { line: without };
  const { line, fix } = problemLine(lead, causeText(hints, all), hint.reason);
  return { line, ...defined({ fix }) };
}

/** " (over IPv4 12 s ago, over IPv6 540 s ago)" of a Service with both families, whose answers may differ in age. */
function agesText({ age }: SeenConnections, families: ReadonlySet<Family>): string {
  const ages = [...families].map((family) => ({ family, text: age?.(family) }));
  if (ages.length < 2 || ages.some(({ text }) => text === undefined)) return '';
  return ` (${ages.map(({ family, text }) => `over IPv${family} ${text} ago`).join(', ')})`;
}

/** "connections were answered over IPv4 12 s ago, and " where one family was answered and the other was not. */
function heardText(clients: readonly ClientReachability[], { age }: SeenConnections): string {
  const [answered, open] = [true, false].map(
    (isAnswered) =>
      new Set(clients.filter(({ outcome }) => (outcome === 'answered') === isAnswered).map(({ address }) => familyOfText(address))),
  );
  const [family] = answered ?? [];
  if (family === undefined || answered?.size !== 1 || open?.has(family) === true) return '';
  const when = age?.(family);
  return `connections were answered over IPv${family}${when === undefined ? ' in the last 10 minutes' : ` ${when} ago`}, and `;
}
