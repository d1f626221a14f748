import { causesOf, isAnnounced } from '../../decisions/verdict/causes.ts';
import { waysOf, type AddressView } from '../../decisions/verdict/node-view.ts';
import { secondAnswers, type L2View } from '../../decisions/verdict/l2-view.ts';
import { conditionTypes } from '../../model/objects/condition-types.ts';
import { conditionText, reason, type Reason } from '../../model/reasons.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { currentReport, runningReport } from '../../model/objects/node-state.ts';
import { assignedAddresses } from '../../model/objects/service.ts';
import { formatAddress } from '../../net/address.ts';
import type { Condition } from '../status-writer.ts';
import { withHeldBackNodes } from './held-back-nodes.ts';
import { negative, reportCut, type Assessment, type Judgement } from './service-judgement.ts';

/**
 * True when each load balancer address is announced by at least one node. If only nodes that are being drained announce one, the condition
 * says so. Else it has the cause that the verdict found.
 */
export function assessAnnounced(judgement: Judgement): Assessment {
  const type = conditionTypes.announced;
  const { snapshot, service } = judgement;
  const names = [...snapshot.nodes.keys()].toSorted();
  if (names.length === 0) return { type, status: 'Unknown', reason: 'NoNodes', message: 'There is no Node object' };
  const found = assignedAddresses(service).map((address) => announcers(judgement, names, formatAddress(address)));
  const [draining] = found.flatMap(({ drain }) => drain ?? []);
  const isCut = found.some(({ by }) => by === 'a node with a cut report');
  const isMissing = found.some(({ by }) => by === 'none');
  if (isMissing) return notAnnounced(judgement);
  if (isCut) return { type, ...reportCut };
  if (draining !== undefined) return { type, status: 'True', reason: draining.code, message: conditionText(draining) };
  const both = assignedAddresses(service).every((address) => isAnnouncedBothWays(judgement, names, formatAddress(address)));
  const message = `Every address of the Service is announced by at least one node${both ? ', by BGP and by ARP or NDP' : ''}`;
  return withSecondAnswer(withHeldBackNodes({ type, status: 'True', reason: 'Announced', message }, judgement), judgement);
}

/**
 * True when a router and a link get the address. Looks at few nodes: the first one knows whether an L2Advertisement announces the address, and
 * which node answers.
 */
function isAnnouncedBothWays({ snapshot, view }: Judgement, nodes: readonly string[], address: string): boolean {
  if (snapshot.l2Advertisements.size === 0 || snapshot.advertisements.size === 0) return false;
  const viewOn = (node: string): AddressView | undefined => view(node).addresses.find((one) => one.address === address);
  const answers = (node: string): boolean => {
    const { l2 } = viewOn(node) ?? {};
    return l2 !== undefined && l2.reason === undefined;
  };
  const [first = ''] = nodes;
  const { l2 } = viewOn(first) ?? {};
  if (l2 === undefined) return false;
  const owner = l2.reason?.code === 'L2NotOwner' ? l2.reason.details.owner : undefined;
  const isOnLink = owner === undefined ? nodes.some(answers) : answers(owner);
  return isOnLink && nodes.some((node) => viewOn(node)?.peers.some(({ reason: why }) => why === undefined) === true);
}

/** Adds that a foreign host, or the kernel of another node, answers for an address too. Costs nothing while no node reports that. */
function withSecondAnswer(condition: Condition, { snapshot, service, now, view, verdict }: Judgement): Condition {
  const key = serviceKey(service.metadata);
  const reporting = [...snapshot.nodes.keys()].filter((node) =>
    currentReport(snapshot.nodeStates, node, now)?.differing.some((one) => one.service === key && secondAnswers.has(one.reason.code)),
  );
  const [second] = reporting.toSorted().flatMap((node) => view(node).addresses.flatMap(({ l2 }) => secondAnswerOf(l2) ?? []));
  if (second === undefined) return condition;
  const { code, line } = verdict();
  return { ...condition, reason: second.code, message: code === second.code ? line : conditionText(second) };
}

/** The kernel of the owner answers as the owner does, so its warning counts only for a foreign host. */
function secondAnswerOf({ reason: why, warning }: Partial<L2View> = {}): Reason | undefined {
  if (warning?.code === 'L2AddressContested') return warning;
  return why?.code === 'L2KernelAnswers' ? why : undefined;
}

interface Announcers {
  readonly by: 'a node' | 'a node that is being drained' | 'a node with a cut report' | 'none';
  readonly drain?: Reason;
}

function announcers({ snapshot, view, now }: Judgement, nodes: readonly string[], address: string): Announcers {
  let drain: Reason | undefined;
  let cut = false;
  for (const node of nodes) {
    // An agent that does not report is not known to announce anything. So this loop skips its node, whose view costs time. `notAnnounced` still
    // computes the view of every node.
    if (runningReport(snapshot.nodeStates, node, now) === undefined) continue;
    const found = view(node).addresses.find((one) => one.address === address && one.type === 'LoadBalancer');
    if (found === undefined || waysOf(found).every((way) => way.reason !== undefined)) continue;
    if (found.drain !== undefined) drain ??= found.drain;
    else if (snapshot.nodeStates.get(node)?.truncated === true) cut = true;
    else return { by: 'a node' };
  }
  if (cut) return { by: 'a node with a cut report' };
  return drain === undefined ? { by: 'none' } : { by: 'a node that is being drained', drain };
}

function notAnnounced({ snapshot, service, view }: Judgement): Assessment {
  const type = conditionTypes.announced;
  const nodes = [...snapshot.nodes.keys()].toSorted().map(view);
  const [cause] = assignedAddresses(service).flatMap((address) => {
    const text = formatAddress(address);
    return nodes.some((node) => isAnnounced(node, text)) ? [] : causesOf(nodes, text).slice(0, 1);
  });
  return negative(type, cause?.reason ?? reason('NoAddress', undefined));
}
