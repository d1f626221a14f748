import { defined } from '../../lang/defined.ts';
import { addressFromBytes, type Address } from '../../net/address.ts';
import type { NeighborProxy } from '../../net/host-link.ts';
import type { Clock } from '../../system/clock.ts';
import { readAttributes, readHostNumber } from '../../system/netlink/attributes.ts';
import { NetlinkConnection, type Request } from '../../system/netlink/connection.ts';
import { listLinks, readLink } from '../../system/netlink/link-messages.ts';
import { openNetlink, routeProtocol } from '../../system/netlink/socket.ts';

/** The numbers of linux/rtnetlink.h and linux/neighbour.h that a list of proxy entries needs. */
const getNeighbor = 30;
const destination = 1;
const isProxy = 0x08;
/** Octets of struct ndmsg, and the place of its flags. */
const neighborHeader = 12;
const flagsAt = 10;

const listProxies: Request = {
  type: getNeighbor,
  write(writer) {
    const header = new Uint8Array(neighborHeader);
    header[flagsAt] = isProxy;
    writer.raw(header);
  },
};

/**
 * Returns the proxy entries of this host, of both families. Empty when this machine has no FFI. Rejects with NetlinkError. `networkNamespace`
 * is a file such as /run/netns/node1.
 */
export async function readNeighborProxies(clock: Clock, networkNamespace?: string): Promise<readonly NeighborProxy[]> {
  const socket = openNetlink({ protocol: routeProtocol, ...defined({ networkNamespace }) });
  if (socket === undefined) return [];
  try {
    const connection = new NetlinkConnection(socket, clock);
    const entries = await connection.list(listProxies, readProxy);
    if (entries.length === 0) return [];
    const names = new Map((await connection.list(listLinks, readLink)).map(({ index, name }) => [index, name]));
    return entries.map(({ index, address }) => ({ interface: names.get(index) ?? String(index), address }));
  } finally {
    socket.close();
  }
}

function readProxy(payload: Uint8Array): { readonly index: number; readonly address: Address } | undefined {
  const index = readHostNumber(payload.subarray(4, 8));
  const bytes = readAttributes(payload.subarray(neighborHeader)).get(destination);
  const isListed = ((payload[flagsAt] ?? 0) & isProxy) !== 0;
  if (!isListed || index === undefined || (bytes?.length !== 4 && bytes?.length !== 16)) return undefined;
  return { index, address: addressFromBytes(bytes) };
}
