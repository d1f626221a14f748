import { PeerSessionCounts } from '../../../controller/configuration/peer-session-counts.ts';
import { advertisementStatus } from '../../../decisions/configuration/advertisement-status.ts';
import type { ObjectStatus } from '../../../decisions/configuration/object-status.ts';
import { peerStatus } from '../../../decisions/configuration/peer-status.ts';
import type { UnhealthyObject } from '../../../explain/overview/overview.ts';
import type { BGPAdvertisement, BGPPeer } from '../../../model/kinds/types.ts';
import { originText } from '../../../model/objects/metadata.ts';
import type { ReasonCode } from '../../../model/reasons.ts';
import type { Reading } from '../../reading/reading.ts';

/** Reasons that are left out: the table of sessions has the peers that are down, and a user switched off the others on purpose. */
const toldElsewhere: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['SessionsMissing', 'PeerAdminDown']);

/**
 * Returns the BGPAdvertisements and BGPPeers with a condition that is False now, computed by the controller's own functions. Pools are left
 * out, because their table has the reason. Objects that could not be read are left out, because they are problems of the reading.
 */
export function unhealthyObjects({ snapshot, now }: Pick<Reading, 'snapshot' | 'now'>): UnhealthyObject[] {
  const sessions = new PeerSessionCounts();
  sessions.updateAllNodes(snapshot, now);
  return [
    ...inOrder(snapshot.advertisements).flatMap((one) => troubleOf(one, advertisementStatus(one, snapshot))),
    // The table of sessions has their causes.
    ...inOrder(snapshot.peers).flatMap((one) => {
      const { cause: _cause, warning: _warning, ...summary } = sessions.of(one.metadata.name);
      return troubleOf(one, peerStatus(one, summary));
    }),
  ];
}

/** Returns the refusal of an object if there is one, without the conditions that follow from it. */
function troubleOf({ kind, metadata }: BGPAdvertisement | BGPPeer, { refused, unready }: ObjectStatus): UnhealthyObject[] {
  const object = metadata.origin === undefined ? `${kind}/${metadata.name}` : originText(metadata.origin);
  const because = refused ?? unready;
  return because === undefined || toldElsewhere.has(because.code) ? [] : [{ object, reason: because }];
}

function inOrder<T>(objects: ReadonlyMap<string, T>): T[] {
  return [...objects].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}
