import { defined } from '../../lang/defined.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { followChanges } from '../../system/netlink/follow-changes.ts';
import { routeProtocol } from '../../system/netlink/socket.ts';
import { linkWatchRestart } from '../limits.ts';

/** RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR. */
const groups = [1, 5, 9];

/**
 * Calls `changed` when the kernel reports that an interface or an address of this host may have changed. Returns the function that ends this.
 * `networkNamespace` is a file such as /run/netns/node1.
 */
export function followHostLinks(clock: Clock, changed: () => void, networkNamespace?: string): Cancel {
  const where = { protocol: routeProtocol, groups, ...defined({ networkNamespace }) };
  return followChanges(where, clock, { changed, restartMilliseconds: linkWatchRestart });
}
