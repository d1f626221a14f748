import { reason, type Reason } from '../../model/reasons.ts';
import type { Family } from '../../net/address.ts';
import type { DroppingInterface } from '../../net/endpoint-way.ts';
import type { HostLink } from '../../net/host-link.ts';
import { sysctlName, type ReadSetting } from './kernel-setting.ts';

interface BridgeFacts {
  readonly links: readonly HostLink[];
  /** The interfaces by which the host reaches endpoints on other nodes. */
  readonly ways: readonly { readonly family: Family; readonly interface: string }[];
  readonly read: ReadSetting;
}

/** By family: the setting for all bridges, and the option of one bridge that has the same effect. */
const names: Readonly<Record<Family, { readonly path: string; readonly option: string }>> = {
  4: { path: 'net/bridge/bridge-nf-call-iptables', option: 'nf_call_iptables' },
  6: { path: 'net/bridge/bridge-nf-call-ip6tables', option: 'nf_call_ip6tables' },
};

export const bridgeFilterPaths: readonly string[] = Object.values(names).map(({ path }) => path);

/**
 * Finds bridges that pass their frames to the filters of IP and lead to endpoints on other nodes. The kernel (br_netfilter) then translates
 * the destination of a packet inside the bridge. If the route to the new destination leaves by the same bridge, it does not route the packet
 * but forwards it as a frame, and a bridge never sends a frame out of the port by which it came. An overlay has an interface of its own, to
 * which the kernel routes.
 */
export function judgeBridges({ links, ways, read }: BridgeFacts): Reason[] {
  const filters = (family: Family, { bridgeFilters = [] }: HostLink): boolean =>
    read(names[family].path) === '1' || bridgeFilters.includes(family);
  const found = links.flatMap((link) => {
    const families = ([4, 6] as const).filter(
      (family) => filters(family, link) && ways.some((way) => way.family === family && way.interface === link.name),
    );
    return link.kind === 'bridge' && families.length > 0 ? [{ link, families }] : [];
  });
  const others = links.filter(({ kind, name }) => kind === 'bridge' && !found.some(({ link }) => link.name === name));
  return found.map(({ link, families }) => {
    const all = families.filter((family) => read(names[family].path) === '1');
    const own = families.filter((family) => link.bridgeFilters?.includes(family));
    const settings = [
      ...all.map((family) => `${sysctlName(names[family])} is 1`),
      ...own.map((family) => `${names[family].option} of ${link.name} is 1`),
    ];
    const remedy = [
      // Before the setting for all bridges, which is the only reason why these pass their frames to the filters.
      ...(all.length === 0 ? [] : others.map(({ name }) => setBridge(name, all, 1))),
      ...(own.length === 0 ? [] : [setBridge(link.name, own, 0)]),
      ...(all.length === 0 ? [] : [`sysctl -w ${all.map((family) => `${sysctlName(names[family])}=0`).join(' ')}`]),
    ];
    return reason('BridgeDropsForwarded', {
      bridge: link.name,
      families: families.map((family) => `IPv${family}`).join(' and '),
      settings: settings.join(' and '),
      remedy: remedy.join(' && '),
    });
  });
}

/**
 * Returns the bridges of `judgeBridges` in which packets of clients for other nodes are certainly lost: all clients come in by the only port that
 * the bridge has, so every such packet would leave by the port by which it came. `entries`: the interfaces by which clients' packets come.
 */
export function droppingBridges({ links, read }: Omit<BridgeFacts, 'ways'>, entries: ReadonlySet<string>): DroppingInterface[] {
  return links.flatMap(({ name }): DroppingInterface[] => {
    const ports = links.filter(({ master, up, carrier }) => master === name && up && carrier);
    if (entries.size !== 1 || !entries.has(name) || ports.length !== 1 || ports[0]?.hairpin === true) return [];
    return ([4, 6] as const).flatMap((family): DroppingInterface[] => {
      const [because] = judgeBridges({ links, ways: [{ family, interface: name }], read });
      if (because?.code !== 'BridgeDropsForwarded') return [];
      const { settings, remedy } = because.details;
      return [
        { interface: name, families: [family], why: `${name} drops packets that enter and leave by it, because ${settings}`, remedy },
      ];
    });
  });
}

function setBridge(name: string, families: readonly Family[], value: 0 | 1): string {
  return `ip link set dev ${name} type bridge ${families.map((family) => `${names[family].option} ${value}`).join(' ')}`;
}
