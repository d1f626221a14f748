import type { Address, Family } from './address.ts';
import type { Prefix } from './prefix.ts';

/** A network interface of this host, as the kernel describes it. */
export interface HostLink {
  readonly name: string;
  /** Lower case: "02:00:00:00:00:01". Absent: the interface has none of six octets, as a tunnel. */
  readonly linkAddress?: string;
  /** IFF_UP: it was switched on. */
  readonly up: boolean;
  /** IFF_LOWER_UP: the cable is connected, or the other end is up. */
  readonly carrier: boolean;
  /** IFF_NOARP: nothing on this link speaks ARP. */
  readonly noArp: boolean;
  readonly loopback: boolean;
  /** The name of the bridge, bond or team that the interface is a port of. */
  readonly master?: string;
  /** The kernel's word: "bridge", "bond", "vlan", "macvlan", "ipvlan", "veth", "vxlan". Absent: a device of hardware. */
  readonly kind?: string;
  /** The interface that this one is built on: that of a VLAN or macvlan device. Of a veth it is the other end. */
  readonly parent?: string;
  /** The mode of a bond, a number of linux/if_bonding.h: 1 is active-backup, 6 is balance-alb. */
  readonly bondMode?: number;
  /** The address families for which this bridge passes its frames to the filters of IP, whatever the setting for all bridges says. */
  readonly bridgeFilters?: readonly Family[];
  /** A port of a bridge that sends frames out of the port by which they came (hairpin mode). */
  readonly hairpin?: true;
  /** It is a Wi-Fi interface. */
  readonly wireless?: boolean;
  /** It is the end of a virtual cable whose other end is in another network namespace, as those of pods. */
  readonly leadsElsewhere: boolean;
  /** Its addresses with their networks, in the kernel's order. Addresses of a single host (/32, /128) have no network. */
  readonly addresses: readonly { readonly address: Address; readonly network?: Prefix }[];
}

/** An address for which an interface of this host answers ARP or NDP in place of another host (`ip neighbor add proxy`). */
export interface NeighborProxy {
  readonly interface: string;
  readonly address: Address;
}
