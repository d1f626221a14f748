import { conntrackNetlink } from '../conntrack/conntrack-netlink.ts';
import { ipPaths } from '../direct-return/ip-paths.ts';
import { ingressTableName } from '../direct-return/ingress-script.ts';
import { nftIngress } from '../direct-return/nft-ingress.ts';
import { requiredNetlink } from '../required-netlink.ts';
import { routeNetlink } from '../routes/route-netlink.ts';
import { defined } from '../../lang/defined.ts';
import { tunnelPrefix } from '../ruleset/direct-return-identity.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { NetlinkConnection } from '../../system/netlink/connection.ts';
import { listLinks, readLink } from '../../system/netlink/link-messages.ts';
import { routeProtocol } from '../../system/netlink/socket.ts';
import { netlinkExecutor } from './netlink/netlink-executor.ts';
import { RulesetLookup } from './netlink/ruleset-lookup.ts';
import type { NftablesPorts } from './nftables.ts';

/** A network namespace other than that of this process: its file for sockets, and the prefix for commands. */
export interface Namespace {
  /** "/run/netns/node1" */
  readonly file: string;
  /** ['ip', 'netns', 'exec', 'node1'] */
  readonly commandPrefix: readonly string[];
}

interface MachineOptions {
  /** True: no other program can change the tables, see NetlinkExecutorOptions. */
  readonly own: boolean;
  readonly namespace?: Namespace;
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
  const socket = requiredNetlink({ protocol: routeProtocol, ...defined({ networkNamespace }) });
  try {
    const links = await new NetlinkConnection(socket, clock).list(listLinks, readLink);
    return links.some(({ name }) => name.startsWith(tunnelPrefix));
  } finally {
    socket.close();
  }
}

/**
 * Returns the ports to this machine's kernel: netlink, and for the paths and the table of direct server return the commands ip, bridge and
 * nft. Throws DataplaneError `unavailable` when this machine has no netlink for Herald.
 */
export function machinePorts(clock: Clock, log: Log, { namespace, own }: MachineOptions): NftablesPorts {
  const { file, commandPrefix } = namespace ?? {};
  const executor = netlinkExecutor(clock, { own, ...defined({ networkNamespace: file }) });
  log.info({ by: 'netlink' }, 'nftables is driven');
  return {
    executor,
    routes: routeNetlink(clock, file),
    conntrack: conntrackNetlink(clock, file),
    paths: { ...ipPaths(commandPrefix), hasTunnel: () => hasTunnel(clock, file) },
    ingress: { ...nftIngress(commandPrefix), exists: () => hasIngressTable(clock, file) },
    clock,
    log,
  };
}
