import type { SessionExplanation } from '../../../explain/sessions/session.ts';
import type { NodeExplanation } from '../../../explain/service/service-node.ts';
import { familyOfText } from '../../../net/address.ts';

/** A router, with a BGPPeer for each of its sessions: one, or one for each family. */
export interface RouterPeers {
  readonly name: string;
  /** Sorted by name. */
  readonly peers: readonly string[];
}

const familySuffix = /[-_.](?:ip)?v[46]$/i;

/**
 * Puts BGPPeers of one router together: those whose names differ only by a family at the end (tor1-v4, tor1-v6), unless their sessions have
 * different AS numbers or addresses of one family. Only a name can tell that other BGPPeers are of one router.
 */
export function routersOfPeers(peers: readonly string[], nodes: readonly Pick<NodeExplanation, 'sessions'>[]): RouterPeers[] {
  const sessions = Map.groupBy(
    nodes.flatMap((node) => node.sessions ?? []),
    ({ peer }) => peer,
  );
  const alike = Map.groupBy(peers, (peer) => peer.replace(familySuffix, ''));
  return [...alike].flatMap(([name, names]) => {
    const carrying = names.flatMap((peer) => (sessions.has(peer) ? [sessions.get(peer) ?? []] : []));
    const asns = new Set(carrying.flatMap((some) => some.map(({ peerASN }) => String(peerASN))));
    const families = carrying.map(familyOf);
    const isOne = names.length > 1 && asns.size < 2 && !families.includes(undefined) && new Set(families).size === families.length;
    return isOne ? [{ name, peers: names }] : names.map((peer) => ({ name: peer, peers: [peer] }));
  });
}

/** Undefined: there is no session, or its addresses are of both families or of none. */
function familyOf(sessions: readonly Pick<SessionExplanation, 'address'>[]): number | undefined {
  const families = new Set(sessions.map(({ address }) => (/^[0-9a-f:.]+$/i.test(address) ? familyOfText(address) : undefined)));
  const [family] = families;
  return families.size === 1 ? family : undefined;
}
