import type { Reason } from '../../model/reasons.ts';
import type { Family } from '../../net/address.ts';
import type { ReadSetting } from './kernel-setting.ts';
import { forwarding4Path, forwarding6Path, forwardingPathOf } from './required-settings.ts';

/** An address family that the host certainly does not forward, and the problem of the host that prevents it. */
export interface BlockedFamily {
  readonly family: Family;
  readonly reason: Reason;
}

/** Returns the settings without which the kernel forwards nothing. `uplinks`: the interfaces on which clients may arrive. */
export function forwardingPaths(uplinks: readonly string[]): string[] {
  return [forwarding4Path, ...uplinks.map(forwardingPathOf), forwarding6Path];
}

/**
 * Returns the families that kernel settings prevent from being forwarded. For IPv4 the kernel checks the interface on which a packet comes
 * in; writing ip_forward sets all of them. `wrong` has the reasons for wrong settings, by path. A strict rp_filter drops only some clients,
 * so it blocks no family.
 */
export function blockedBySettings(read: ReadSetting, uplinks: readonly string[], wrong: ReadonlyMap<string, Reason>): BlockedFamily[] {
  const paths4 = uplinks.map(forwardingPathOf).filter((path) => read(path) !== undefined);
  const isOff4 = (paths4.length === 0 ? [forwarding4Path] : paths4).every((path) => read(path) === '0');
  const because4 = [forwarding4Path, ...paths4].map((path) => wrong.get(path)).find((because) => because !== undefined);
  const because6 = wrong.get(forwarding6Path);
  return [
    ...(isOff4 && because4 !== undefined ? [{ family: 4, reason: because4 } as const] : []),
    ...(because6 === undefined ? [] : [{ family: 6, reason: because6 } as const]),
  ];
}
