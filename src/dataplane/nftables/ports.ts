import { conntrackCommand } from '../conntrack/conntrack-command.ts';
import { conntrackNetlink } from '../conntrack/conntrack-netlink.ts';
import { ipPaths } from '../direct-return/ip-paths.ts';
import { ingressTableName } from '../direct-return/ingress-script.ts';
import { nftIngress } from '../direct-return/nft-ingress.ts';
import { ipCommand } from '../routes/ip-command.ts';
import { routeNetlink } from '../routes/route-netlink.ts';
import { defined } from '../../lang/defined.ts';
import { tunnelPrefix } from '../ruleset/direct-return-identity.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { NetlinkConnection } from '../../system/netlink/connection.ts';
import { listLinks, readLink } from '../../system/netlink/link-messages.ts';
import { openNetlink, routeProtocol } from '../../system/netlink/socket.ts';
import { netlinkExecutor } from './netlink/netlink-executor.ts';
import { RulesetLookup } from './netlink/ruleset-lookup.ts';
import { nftCommand } from './nft/nft-command.ts';
import type { NftablesPorts } from './nftables.ts';

/** A network namespace other than that of this process: its file for sockets, and the prefix for commands. */
export interface Namespace {
  /** "/run/netns/node1" */
  readonly file: string;
  /** ['ip', 'netns', 'exec', 'node1'] */
  readonly commandPrefix: readonly string[];
}

/** Returns a namespace that `ip netns add` created. */
export function namespaceNamed(name: string): Namespace {
  return { file: `/run/netns/${name}`, commandPrefix: ['ip', 'netns', 'exec', name] };
}

interface MachineOptions {
  /** True: no other program can change the tables, see NetlinkExecutorOptions. The nft command cannot set this. */
  readonly own: boolean;
  readonly namespace?: Namespace;
}

/**
 * Returns the ports that use the commands nft, ip and conntrack, found in PATH. `commandPrefix`, such as ['ip', 'netns', 'exec', 'node1'],
 * goes before each command.
 */
export function commandPorts(clock: Clock, log: Log, commandPrefix: readonly string[] = []): NftablesPorts {
  return {
    executor: nftCommand(commandPrefix),
    routes: ipCommand(commandPrefix),
    conntrack: conntrackCommand(commandPrefix),
    paths: ipPaths(commandPrefix),
    ingress: nftIngress(commandPrefix),
    clock,
    log,
  };
}

/** Asks by netlink: to start a command takes tens of milliseconds, the more memory the agent has. */
async function hasIngressTable(clock: Clock, networkNamespace: string | undefined): Promise<boolean> {
  const lookup = new RulesetLookup(clock, networkNamespace);
  try {
    return await lookup.hasNetdevTable(ingressTableName);
  } finally {
    await lookup.close();
  }
}

/** Asks by netlink, for the same reason. */
async function hasTunnel(clock: Clock, networkNamespace: string | undefined): Promise<boolean> {
  const socket = openNetlink({ protocol: routeProtocol, ...defined({ networkNamespace }) });
  // No FFI, so nothing is known.
  if (socket === undefined) return true;
  try {
    const links = await new NetlinkConnection(socket, clock).list(listLinks, readLink);
    return links.some(({ name }) => name.startsWith(tunnelPrefix));
  } finally {
    socket.close();
  }
}

/** Returns the ports to this machine's kernel: netlink where FFI is available, otherwise the commands nft, ip and conntrack. */
export function machinePorts(clock: Clock, log: Log, options: MachineOptions): NftablesPorts {
  const { namespace, own } = options;
  const ports = commandPorts(clock, log, namespace?.commandPrefix);
  const executor = netlinkExecutor(clock, { own, ...(namespace === undefined ? {} : { networkNamespace: namespace.file }) });
  log.info({ by: executor === undefined ? 'the nft command' : 'netlink' }, 'nftables is driven');
  return {
    ...ports,
    executor: executor ?? ports.executor,
    ...(executor === undefined
      ? {}
      : {
          ingress: { ...ports.ingress, exists: () => hasIngressTable(clock, namespace?.file) },
          paths: { ...ports.paths, hasTunnel: () => hasTunnel(clock, namespace?.file) },
        }),
    routes: routeNetlink(clock, namespace?.file) ?? ports.routes,
    conntrack: conntrackNetlink(clock, namespace?.file) ?? ports.conntrack,
  };
}
