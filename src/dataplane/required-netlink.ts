import { MalformedNetlink, NetlinkError } from '../system/netlink/error.ts';
import { openNetlink, type NetlinkOptions, type NetlinkSocket } from '../system/netlink/socket.ts';
import { DataplaneError } from './dataplane.ts';

/**
 * Opens a netlink socket. Throws DataplaneError `unavailable` when this machine has no FFI or the kernel refuses the socket. `open` lets
 * tests inject errors.
 */
export function requiredNetlink(options: NetlinkOptions, open = openNetlink): NetlinkSocket {
  let socket;
  try {
    socket = open(options);
  } catch (error) {
    if (!(error instanceof NetlinkError)) throw error;
    throw new DataplaneError('unavailable', `the kernel refuses a netlink socket to the data plane: ${error.message}`, { cause: error });
  }
  if (socket !== undefined) return socket;
  throw new DataplaneError(
    'unavailable',
    'the data plane needs Linux and the native module koffi, with which it opens netlink sockets: install Herald with koffi for this machine',
  );
}

/** Does work by netlink. Rejects with DataplaneError where the kernel refuses. `what` names the objects for people. */
export async function translated<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NetlinkError || error instanceof MalformedNetlink)) throw error;
    throw new DataplaneError(codeOf(error), `${what}: ${error.message}`, { cause: error });
  }
}

export function codeOf({ code }: NetlinkError | MalformedNetlink): DataplaneError['code'] {
  return code === 'EPERM' || code === 'EACCES' ? 'permission' : 'failed';
}
