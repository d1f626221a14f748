import { serviceKey } from '../../model/objects/metadata.ts';
import { currentReport, runningReport } from '../../model/objects/node-state.ts';
import type { Service } from '../../model/objects/service.ts';
import { reason, type Reason, type ReasonCode } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import type { L2Decision } from '../l2/candidates.ts';
import { l2DecisionsOf } from '../l2/decisions-of.ts';

/** What a node does for an address by ARP or NDP. */
export interface L2View {
  /** Names of the links on which the node answers, or stands ready. */
  readonly links: readonly string[];
  /** Why the node does not answer for the address. Absent: it does. */
  readonly reason?: Reason;
  /** Why the node answers only while no other candidate lives. */
  readonly lastResort?: Reason;
  /** The node answers, and its kernel would go on if the agent hangs. */
  readonly warning?: Reason;
}

/** Returns what a node does for an address. Undefined: no L2Advertisement announces it. */
export function viewL2(snapshot: Snapshot, service: Service, address: Address, node: string, now: number): L2View | undefined {
  const decisions = l2DecisionsOf(snapshot);
  const decision = decisions?.decide(address);
  if (decisions === undefined || decision === undefined) return undefined;
  if ('reason' in decision) return decision.reason.code === 'NoAdvertisement' ? undefined : { links: [], reason: decision.reason };
  const own = decision.candidates.find((candidate) => candidate.node === node);
  const kernel = kernelAnswerOf(snapshot, service, { address, node, now });
  if (own === undefined) return { links: [], reason: kernel ?? decisions.whyNot(address, node) ?? reason('NodeUnknown', { node }) };
  const because = whyNotAnswered(snapshot, service, decision, { address, node, now });
  // The kernel of the owner answers as the owner does. That of another node is a second one.
  const isSecond = kernel !== undefined && because?.code === 'L2NotOwner';
  return {
    links: own.links.map(({ name }) => name),
    ...(because === undefined ? {} : { reason: isSecond ? kernel : because }),
    ...(kernel === undefined || because !== undefined ? {} : { warning: kernel }),
    ...(own.lastResort === undefined ? {} : { lastResort: own.lastResort }),
  };
}

interface Place {
  readonly address: Address;
  readonly node: string;
  readonly now: number;
}

function whyNotAnswered(
  snapshot: Snapshot,
  service: Service,
  decision: Exclude<L2Decision, { readonly reason: Reason }>,
  { address, node, now }: Place,
): Reason | undefined {
  const owner = ownerOf(snapshot, decision, address, now);
  if (owner !== undefined && owner !== node) return reason('L2NotOwner', { node, owner });
  const state = currentReport(snapshot.nodeStates, node, now);
  if (state === undefined) return reason('AgentSilent', { node });
  if (state.problem !== undefined) return state.problem;
  const key = serviceKey(service.metadata);
  return state.differing.find(
    ({ service: of, aspect, reason: { code } }) => of === key && aspect !== 'HealthCheck' && !answeredNevertheless.has(code),
  )?.reason;
}

/** A node that reports these answers. */
const answeredNevertheless: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['L2AnswersInstead', 'L2KernelAnswers']);

/** Returns why the kernel of a node answers for the address, by the node's report. */
function kernelAnswerOf({ nodeStates }: Snapshot, { metadata }: Service, { address, node, now }: Place): Reason | undefined {
  const [key, text] = [serviceKey(metadata), formatAddress(address)];
  return currentReport(nodeStates, node, now)?.differing.find(
    ({ service, reason: why }) => service === key && why.code === 'L2KernelAnswers' && why.details.address === text,
  )?.reason;
}

/**
 * Returns the node that answers for the address: the one whose report says that it does although it is not the best, else the first candidate
 * whose agent runs. Undefined: no candidate's agent runs.
 */
export function ownerOf(
  { nodeStates }: Pick<Snapshot, 'nodeStates'>,
  { candidates }: Exclude<L2Decision, { readonly reason: Reason }>,
  address: Address,
  now: number,
): string | undefined {
  const text = formatAddress(address);
  const running = candidates.filter(({ node }) => runningReport(nodeStates, node, now) !== undefined);
  const instead = running.find(({ node }) =>
    nodeStates.get(node)?.differing.some(({ reason: why }) => why.code === 'L2AnswersInstead' && why.details.address === text),
  );
  return (instead ?? running[0])?.node;
}
