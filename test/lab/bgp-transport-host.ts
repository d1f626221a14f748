import { readdirSync } from 'node:fs';
import { linuxTransport } from '../../src/bgp/transport/linux.ts';
import { loadLibc, systemError } from '../../src/system/ffi/libc.ts';
import { socketAddress } from '../../src/bgp/transport/linux/socket.ts';
import { RawSocket } from '../../src/bgp/transport/linux/socket.ts';
import type { Connection, Listener, SocketOptions } from '../../src/bgp/transport/transport.ts';
import { address, formatAddress } from '../../src/net/address.ts';
import { parsePrefix } from '../../src/net/prefix.ts';
import { ConnectionRecorder, ListenerRecorder } from '../../src/bgp/test/transport/recorder.ts';

/** The program that bgp-transport.test.ts runs in a namespace: a transport that takes calls over a pipe. */
interface Call {
  readonly id: number;
  readonly method: keyof typeof methods;
  readonly args: readonly unknown[];
}

/** The state of a connection, as the test sees it. */
export interface ConnectionView {
  readonly events: readonly string[];
  readonly received: string;
  readonly receivedHex: string;
  readonly detail: string | undefined;
  readonly remote: string | undefined;
  readonly interface: string | undefined;
}

export interface DialOptions extends SocketOptions {
  readonly address: string;
  readonly port: number;
  readonly sourceAddress?: string;
  readonly interface?: string;
  readonly password?: string;
}

const transport = linuxTransport();
const dialed = new Map<string, { readonly recorder: ConnectionRecorder; readonly connection: Connection }>();
const listeners = new Map<string, { readonly recorder: ListenerRecorder; readonly listener: Listener }>();
const discoveries = new Map<string, { readonly found: string[]; failed: string | undefined; close: () => void }>();

const listenerOf = (name: string): ListenerRecorder => {
  const recorder = listeners.get(name)?.recorder;
  if (recorder === undefined) throw new Error(`no listener ${name}`);
  return recorder;
};

/** Finds a connection. "name" is a dialed one, "name/0" the first that the listener of that name accepted. */
function find(name: string): { recorder: ConnectionRecorder; connection: Connection; remote?: string; interface?: string } | undefined {
  const [first = '', index] = name.split('/');
  if (index === undefined) return dialed.get(first);
  const accepted = listenerOf(first).accepted[Number(index)];
  if (accepted === undefined) return undefined;
  const { incoming, recorder, connection } = accepted;
  const zone = incoming.interface === undefined ? {} : { interface: incoming.interface };
  return { recorder, connection, remote: formatAddress(incoming.remoteAddress), ...zone };
}

const methods = {
  listen(name: string, port: number, at?: string): void {
    const recorder = new ListenerRecorder();
    const where = { port, ...(at === undefined ? {} : { address: address(at) }) };
    listeners.set(name, { recorder, listener: transport.listen(where, recorder) });
  },
  listener(name: string): { port: number | undefined; failed: string | undefined; accepted: number } {
    const { port, failure, accepted } = listenerOf(name);
    return { port, failed: failure?.detail, accepted: accepted.length };
  },
  /** Sets the options with which the next connections are accepted. */
  acceptWith(name: string, options: SocketOptions): void {
    listenerOf(name).socketOptions = options;
  },
  setKeys(name: string, keys: Record<string, string>): string[] {
    const list = Object.entries(keys).map(([text, password]) => {
      const prefix = parsePrefix(text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`);
      if (!prefix.ok) throw new Error(prefix.problem);
      return { prefix: prefix.value, password };
    });
    return [...(listeners.get(name)?.listener.setKeys(list) ?? new Map<number, string>()).values()];
  },
  dial(name: string, { address: to, sourceAddress, ...rest }: DialOptions): void {
    const recorder = new ConnectionRecorder();
    const source = sourceAddress === undefined ? {} : { sourceAddress: address(sourceAddress) };
    dialed.set(name, { recorder, connection: transport.dial({ ...rest, ...source, address: address(to) }, recorder) });
  },
  write: (name: string, text: string): void => void find(name)?.connection.write(Buffer.from(text)),
  end: (name: string): void => find(name)?.connection.end(),
  destroy: (name: string): void => find(name)?.connection.destroy(),
  view(name: string): ConnectionView | undefined {
    const found = find(name);
    if (found === undefined) return undefined;
    const { events, received, failure } = found.recorder;
    return {
      events,
      received: received.toString(),
      receivedHex: received.toString('hex'),
      detail: failure?.detail,
      remote: found.remote,
      interface: found.interface,
    };
  },
  kernelDrops: () => transport.kernelDrops(),
  discover(networkInterface: string): void {
    const found: string[] = [];
    const discovery = transport.discover(networkInterface, {
      found: (router) => void found.push(formatAddress(router)),
      failed: ({ detail }) => ((discoveries.get(networkInterface) ?? { failed: '' }).failed = detail),
    });
    discoveries.set(networkInterface, { found, failed: undefined, close: () => discovery.close() });
  },
  discovered: (networkInterface: string) => {
    const { found = [], failed } = discoveries.get(networkInterface) ?? {};
    return { found, failed };
  },
  stopDiscovery: (networkInterface: string): void => discoveries.get(networkInterface)?.close(),
  descriptors: (): number => readdirSync('/proc/self/fd').length,
  /** Sends a neighbour discovery message to all nodes on the link, as another host could. */
  sendRouterMessage(networkInterface: string, message: string, hopLimit: number): void {
    const libc = loadLibc();
    if (libc === undefined) throw new Error('no koffi');
    const fd = libc.socket(10, 3, 58);
    const socket = new RawSocket(libc, fd, 6);
    socket.bindToInterface(networkInterface);
    const multicastHops = 18;
    socket.setSocketOption(41, multicastHops, hopLimit, 'setting the hop limit');
    const to = socketAddress(6, address('ff02::1'), 0);
    const bytes = Buffer.from(message, 'hex');
    if (libc.sendto(fd, bytes, bytes.length, 0, to, to.length) < 0) throw systemError(libc, 'sendto');
    socket.close();
  },
  /** Closes all connections, listeners and discoveries. */
  reset(): void {
    for (const { connection } of dialed.values()) connection.destroy();
    for (const { recorder, listener } of listeners.values()) {
      listener.close();
      for (const { connection } of recorder.accepted) connection.destroy();
    }
    for (const { close } of discoveries.values()) close();
    dialed.clear();
    listeners.clear();
    discoveries.clear();
  },
};

export type HostMethods = typeof methods;

process.on('message', ({ id, method, args }: Call) => {
  try {
    process.send?.({ id, value: (methods[method] as (...args: readonly unknown[]) => unknown)(...args) });
  } catch (error) {
    process.send?.({ id, error: String(error) });
  }
});
