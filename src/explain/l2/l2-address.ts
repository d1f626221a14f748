import { l2DecisionsOf } from '../../decisions/l2/decisions-of.ts';
import type { L2Candidate } from '../../decisions/l2/candidates.ts';
import { settingsForConnections, type SettingForConnections } from '../../decisions/l2/open-connections.ts';
import { ownerOf } from '../../decisions/verdict/l2-view.ts';
import { defined } from '../../lang/defined.ts';
import { currentReport, whyNoReport } from '../../model/objects/node-state.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { LiveAddress, LiveLink } from '../../live/contract.ts';
import { formatAddress } from '../../net/address.ts';
import type { LiveNodes } from '../sessions/live-view.ts';

/** Which node answers for an address by ARP or NDP, and why no better one. Plain data. */
export interface L2AddressExplanation {
  readonly address: string;
  readonly protocol: 'ARP' | 'NDP';
  /** Why no node can announce it. */
  readonly reason?: Reason;
  /** The node that answers, by an answer of its agent, else by reports and decision. Absent: none does. */
  readonly owner?: string;
  /** The best one first. */
  readonly candidates: readonly L2CandidateExplanation[];
  /** Nodes that cannot announce the address, sorted by name. */
  readonly excluded: readonly { readonly node: string; readonly reason: Reason }[];
  /** The node that answers when the owner fails. Absent: no other node is able to. */
  readonly next?: string;
  /** Settings that are missing for open connections to survive a change of the owner. Empty: they do, except those to pods of a node that fails. */
  readonly connectionsNeed?: readonly SettingForConnections[];
  /** Answers of the agents about the address, for each node and interface. Absent: the command asked no agent. */
  readonly live?: readonly L2LiveAnswer[];
  /** When the agents answered, RFC 3339. Absent: the command asked no agent. */
  readonly askedAt?: string;
}

interface L2CandidateExplanation {
  readonly node: string;
  readonly interfaces: readonly { readonly name: string; readonly linkAddress: string }[];
  /** Why the node answers only while no other candidate lives. */
  readonly lastResort?: Reason;
  /** Why it cannot answer at present: its agent is silent or stopped. */
  readonly out?: Reason;
}

/** The knowledge of one node's agent about an address on one interface. */
export interface L2LiveAnswer extends LiveAddress {
  readonly node: string;
  /** The interface with the other nodes on it. Absent: the agent did not list it. */
  readonly link?: LiveLink;
}

/** True in the states in which a node answers clients. */
export function answersClients({ state }: Pick<LiveAddress, 'state'>): boolean {
  return state === 'owner' || state === 'keeping' || state === 'leaving';
}

/** Explains the addresses of the Service that an L2Advertisement covers. `now` is in milliseconds since the epoch. */
export function explainL2(snapshot: Snapshot, service: Service, now: number): L2AddressExplanation[] {
  const decisions = l2DecisionsOf(snapshot);
  if (decisions === undefined || service.type !== 'LoadBalancer') return [];
  return assignedAddresses(service).flatMap((address): L2AddressExplanation[] => {
    const { decision, whyNot } = decisions.about(address);
    const of = { address: formatAddress(address), protocol: address.family === 4 ? 'ARP' : 'NDP' } as const;
    const excluded = excludedNodes(snapshot, whyNot);
    if ('reason' in decision) {
      return decision.reason.code === 'NoAdvertisement' ? [] : [{ ...of, reason: decision.reason, candidates: [], excluded }];
    }
    const candidates = decision.candidates.map((candidate) => explainCandidate(snapshot, candidate, now));
    const connectionsNeed = settingsForConnections(snapshot.config, service);
    return [withOwner({ ...of, candidates, excluded, connectionsNeed }, ownerOf(snapshot, decision, address, now))];
  });
}

/** Returns the explanation with this owner, and the node that follows it. */
function withOwner(explanation: Omit<L2AddressExplanation, 'owner' | 'next'>, owner: string | undefined): L2AddressExplanation {
  // A better placed node that does not answer now will not do so when the owner fails.
  const behind = explanation.candidates.slice(explanation.candidates.findIndex(({ node }) => node === owner) + 1);
  const next = behind.find(({ out }) => out === undefined)?.node;
  return { ...explanation, ...defined({ owner, next }) };
}

function explainCandidate({ nodeStates }: Snapshot, { node, links, lastResort }: L2Candidate, now: number): L2CandidateExplanation {
  const state = currentReport(nodeStates, node, now);
  const out = state === undefined ? whyNoReport(nodeStates, node) : state.problem?.code === 'AgentStopped' ? state.problem : undefined;
  return { node, interfaces: links.map(({ name, linkAddress }) => ({ name, linkAddress })), ...defined({ lastResort, out }) };
}

function excludedNodes({ nodes }: Snapshot, whyNot: (node: string) => Reason | undefined): L2AddressExplanation['excluded'] {
  return [...nodes.keys()].toSorted().flatMap((node) => {
    const because = whyNot(node);
    return because === undefined ? [] : [{ node, reason: because }];
  });
}

/** Adds the answers of agents. A node that answers is the owner, whatever was decided. `now`: milliseconds since the epoch. */
export function withLiveL2(explanation: L2AddressExplanation, live: LiveNodes, now: number): L2AddressExplanation {
  const answers = [...live].flatMap(([node, { addresses = [], links = [] }]) =>
    addresses
      .filter(({ address }) => address === explanation.address)
      .map((one): L2LiveAnswer => {
        const link = links.find(({ interface: name }) => name === one.interface);
        return { ...one, node, ...(link === undefined ? {} : { link }) };
      }),
  );
  if (answers.length === 0) return explanation;
  // oxlint-disable-next-line no-restricted-globals -- writing a date as text is pure
  const askedAt = new Date(now).toISOString();
  const told = { ...explanation, askedAt, live: answers.toSorted((a, b) => Number(answersClients(b)) - Number(answersClients(a))) };
  const owners = answers.filter(answersClients);
  const isSilent = answers.some(({ node }) => node === explanation.owner) && owners.length === 0;
  const { owner, next: _, ...others } = told;
  return withOwner(others, isSilent ? undefined : ((owners.find(({ node }) => node === owner) ?? owners[0])?.node ?? owner));
}
