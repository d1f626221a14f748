import type { NodeState } from '../../../model/objects/node-state.ts';
import { listText } from '../../../decisions/verdict/verdict-text.ts';
import { familyOfText } from '../../../net/address.ts';
import { ageText, secondsSince } from '../../text/age.ts';
import type { NodeExplanation } from '../service-node.ts';

/** Seconds after which a request tells no more than that no answer was seen for as long. */
const recentSeconds = 600;

/**
 * Returns "since tor1 asked for all routes again 20 s ago: its policy may have changed" when every router that has the addresses has asked for
 * them in the last ten minutes. Undefined: one has not, or a node answers for an address on a link.
 */
export function sinceAskedAgain(
  nodeStates: ReadonlyMap<string, NodeState>,
  nodes: readonly Pick<NodeExplanation, 'node' | 'addresses'>[],
  now: number,
): string | undefined {
  const requests = nodes.flatMap(({ node, addresses }) =>
    addresses
      .filter(({ type }) => type !== 'ClusterIP')
      .flatMap(({ address, peers, l2 }) => {
        if (l2 !== undefined && l2.reason === undefined) return [{ peer: '', secondsAgo: undefined }];
        const sent = peers.filter(({ prefixes, reason }) => prefixes.length > 0 && reason === undefined);
        return sent.map(({ peer }) => {
          const session = nodeStates.get(node)?.sessions.find((one) => one.peer === peer);
          const asked = session?.families?.find(({ family }) => family === `IPv${familyOfText(address)}`)?.refreshRequested;
          return { peer, secondsAgo: secondsSince(asked, now) };
        });
      }),
  );
  const ages = requests.flatMap(({ secondsAgo }) => secondsAgo ?? []);
  const latest = Math.min(...ages);
  if (requests.length === 0 || ages.length < requests.length || Math.max(...ages) > recentSeconds) return undefined;
  const peers = [...new Set(requests.map(({ peer }) => peer))].toSorted();
  const policy = peers.length === 1 ? 'its policy' : 'their policy';
  return `since ${listText(peers)} asked for all routes again ${ageText(latest)} ago: ${policy} may have changed`;
}
