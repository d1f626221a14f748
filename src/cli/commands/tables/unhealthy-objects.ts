import { PeerSessionCounts } from '../../../controller/configuration/peer-session-counts.ts';
import { advertisementStatus } from '../../../decisions/configuration/advertisement-status.ts';
import type { ObjectStatus } from '../../../decisions/configuration/object-status.ts';
import { peerStatus } from '../../../decisions/configuration/peer-status.ts';
import type { UnhealthyObject } from '../../../explain/overview/overview.ts';
import type { BGPAdvertisement, BGPPeer } from '../../../model/kinds/types.ts';
import { originText } from '../../../model/objects/metadata.ts';
import type { ReasonCode } from '../../../model/reasons.ts';
import type { Reading } from '../../reading/reading.ts';

/** A peer that is down is reported with its sessions, and a peer that was switched off is as the user wants it. */
const toldElsewhere: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['SessionsMissing', 'PeerAdminDown']);

/**
 * Returns the BGPAdvertisements and BGPPeers with a condition that is False now, by the controller's own functions. Pools are left out,
 * because their table has the reason, and so are objects that could not be read, which are problems of the reading.
 */
export function unhealthyObjects({ snapshot, now }: Pick<Reading, 'snapshot' | 'now'>): UnhealthyObject[] {
  const sessions = new PeerSessionCounts();
  sessions.updateAllNodes(snapshot, now);
  return [
    ...inOrder(snapshot.advertisements).flatMap((one) => troubleOf(one, advertisementStatus(one, snapshot))),
    ...inOrder(snapshot.peers).flatMap((one) => troubleOf(one, peerStatus(one, sessions.of(one.metadata.name)))),
  ];
}

/** A refusal is reported once, without the conditions that follow from it. */
function troubleOf({ kind, metadata }: BGPAdvertisement | BGPPeer, { refused, unready }: ObjectStatus): UnhealthyObject[] {
  const object = metadata.origin === undefined ? `${kind}/${metadata.name}` : originText(metadata.origin);
  const because = refused ?? unready;
  return because === undefined || toldElsewhere.has(because.code) ? [] : [{ object, reason: because }];
}

function inOrder<T>(objects: ReadonlyMap<string, T>): T[] {
  return [...objects].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}
