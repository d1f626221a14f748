import { InvalidArgumentError, Option, type Command } from 'commander';
import { formatAddress, parseAddress } from '../../net/address.ts';
import type { SocketAddress } from '../../system/http/http-listener.ts';

/** Where something is served: at addresses of this host, or at those of the Node object, which are known after it was read. */
interface Where {
  readonly places: readonly SocketAddress[];
  /** The port at the InternalIPs of the node. */
  readonly atNode?: number;
}

export interface TelemetryOptions {
  readonly metricsAddress: Where;
  readonly healthAddress: Where;
}

/** Ports of a process on a node. They differ from the controller's, because both may run on one host. */
export const agentPorts = { metrics: 10_290, health: 10_291 } as const;
export const controllerPorts = { metrics: 10_292, health: 10_293 } as const;

/** Metrics name pools and peers, so on a node they are served on loopback or to the node's network only. */
export function addTelemetryOptions(command: Command, of: 'agent' | 'controller'): Command {
  const { metrics, health } = of === 'agent' ? agentPorts : controllerPorts;
  const host = of === 'agent' ? 'node' : '0.0.0.0';
  return command
    .addOption(
      new Option(
        '--metrics-address <where>',
        'ADDRESS[:PORT] where /metrics is served, or none; 0.0.0.0 and [::] are all addresses of both families' +
          (of === 'agent' ? '; node: the InternalIPs of the Node' : ''),
      )
        .argParser((text) => readWhere(text, metrics, of === 'agent'))
        .default(readWhere(host, metrics, of === 'agent'), `${host}:${metrics}`),
    )
    .addOption(
      new Option('--health-address <where>', 'ADDRESS[:PORT] where /livez, /readyz and /healthz report the health of this process, or none')
        .argParser((text) => readWhere(text, health, false))
        .default(readWhere('0.0.0.0', health, false), `0.0.0.0:${health}`),
    );
}

/** Reads ADDRESS[:PORT], none or, where it may be, node[:PORT]. 0.0.0.0 and [::] are all addresses of both families. */
export function readWhere(text: string, defaultPort: number, mayBeNode: boolean): Where {
  if (text === 'none') return { places: [] };
  const [, bracketed, plain, digits = String(defaultPort)] = /^(?:\[([^\]]*)\]|([^:[\]]+))(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535)
    throw new InvalidArgumentError(
      `Write none, 192.0.2.1, 192.0.2.1:${defaultPort} or [2001:db8::1]:${defaultPort}${mayBeNode ? `, node or node:${defaultPort}` : ''}.`,
    );
  if (mayBeNode && host === 'node') return { places: [], atNode: port };
  const address = parseAddress(host);
  if (!address.ok) throw new InvalidArgumentError(`${JSON.stringify(host)}: ${address.problem}.`);
  const written = formatAddress(address.value);
  const everywhere = ['0.0.0.0', '::'];
  return { places: (everywhere.includes(written) ? everywhere : [written]).map((one) => ({ address: one, port })) };
}
