import { defined } from '../../lang/defined.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { followChanges } from '../../system/netlink/follow-changes.ts';
import { routeProtocol } from '../../system/netlink/socket.ts';
import { linkWatchRestart } from '../limits.ts';

/** RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR. */
const addressGroups = [5, 9];
/** RTNLGRP_LINK. */
const linkGroups = [1, ...addressGroups];
/** RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF. */
const settingGroups = [24, 25, ...addressGroups];

/**
 * Calls `changed` when the kernel reports that an interface or an address of this host may have changed. Returns the function that ends this.
 * `networkNamespace` is a file such as /run/netns/node1.
 */
export function followHostLinks(clock: Clock, changed: () => void, networkNamespace?: string): Cancel {
  return follow(linkGroups, clock, changed, networkNamespace);
}

/**
 * Calls `changed` when the kernel reports that forwarding, `rp_filter`, a proxy setting or an address of this host may have changed. The
 * kernel reports no other settings.
 */
export function followHostSettings(clock: Clock, changed: () => void, networkNamespace?: string): Cancel {
  return follow(settingGroups, clock, changed, networkNamespace);
}

function follow(groups: readonly number[], clock: Clock, changed: () => void, networkNamespace: string | undefined): Cancel {
  const where = { protocol: routeProtocol, groups, ...defined({ networkNamespace }) };
  return followChanges(where, clock, { changed, restartMilliseconds: linkWatchRestart });
}
