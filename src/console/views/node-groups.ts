import type { FabricGroup, FabricNode, FabricPeer, FabricSession, Health } from '../contract.ts';
import { limits } from '../limits.ts';

/** Puts alike nodes into one box each, those with a problem first. Empty: the nodes are few enough to be drawn one by one. */
export function nodeGroups(nodes: readonly FabricNode[], peers: readonly FabricPeer[], sessions: readonly FabricSession[]): FabricGroup[] {
  if (nodes.length <= limits.fabricNodes) return [];
  const byNode = Map.groupBy(sessions, ({ node }) => node);
  const ofNode = ({ node }: FabricNode): readonly FabricSession[] => byNode.get(node) ?? [];
  const alike = Map.groupBy(nodes, (node) => characterOf(node, ofNode(node)));
  const order = peers.map(({ peer }) => peer);
  const groups = [...alike.values()].flatMap((members): FabricGroup[] => {
    const [first] = members;
    if (first === undefined) return [];
    const own = ofNode(first).toSorted((a, b) => order.indexOf(a.peer) - order.indexOf(b.peer));
    return [
      {
        id: first.node,
        names: members.slice(0, limits.groupNames).map(({ node }) => node),
        count: members.length,
        health: first.health,
        lines: first.lines,
        sessions: own.map(({ peer, health, state = 'not reported', why }) => ({ peer, health, words: why ?? state })),
      },
    ];
  });
  return groups.toSorted((a, b) => rankOf(a) - rankOf(b) || b.count - a.count);
}

/** Equal for nodes that are alike: with sessions to the same routers in the same state. */
function characterOf({ node, health, lines, draining = '' }: FabricNode, sessions: readonly FabricSession[]): string {
  const own = sessions.map(({ peer, health: of, state = '' }) => [peer, of, state].join(' ')).toSorted();
  return JSON.stringify([health, lines, draining, own]).replaceAll(node, '');
}

const gravity: Readonly<Record<Health, number>> = { bad: 0, unknown: 1, doubtful: 2, good: 3, off: 3 };

function rankOf({ health, sessions }: FabricGroup): number {
  return Math.min(gravity[health], ...sessions.map((one) => gravity[one.health]));
}
