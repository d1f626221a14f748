import { noVrfCode } from '../failure.ts';
import type { RawSocket } from './socket.ts';

/**
 * Binds the socket to the device of a VRF: the kernel then looks up routes and addresses in the table of the VRF. It comes before the socket
 * gets an address, which the kernel looks for in that table too.
 */
export function bindToVrf(socket: RawSocket, vrf: string): void {
  try {
    socket.bindToInterface(vrf);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENODEV') throw error;
    const fix = `create it with "ip link add ${vrf} type vrf table NUMBER", on a kernel with CONFIG_NET_VRF`;
    throw Object.assign(new Error(`there is no VRF ${vrf} on this host: ${fix}`), { code: noVrfCode });
  }
}

/** Returns why a connection cannot be in this VRF. Undefined: it can, or it asks for none. */
export function vrfProblem({
  vrf,
  interface: networkInterface,
}: {
  readonly vrf?: string;
  readonly interface?: string;
}): string | undefined {
  if (vrf === undefined || networkInterface === undefined) return undefined;
  return `a connection on the network interface ${networkInterface} is in the VRF of that interface: leave out the VRF ${vrf}`;
}
