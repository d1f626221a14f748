import { defined } from '../../lang/defined.ts';
import { conditionText, detailsOfOneNode, reasonText, remedyText, type Reason } from '../../model/reasons.ts';
import { sharedSentence } from '../text/shared-sentence.ts';

/** A session and why it is down or works only in part. */
interface TroubledSession {
  readonly node: string;
  readonly peer: string;
  readonly peerASN?: number | string;
  readonly reason?: Reason;
}

/** One cause and all sessions that have it. Plain data. */
export interface SessionCause {
  /** From the first node. */
  readonly reason: Reason;
  /** Sorted. */
  readonly peers: readonly string[];
  /** Sorted. */
  readonly nodes: readonly string[];
  /** The nodes' other addresses, to which the router's line of the fix applies as well. */
  readonly others: readonly string[];
  /** The sentence of all nodes, when they differ by the time or the latest symptom. */
  readonly shared?: string;
}

/** Details of a session without a known cause, which change while it is down. */
const passing: ReadonlySet<string> = new Set(['state', 'lastError', 'until', 'flaps']);
/** Details that differ between the sessions of one router, which has one for each family and node. */
const ofOnePeer: ReadonlySet<string> = new Set(['peer', 'router', 'source', 'profile', 'families', 'hints']);

/**
 * Groups sessions by their cause, the most frequent cause first. Sessions with several BGPPeers share a group if the cause and the router's
 * AS number are the same, as those of one router over IPv4 and IPv6.
 */
export function causesOf(sessions: readonly TroubledSession[]): SessionCause[] {
  const troubled = sessions.flatMap(({ reason, ...session }) => (reason === undefined ? [] : [{ ...session, reason }]));
  const groups = Map.groupBy(troubled, keyOf);
  const causes = [...groups.values()].flatMap((group): SessionCause[] => {
    const sorted = group.toSorted((a, b) => (a.node < b.node ? -1 : a.node > b.node ? 1 : a.peer < b.peer ? -1 : 1));
    const [first] = sorted;
    if (first === undefined) return [];
    const locals = sorted.flatMap(({ reason }) => detail(reason, 'local') ?? []).filter((local) => local !== '');
    return [
      {
        reason: first.reason,
        peers: [...new Set(sorted.map(({ peer }) => peer))].toSorted(),
        nodes: [...new Set(sorted.map(({ node }) => node))],
        others: [...new Set(locals)].filter((local) => local !== detail(first.reason, 'local')),
        ...defined({ shared: sharedOf(sorted.map(({ reason }) => reason)) }),
      },
    ];
  });
  return causes.toSorted((a, b) => b.nodes.length * b.peers.length - a.nodes.length * a.peers.length);
}

/** Undefined: all have the sentence of the first. */
function sharedOf(reasons: readonly Reason[]): string | undefined {
  const [first] = reasons;
  const shared = first && sharedSentence(first, reasons);
  return first === undefined || shared === reasonText(first) ? undefined : shared;
}

/** The sentence of a cause. For several nodes it names none of them. */
export function causeText({ reason, nodes, shared }: SessionCause): string {
  if (shared !== undefined) return shared;
  return nodes.length > 1 && isOfOneNode(reason) ? uncapitalized(conditionText(reason)) : reasonText(reason);
}

/** The fix of a cause, for all its nodes. */
export function causeRemedy({ reason, nodes, others }: SessionCause): string {
  const isGeneral = nodes.length > 1 && isOfOneNode(reason);
  const general = isGeneral ? ({ ...reason, details: { ...(reason.details as object), node: 'NODE' } } as Reason) : reason;
  const fix = remedyText(general);
  const isByAddress = fix.includes(`neighbor ${detail(reason, 'local')}`);
  return others.length > 0 && isByAddress ? `${fix} (likewise for ${others.join(', ')})` : fix;
}

/** "all 3 nodes", "both nodes", "node n1" or "nodes n1, n2". `selected`: the number of nodes that should have a session. */
export function nodesText(nodes: readonly string[], selected: number): string {
  if (nodes.length === selected && selected > 1) return selected === 2 ? 'both nodes' : `all ${selected} nodes`;
  return `${nodes.length === 1 ? 'node' : 'nodes'} ${nodes.join(', ')}`;
}

function keyOf({ peerASN, reason }: TroubledSession & { readonly reason: Reason }): string {
  const details = Object.entries(reason.details ?? {}).filter(
    ([name]) => !detailsOfOneNode.has(name) && !passing.has(name) && !ofOnePeer.has(name),
  );
  // Older agents report only words.
  const words = reason.code === 'SessionDown' ? detail(reason, 'lastError') : undefined;
  return JSON.stringify([peerASN, reason.code, details, words]);
}

/** A reason with `other` is about both nodes that it names. */
function isOfOneNode(reason: Reason): boolean {
  return detail(reason, 'node') !== undefined && detail(reason, 'other') === undefined;
}

function detail({ details }: Reason, name: string): string | undefined {
  const value = (details as Readonly<Record<string, unknown>> | undefined)?.[name];
  return typeof value === 'string' ? value : undefined;
}

function uncapitalized(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}
