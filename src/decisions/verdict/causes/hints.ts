import type { Reason, ReasonCode } from '../../../model/reasons.ts';
import { familyOfText } from '../../../net/address.ts';
import { mayMeet } from '../../host/filters.ts';
import { groupCauses, isAnnounced, type Cause } from './causes.ts';
import type { NodeView } from '../node-view.ts';

/** Problems of a host that concern clients of one uplink, although others are answered. */
const ofSomeClients: ReadonlySet<string> = new Set<ReasonCode>(['UplinkWithoutConnections', 'KernelSettingWrong']);
/** What may drop packets of any client: answers that were seen show that it does not. */
const ofAnyClient: ReadonlySet<string> = new Set<ReasonCode>([
  'FilterNotDecided',
  'FiltersUnread',
  'FilterTablesUnread',
  'TrafficFilterUnread',
]);
export const hintCodes: ReadonlySet<string> = ofSomeClients.union(ofAnyClient);

/** Returns what nodes report of their hosts that may keep clients of an address from an answer. `isSeen`: some were answered lately. */
export function hintsOf(nodes: readonly NodeView[], addresses: readonly string[], isSeen: boolean): Cause[] {
  const found = nodes.flatMap((view) =>
    (view.host ?? []).flatMap((because) =>
      addresses.some((address) => isAnnounced(view, address) && concerns(view, because, address, isSeen))
        ? [{ view, reason: because }]
        : [],
    ),
  );
  return groupCauses(found);
}

function concerns({ addresses }: NodeView, { code, details }: Reason, address: string, isSeen: boolean): boolean {
  const family = familyOfText(address);
  if (code === 'UplinkWithoutConnections') {
    const named = new Set(details.peers.split(', '));
    const peers = addresses.find((one) => one.address === address)?.peers ?? [];
    return details.family === `IPv${family}` && peers.some(({ peer, reason: why }) => why === undefined && named.has(peer));
  }
  if (code === 'KernelSettingWrong') return family === 4 && settingOfInterface.test(details.setting);
  if (code === 'FilterNotDecided') return !isSeen && mayMeet(family, details.chain);
  return !isSeen && ofAnyClient.has(code);
}

const settingOfInterface = /^net\.ipv4\.conf\.(?!all\.).*\.(?:forwarding|rp_filter)$/;
