import type { Reason, ReasonCode } from '../../model/reasons.ts';
import { familyOfText } from '../../net/address.ts';
import { groupCauses, isAnnounced, type Cause } from './causes.ts';
import type { NodeView } from './node-view.ts';

/** Problems of a host that may concern some clients although others are answered. */
export const hintCodes: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['UplinkWithoutConnections']);

/** Returns what nodes report of their hosts that may concern some clients of an address, although others are answered. */
export function hintsOf(nodes: readonly NodeView[], addresses: readonly string[]): Cause[] {
  const found = nodes.flatMap((view) =>
    (view.host ?? []).flatMap((because) =>
      addresses.some((address) => isAnnounced(view, address) && concerns(view, because, address)) ? [{ view, reason: because }] : [],
    ),
  );
  return groupCauses(found);
}

function concerns({ addresses }: NodeView, { code, details }: Reason, address: string): boolean {
  if (code !== 'UplinkWithoutConnections' || details.family !== `IPv${familyOfText(address)}`) return false;
  const named = new Set(details.peers.split(', '));
  return addresses.some(
    (one) => one.address === address && one.peers.some(({ peer, reason: why }) => why === undefined && named.has(peer)),
  );
}
