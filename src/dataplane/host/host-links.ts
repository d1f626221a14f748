import { defined } from '../../lang/defined.ts';
import type { HostLink } from '../../net/host-link.ts';
import type { Clock } from '../../system/clock.ts';
import { NetlinkConnection, type Request } from '../../system/netlink/connection.ts';
import { listLinks, readLink } from '../../system/netlink/link-messages.ts';
import { openNetlink, routeProtocol } from '../../system/netlink/socket.ts';
import { wirelessInterfaces } from './wireless-interfaces.ts';
import { addressFromBytes, bitsOf, type Address } from '../../net/address.ts';
import { maskedPrefix, type Prefix } from '../../net/prefix.ts';
import { readAttributes, readHostNumber } from '../../system/netlink/attributes.ts';

/**
 * Returns the interfaces of this host with their addresses, sorted by name. Empty when this machine has no FFI. Rejects with NetlinkError.
 * `networkNamespace` is a file such as /run/netns/node1; /sys does not show the Wi-Fi interfaces there.
 */
export async function readHostLinks(clock: Clock, networkNamespace?: string): Promise<readonly HostLink[]> {
  const socket = openNetlink({ protocol: routeProtocol, ...defined({ networkNamespace }) });
  if (socket === undefined) return [];
  try {
    const connection = new NetlinkConnection(socket, clock);
    const links = await connection.list(listLinks, readLink);
    const addresses = Map.groupBy(await connection.list(listAddresses, readListedAddress), ({ index }) => index);
    const names = new Map(links.map(({ index, name }) => [index, name]));
    // A Wi-Fi interface is a device of hardware.
    const devices = links.flatMap(({ name, kind }) => (kind === undefined ? [name] : []));
    const wireless = networkNamespace === undefined ? await wirelessInterfaces(devices) : new Set<string>();
    return links
      .map(({ index, master, parent, leadsElsewhere, ...link }): HostLink => ({
        ...link,
        leadsElsewhere,
        ...(master === undefined ? {} : { master: names.get(master) ?? String(master) }),
        // A number of another network namespace names no interface of this one.
        ...(parent === undefined || leadsElsewhere ? {} : defined({ parent: names.get(parent) })),
        ...(wireless.has(link.name) ? { wireless: true } : {}),
        addresses: (addresses.get(index) ?? []).map(({ address, network }) => ({ address, ...defined({ network }) })),
      }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } finally {
    socket.close();
  }
}

/** The numbers of linux/rtnetlink.h and linux/if_addr.h that a list of addresses needs. */
const getAddress = 22;
const addressAttributes = { address: 1, local: 2 } as const;
/** Octets of struct ifaddrmsg. */
const addressHeader = 8;

interface ListedAddress {
  readonly index: number;
  readonly address: Address;
  /** Absent: the address is that of a single host. */
  readonly network?: Prefix;
}

const listAddresses: Request = {
  type: getAddress,
  write(writer) {
    writer.raw(new Uint8Array(addressHeader));
  },
};

/** Reads one address of a list. On a link between two hosts IFA_ADDRESS is the other host's, so IFA_LOCAL counts first. */
function readListedAddress(payload: Uint8Array): ListedAddress | undefined {
  const index = readHostNumber(payload.subarray(4, 8));
  const attributes = readAttributes(payload.subarray(addressHeader));
  const bytes = attributes.get(addressAttributes.local) ?? attributes.get(addressAttributes.address);
  const length = payload[1];
  if (index === undefined || length === undefined || (bytes?.length !== 4 && bytes?.length !== 16)) return undefined;
  const address = addressFromBytes(bytes);
  return length >= bitsOf(address.family) ? { index, address } : { index, address, network: maskedPrefix(address, length) };
}
