import { Socket } from 'node:net';
import { hostPrefix } from '../../net/prefix.ts';
import { systemClock, type Clock } from '../../system/clock.ts';
import { systemRandom, type Random } from '../../system/random.ts';
import { connectSocket, failedConnection } from './socket-connection.ts';
import { failureOf } from './failure.ts';
import { connectHost, linkLocalProblem } from './link-local.ts';
import { loadLibc, type Libc } from '../../system/ffi/libc.ts';
import { descriptorOf } from './linux/descriptor.ts';
import { LinuxListener } from './linux/listener.ts';
import { LiveKeys } from './linux/live-keys.ts';
import { setSignatureKey } from './linux/md5.ts';
import { credentialsProblem } from './linux/peer-keys.ts';
import { RouterDiscovery } from './linux/router-discovery.ts';
import { factsOf, openRouterSocket } from './linux/router-socket.ts';
import { readKernelDrops } from './linux/kernel-drops.ts';
import { RawSocket } from './linux/socket.ts';
import { bindToVrf, vrfProblem } from './linux/vrf.ts';
import { nodeTransport } from './node.ts';
import type { DialOptions, Transport } from './transport.ts';

export interface LinuxTransportComponents {
  readonly clock?: Clock;
  readonly random?: Random;
  /** @internal The calls to the operating system. Default: those of this process; tests record them. */
  readonly libc?: Libc | undefined;
}

/**
 * The transport for production. Its sockets have TCP MD5, TCP-AO, TTL, minimum TTL, traffic class, network interface, VRF and user timeout. If
 * the native module cannot be loaded, it uses plain Node sockets, which refuse peers that need more.
 */
export function linuxTransport(components: LinuxTransportComponents = {}): Transport {
  const { clock = systemClock, random = systemRandom, libc = loadLibc() } = components;
  if (libc === undefined) return nodeTransport;
  const discovery = { clock, random, factsOf, open: (networkInterface: string) => openRouterSocket(libc, networkInterface) };
  return {
    cannot: (options) => linkLocalProblem(options) ?? vrfProblem(options) ?? credentialsProblem(options),
    dial(options, events) {
      let socket: Socket;
      try {
        socket = openSocket(libc, options);
      } catch (error) {
        return failedConnection(failureOf(error as NodeJS.ErrnoException), events);
      }
      const { address, tcpAo } = options;
      const live = LiveKeys.ofDialed(address, tcpAo);
      return connectSocket(socket, { host: connectHost(options), port: options.port }, events, (_, wanted) =>
        live.replace(new RawSocket(libc, descriptorOf(socket), address.family), address, wanted),
      );
    },
    listen: (options, events) => new LinuxListener(libc, options, events),
    kernelDrops: readKernelDrops,
    discover: (networkInterface, events) => new RouterDiscovery(discovery, networkInterface, events),
  };
}

/** Opens a socket that is ready to connect. On failure it closes the descriptor and throws an error with the system's code. */
function openSocket(libc: Libc, options: DialOptions): Socket {
  const { address, sourceAddress, password, tcpAo, vrf, interface: networkInterface } = options;
  const socket = RawSocket.tcp(libc, address.family);
  try {
    if (networkInterface !== undefined) socket.bindToInterface(networkInterface);
    if (vrf !== undefined) bindToVrf(socket, vrf);
    socket.setOptions(options);
    socket.setTrafficClass();
    if (password !== undefined) setSignatureKey(socket, hostPrefix(address), password);
    tcpAo?.sockets.dial(socket, hostPrefix(address), tcpAo.keys);
    if (sourceAddress !== undefined) socket.bind(sourceAddress, 0, 'binding the source address');
    // The handle inside the Socket owns the descriptor now. Without `manualStart` it would read before it is connected.
    return new Socket({ fd: socket.fd, readable: true, writable: true, manualStart: true } as ConstructorParameters<typeof Socket>[0]);
  } catch (error) {
    socket.close();
    throw error;
  }
}
