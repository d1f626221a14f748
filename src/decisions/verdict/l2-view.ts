import { defined } from '../../lang/defined.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import { currentReport, runningReport, whyNoReport } from '../../model/objects/node-state.ts';
import type { Service } from '../../model/objects/service.ts';
import { reason, type Reason, type ReasonCode } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import type { L2AddressDecision, L2Decision, L2Decisions } from '../l2/candidates.ts';
import { l2DecisionsOf } from '../l2/decisions-of.ts';

/** The work of a node for an address by ARP or NDP. */
export interface L2View {
  /** Names of the links on which the node answers, or stands ready. */
  readonly links: readonly string[];
  /** Why the node does not answer for the address. Absent: it does. */
  readonly reason?: Reason;
  /** Why the node answers only while no other candidate lives. */
  readonly lastResort?: Reason;
  /** The node answers, but a foreign host does too, or its own kernel, which would go on if the agent hangs. */
  readonly warning?: Reason;
}

/** Returns what a node does for an address. Undefined: it has no part in answering on links. */
export type L2Views = (address: Address, node: string) => L2View | undefined;

/** Prepares the views of the addresses of a Service. Each address is decided once, however many nodes are asked about. */
export function l2ViewsOf(snapshot: Snapshot, service: Service, now: number): L2Views {
  const decisions = l2DecisionsOf(snapshot);
  if (decisions === undefined) return () => undefined;
  const decided = new Map<string, Decided>();
  return (address, node) => {
    const key = formatAddress(address);
    const known = decided.get(key) ?? decidedAt(snapshot, decisions, address, now);
    decided.set(key, known);
    return viewL2(snapshot, service, known, { address, node, now });
  };
}

/** The decision for an address, and the node that answers for it. Undefined: none does. */
interface Decided extends L2AddressDecision {
  readonly owner: string | undefined;
}

function decidedAt(snapshot: Snapshot, decisions: L2Decisions, address: Address, now: number): Decided {
  const about = decisions.about(address);
  return { ...about, owner: 'reason' in about.decision ? undefined : ownerOf(snapshot, about.decision, address, now) };
}

function viewL2(snapshot: Snapshot, service: Service, { decision, owner, whyNot }: Decided, place: Place): L2View | undefined {
  const { node } = place;
  if ('reason' in decision) return decision.reason.code === 'NoAdvertisement' ? undefined : { links: [], reason: decision.reason };
  const own = decision.candidates.find((candidate) => candidate.node === node);
  const kernel = answerBeside('L2KernelAnswers', snapshot, service, place);
  if (own === undefined) {
    const why = whyNot(node);
    // A BGPAdvertisement concerns nodes without a link to the address too: those announce it to routers only.
    if (kernel === undefined && why?.code === 'L2NoInterface' && why.details.setting !== undefined) return undefined;
    return { links: [], reason: kernel ?? why ?? reason('NodeUnknown', { node }) };
  }
  const because = whyNotAnswered(snapshot, service, owner, place);
  // The kernel of the owner answers as the owner does. That of another node is a second one, and so is a node that the owner does not hear.
  const second = answerBeside('L2TwoOwners', snapshot, service, place) ?? kernel;
  const isSecond = second !== undefined && because?.code === 'L2NotOwner';
  const contest = answerBeside('L2AddressContested', snapshot, service, place);
  const warning = because === undefined ? (contest ?? kernel) : undefined;
  return {
    links: own.links.map(({ name }) => name),
    ...(because === undefined ? {} : { reason: isSecond ? second : because }),
    ...defined({ warning }),
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
  owner: string | undefined,
  { address, node, now }: Place,
): Reason | undefined {
  if (owner !== undefined && owner !== node) return reason('L2NotOwner', { node, owner });
  const state = currentReport(snapshot.nodeStates, node, now);
  if (state === undefined) return whyNoReport(snapshot.nodeStates, node);
  if (state.problem !== undefined) return state.problem;
  const key = serviceKey(service.metadata);
  return state.differing.find(
    ({ service: of, aspect, reason: why }) =>
      of === key && aspect !== 'HealthCheck' && !answeredNevertheless.has(why.code) && concerns(why, address),
  )?.reason;
}

/** False for a reason about another address of the Service. */
function concerns({ details }: Reason, address: Address): boolean {
  const about = (details as { readonly address?: unknown } | undefined)?.address;
  return about === undefined || about === formatAddress(address);
}

/** A node that reports these answers. */
const answeredNevertheless: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  'L2AnswersInstead',
  'L2KernelAnswers',
  'L2AddressContested',
  'L2TwoOwners',
]);

/** An announced address is answered by another one too. */
export const secondAnswers: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['L2KernelAnswers', 'L2AddressContested', 'L2TwoOwners']);

/** Returns the node's report with this code: its kernel, or a foreign host, answers for the address beside the responder of a node. */
function answerBeside(
  code: 'L2KernelAnswers' | 'L2AddressContested' | 'L2TwoOwners',
  { nodeStates }: Snapshot,
  { metadata }: Service,
  { address, node, now }: Place,
): Reason | undefined {
  const [key, text] = [serviceKey(metadata), formatAddress(address)];
  return currentReport(nodeStates, node, now)?.differing.find(
    ({ service, reason: why }) => service === key && why.code === code && why.details.address === text,
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
