import { defined } from '../../lang/defined.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import type { Reason, ReasonCode } from '../../model/reasons.ts';
import { familyOfText, formatAddress } from '../../net/address.ts';
import { formatPrefix } from '../../net/prefix.ts';
import { causesOf, homeOf } from './causes/causes.ts';
import { nodesOfViews, waysOf, type AddressView, type NodeView, type ViewedFailure } from './node-view.ts';
import type { SeenConnections } from './seen-connections.ts';

/** The fate of outside clients' connections to one address and port. */
export interface ClientReachability {
  /** "192.0.2.1:80/TCP", "[2001:db8::1]:80/UDP". */
  readonly target: string;
  readonly address: string;
  /**
   * answered: an agent saw a connection answered in the last ten minutes. announced: nothing is known to prevent it, and no agent saw one.
   * expected: decided, but no node reports that it is so. intercepted: another program may translate the packets before Herald does, on
   * every node that receives them. contested: a foreign host answers for the address too, or a router has a path to another speaker: these receive some. partly: those to some
   * endpoints fail. cutOff: those to all endpoints time out. failing: all that the nodes saw were refused, or got no answer.
   */
  readonly outcome:
    | 'answered'
    | 'announced'
    | 'contested'
    | 'failing'
    | 'partly'
    | 'cutOff'
    | 'expected'
    | 'intercepted'
    | 'refused'
    | 'unreachable';
  /** Nodes that receive the traffic. One that has the address itself needs no announcement: `why` says so. */
  readonly via: readonly string[];
  readonly why?: Reason;
  /** Why clients may get no answer although endpoints answer. Only of an announced target. */
  readonly doubt?: Reason;
  /** Prefixes that may connect. Absent: all. */
  readonly sources?: readonly string[];
}

/** The state of nodes with these reasons is unknown. */
const unreported = new Set<string>(['AgentSilent', 'AgentStopped', 'AgentOtherVersion', 'Undecided']);

/** `ours`: Herald announces the load balancer addresses. Those of another program are left out. */
export function clientReachability(
  service: Service,
  nodes: readonly NodeView[],
  ours: boolean,
  seen: Pick<SeenConnections, 'answered'>,
): ClientReachability[] {
  const balanced = ours ? assignedAddresses(service).map(formatAddress) : [];
  const addresses = [...new Set([...balanced, ...service.externalIPs.map(formatAddress)])];
  return addresses.flatMap((address) =>
    service.ports.map(({ protocol, port }): ClientReachability => {
      const target = `${familyOfText(address) === 6 ? `[${address}]` : address}:${port}/${protocol}`;
      const frontend = `${address} ${protocol} ${port}`;
      const view = { target, address, ...viewOf(nodes, { address, frontend, port: `${port}/${protocol}` }, seen) };
      const ranges = balanced.includes(address) ? service.loadBalancerSourceRanges : [];
      const sources = ranges.filter((range) => range.address.family === familyOfText(address)).map(formatPrefix);
      return sources.length === 0 ? view : { ...view, sources };
    }),
  );
}

interface Target {
  readonly address: string;
  readonly frontend: string;
  /** "80/TCP" */
  readonly port: string;
}

function viewOf(
  nodes: readonly NodeView[],
  { address, frontend, port }: Target,
  seen: Pick<SeenConnections, 'answered'>,
): Pick<ClientReachability, 'outcome' | 'via' | 'why' | 'doubt'> {
  const found = nodes.map((node) => ({
    node,
    announced: node.addresses.find((one) => one.address === address && one.type !== 'ClusterIP'),
  }));
  const announcing = found.filter(({ announced }) => announced !== undefined && waysOf(announced).some((way) => way.reason === undefined));
  const serving = announcing.filter(({ node }) => !isIdle(node, frontend));
  const blocked = serving.flatMap(({ announced }) => (announced?.heldBack?.code === 'HeldBackLastNextHop' ? [announced.heldBack] : []));
  const [firstBlocked] = blocked;
  // Nodes that cannot forward announce the address only because no other does: nothing arrives.
  if (firstBlocked !== undefined && blocked.length === serving.length) return { outcome: 'unreachable', via: [], why: firstBlocked };
  const via = nodesOfViews(serving.map(({ node }) => node));
  const foreign = serving.map(({ node }) => interceptionOn(node, frontend));
  const [interception] = foreign;
  if (interception !== undefined && foreign.every((one) => one !== undefined)) return { outcome: 'intercepted', via, why: interception };
  const cutOff = nodes.flatMap(({ node, lost = [] }) =>
    via.some((other) => other !== node) ? lost.filter(({ family }) => family === familyOfText(address)) : [],
  );
  const [firstCutOff] = cutOff;
  if (serving.length > 0 && firstCutOff !== undefined)
    return { outcome: firstCutOff.areAll ? 'cutOff' : 'partly', via, why: firstCutOff.reason };
  const lost = lossesOfTarget(nodes, via, address, port);
  const [loss] = lost;
  if (loss !== undefined) {
    const isTotal = serving.every(({ node }) => lost.some(({ view, failure, isPassed }) => failure.areAll && (view === node) !== isPassed));
    return { outcome: isTotal ? 'failing' : 'partly', via, why: loss.failure.reason };
  }
  const contested = serving.map(({ announced }) => contestOf(announced));
  const [contest] = contested;
  if (contest !== undefined && contested.every((one) => one !== undefined)) return { outcome: 'contested', via, why: contest };
  const contention = serving.map(({ announced }) => contentionOf(announced)).find((one) => one !== undefined);
  if (contention !== undefined) return { outcome: 'contested', via, why: contention };
  const [doubt] = serving.flatMap(({ node }) => doubtsOf(node, address, port));
  if (serving.length > 0 && doubt !== undefined) return { outcome: 'announced', via, doubt: doubt.reason };
  if (serving.length > 0) return { outcome: seen.answered(frontend) ? 'answered' : 'announced', via };
  if (announcing.length > 0) return { outcome: 'refused', via: nodesOfViews(announcing.map(({ node }) => node)) };
  const expected = found.filter(({ announced }) => announced !== undefined && waysOf(announced).some((way) => isUnreported(way.reason)));
  if (expected.length > 0) return { outcome: 'expected', via: nodesOfViews(expected.map(({ node }) => node)) };
  const home = homeIn(found, nodes);
  if (home !== undefined && home.view.frontends > 0 && !isIdle(home.view, frontend))
    return { outcome: seen.answered(frontend) ? 'answered' : 'announced', via: [home.node], why: home.because };
  const why = causesOf(nodes, address)[0]?.reason;
  return { outcome: 'unreachable', via: [], ...defined({ why }) };
}

/** Finds the node that has the address itself. */
function homeIn(
  found: readonly { readonly announced: AddressView | undefined }[],
  nodes: readonly NodeView[],
): { readonly node: string; readonly view: NodeView; readonly because: Reason } | undefined {
  for (const { announced } of found) {
    const because = announced?.reason;
    const node = because === undefined ? undefined : homeOf(because);
    const view = node === undefined ? undefined : nodes.find((one) => nodesOfViews([one]).includes(node));
    if (because !== undefined && node !== undefined && view !== undefined) return { node, view, because };
  }
  return undefined;
}

interface TargetLoss {
  readonly view: NodeView;
  readonly failure: ViewedFailure;
  /** The node of the view loses what others pass to its endpoints. Otherwise the node does not reach endpoints. */
  readonly isPassed: boolean;
}

/**
 * Returns why nodes that receive connections to a port (`via`) do not reach endpoints. A filter on the node of an endpoint explains what others
 * see of it.
 */
export function lossesOfTarget(nodes: readonly NodeView[], via: readonly string[], address: string, port: string): TargetLoss[] {
  const passed = nodes.flatMap((view) =>
    via.some((other) => other !== view.node)
      ? ofTarget(view.unreached, address, port).map((failure): TargetLoss => ({ view, failure, isPassed: true }))
      : [],
  );
  const own = nodes.flatMap((view) =>
    via.includes(view.node) ? failuresOf(view, address, port).map((failure): TargetLoss => ({ view, failure, isPassed: false })) : [],
  );
  return [...passed, ...own.filter(({ failure }) => !passed.some((one) => isExplainedBy(failure.reason, one.failure.reason)))];
}

/** True when the filter drops packets to the endpoint that does not answer. */
function isExplainedBy(seen: Reason, filter: Reason): boolean {
  if (filter.code !== 'PassedFiltered' || (seen.code !== 'EndpointSilent' && seen.code !== 'EndpointRefuses')) return false;
  const [endpoint = ''] = seen.details.endpoints.split(/, | and /);
  return filter.details.targets.split(/, | and | \(/).includes(endpoint);
}

/** Returns the endpoints of the port that the node does not reach. */
export function failuresOf({ failing }: NodeView, address: string, port: string): readonly ViewedFailure[] {
  return ofTarget(failing, address, port).filter(({ reason }) => !doubts.has(reason.code));
}

/** Returns the endpoints of the port that clients may not be able to use through the node. */
export function doubtsOf({ failing }: NodeView, address: string, port: string): readonly ViewedFailure[] {
  return ofTarget(failing, address, port).filter(({ reason }) => doubts.has(reason.code));
}

/** The clients may be the reason, or what the program is for. */
const doubts: ReadonlySet<string> = new Set<ReasonCode>(['ClientsDoNotComplete', 'EndpointSendsNothing', 'AnswersUnacknowledged']);

function ofTarget(failures: readonly ViewedFailure[] = [], address: string, port: string): readonly ViewedFailure[] {
  const family = `IPv${familyOfText(address)}`;
  return failures.filter((one) => one.family === family && one.port === port && (one.address ?? address) === address);
}

function isIdle({ idle = [], forwarding }: NodeView, frontend: string): boolean {
  const refused = forwarding.some(({ code, details }) => code === 'FrontendQuarantined' && details.frontend === frontend);
  return refused || idle.some((one) => one.frontend === frontend);
}

/** Returns why clients may reach a foreign host instead of the node. Routers, which know the address by BGP, reach the node. */
function contestOf(announced: AddressView | undefined): Reason | undefined {
  if (announced === undefined || announced.peers.some(({ reason: why }) => why === undefined)) return undefined;
  return announced.l2?.warning?.code === 'L2AddressContested' ? announced.l2.warning : undefined;
}

/** Returns why a router sends packets for the address to another speaker. */
function contentionOf(announced: AddressView | undefined): Reason | undefined {
  return announced?.peers.find(({ reason: why, warning }) => why === undefined && warning?.code === 'PrefixContended')?.warning;
}

function interceptionOn({ forwarding }: NodeView, frontend: string): Reason | undefined {
  return forwarding.find(({ code, details }) => code === 'ForeignNat' && details.frontend === frontend);
}

/** True when the reason says that the state of the node is unknown. */
export function isUnreported(because: Reason | undefined): boolean {
  return because !== undefined && unreported.has(because.code);
}
