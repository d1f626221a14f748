import { unansweredAddresses } from '../../decisions/l2/local-pools.ts';
import { usesLinks } from '../../decisions/l2/link-advertisements.ts';
import { causesOf, isAnnounced } from '../../decisions/verdict/causes/causes.ts';
import { waysOf, type AddressView, type NodeView } from '../../decisions/verdict/node-view.ts';
import { secondAnswers, type L2View } from '../../decisions/verdict/l2-view.ts';
import { conditionTypes } from '../../model/objects/condition-types.ts';
import { conditionText, reason, type Reason, reasonText, remedyText } from '../../model/reasons.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { runningReport } from '../../model/objects/node-state.ts';
import { assignedAddresses } from '../../model/objects/service.ts';
import { formatAddress } from '../../net/address.ts';
import type { Condition } from '../status-writer.ts';
import { negative, reportCut, type Assessment, type Judgement } from './service-judgement.ts';

/**
 * True when each load balancer address is announced by at least one node. If only nodes that are being drained announce one, the condition
 * says so. Else it has the cause that the verdict found.
 */
export function assessAnnounced(judgement: Judgement): Assessment {
  const type = conditionTypes.announced;
  const { service, reports } = judgement;
  if (reports.nodes.length === 0) return { type, status: 'Unknown', reason: 'NoNodes', message: 'There is no Node object' };
  const found = assignedAddresses(service).map((address) => announcers(judgement, formatAddress(address)));
  const [draining] = found.flatMap(({ drain }) => drain ?? []);
  const isCut = found.some(({ by }) => by === 'a node with a cut report');
  const isMissing = found.some(({ by }) => by === 'none');
  if (isMissing) return notAnnounced(judgement);
  if (isCut) return { type, ...reportCut };
  if (draining !== undefined) return { type, status: 'True', reason: draining.code, message: conditionText(draining) };
  const both = assignedAddresses(service).every((address) => isAnnouncedBothWays(judgement, formatAddress(address)));
  const message = `Every address of the Service is announced by at least one node${both ? ', by BGP and by ARP or NDP' : ''}`;
  const announced = withUnanswered({ type, status: 'True', reason: 'Announced', message }, judgement);
  return withSecondAnswer(withHeldBackNodes(announced, judgement), judgement);
}

/** True when a router and a link get the address. */
function isAnnouncedBothWays(judgement: Judgement, address: string): boolean {
  const { snapshot } = judgement;
  if (!usesLinks(snapshot) || snapshot.advertisements.size === 0) return false;
  const hasWay = (isWay: (announced: AddressView) => boolean): boolean =>
    isTrueOfANode(judgement, ({ addresses }) => addresses.some((one) => one.address === address && isWay(one)));
  return (
    hasWay(({ l2 }) => l2 !== undefined && l2.reason === undefined) &&
    hasWay(({ peers }) => peers.some(({ reason: why }) => why === undefined))
  );
}

/** Adds that machines of the nodes' own network get no answer for an address that only routers know. */
function withUnanswered(condition: Condition, { snapshot, service }: Judgement): Condition {
  const [first] = unansweredAddresses(snapshot, service);
  if (first === undefined) return condition;
  return { ...condition, message: `${condition.message}. But ${reasonText(first)}. Fix: ${remedyText(first)}` };
}

/** Adds that a foreign host, or the kernel of another node, answers for an address too. Costs nothing while no node reports that. */
function withSecondAnswer(condition: Condition, { service, reports, views, verdict }: Judgement): Condition {
  const differing = reports.differing.get(serviceKey(service.metadata)) ?? [];
  const reporting = new Set(differing.flatMap((one) => (secondAnswers.has(one.reason.code) ? [one.node] : [])));
  const [second] = [...reporting].toSorted().flatMap((node) => views.of(node).addresses.flatMap(({ l2 }) => secondAnswerOf(l2) ?? []));
  if (second === undefined) return condition;
  const { code, line } = verdict();
  return { ...condition, reason: second.code, message: code === second.code ? line : conditionText(second) };
}

/** The kernel of the owner answers as the owner does, so its warning counts only for a foreign host. */
function secondAnswerOf({ reason: why, warning }: Partial<L2View> = {}): Reason | undefined {
  if (warning?.code === 'L2AddressContested') return warning;
  return why?.code === 'L2KernelAnswers' || why?.code === 'L2TwoOwners' ? why : undefined;
}

interface Announcers {
  readonly by: 'a node' | 'a node that is being drained' | 'a node with a cut report' | 'none';
  readonly drain?: Reason;
}

function announcers(judgement: Judgement, address: string): Announcers {
  const { views } = judgement;
  if (isTrueOfANode(judgement, (view) => announcementOf(judgement, view, address)?.by === 'a node')) return { by: 'a node' };
  const found = views.all().flatMap((view) => announcementOf(judgement, view, address) ?? []);
  const inOrder = ['a node with a cut report', 'a node that is being drained'] as const;
  return inOrder.map((by) => found.find((one) => one.by === by)).find((one) => one !== undefined) ?? { by: 'none' };
}

/** Nodes that are looked at before all others. */
const likelyNodes = 3;

/** True of an existing node. Looks at few nodes first: at some that report, and at some with an endpoint of the Service. */
function isTrueOfANode({ snapshot, service, reports, views }: Judgement, isTrue: (view: NodeView) => boolean): boolean {
  const endpoints = snapshot.endpointSlices(serviceKey(service.metadata)).flatMap((slice) => slice.endpoints.slice(0, likelyNodes));
  const likely = [
    ...reports.running.slice(0, likelyNodes).map(({ metadata }) => metadata.name),
    ...endpoints.slice(0, likelyNodes).flatMap(({ nodeName }) => nodeName ?? []),
  ];
  const isTrueOf = (view: NodeView): boolean => snapshot.nodes.has(view.node) && isTrue(view);
  return likely.some((node) => isTrueOf(views.of(node))) || views.all().some(isTrueOf);
}

/** Returns how the nodes of a view announce the address. Undefined: they do not. An agent that does not report is not known to announce anything. */
function announcementOf({ snapshot, now }: Judgement, { node, addresses }: NodeView, address: string): Announcers | undefined {
  if (!snapshot.nodes.has(node) || runningReport(snapshot.nodeStates, node, now) === undefined) return undefined;
  const found = addresses.find((one) => one.address === address && one.type === 'LoadBalancer');
  if (found === undefined || waysOf(found).every((way) => way.reason !== undefined)) return undefined;
  if (found.drain !== undefined) return { by: 'a node that is being drained', drain: found.drain };
  return { by: snapshot.nodeStates.get(node)?.truncated === true ? 'a node with a cut report' : 'a node' };
}

function notAnnounced({ snapshot, service, views }: Judgement): Assessment {
  const type = conditionTypes.announced;
  const nodes = views.all().filter(({ node }) => snapshot.nodes.has(node));
  const [cause] = assignedAddresses(service).flatMap((address) => {
    const text = formatAddress(address);
    return nodes.some((node) => isAnnounced(node, text)) ? [] : causesOf(nodes, text).slice(0, 1);
  });
  return negative(type, cause?.reason ?? reason('NoAddress', undefined));
}

/**
 * Adds to the condition of an announced Service the nodes that cannot forward: how many hold their routes back, or that an address is
 * announced by such nodes only. Costs nothing while every node forwards.
 */
function withHeldBackNodes(condition: Condition, { reports, views, verdict }: Judgement): Condition {
  const withdrawn: Reason[] = [];
  for (const { metadata } of reports.holding) {
    const { addresses } = views.of(metadata.name);
    const kept = addresses.find(({ heldBack }) => heldBack?.code === 'HeldBackLastNextHop')?.heldBack;
    if (kept !== undefined) {
      const { code, line } = verdict();
      return { ...condition, reason: kept.code, message: code === kept.code ? line : conditionText(kept) };
    }
    withdrawn.push(...addresses.flatMap(({ reason }) => (reason?.code === 'NodeHeldBack' ? [reason] : [])).slice(0, 1));
  }
  const [first] = withdrawn;
  if (first === undefined) return condition;
  const some = `${withdrawn.length} of ${reports.nodes.length} nodes ${withdrawn.length === 1 ? 'holds its' : 'hold their'} routes back`;
  return { ...condition, message: `${condition.message}. ${some}: ${reasonText(first)}. Fix: ${remedyText(first)}` };
}
