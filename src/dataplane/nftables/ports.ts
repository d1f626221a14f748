import { conntrackCommand } from '../conntrack/conntrack-command.ts';
import { conntrackNetlink } from '../conntrack/conntrack-netlink.ts';
import { ipPaths } from '../direct-return/ip-paths.ts';
import { nftIngress } from '../direct-return/nft-ingress.ts';
import { ipCommand } from '../routes/ip-command.ts';
import { routeNetlink } from '../routes/route-netlink.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { netlinkExecutor } from './netlink/netlink-executor.ts';
import { nftCommand } from './nft/nft-command.ts';
import type { NftablesPorts } from './nftables.ts';

/** Another network namespace than this process's: its file for sockets, and the words that go before a command. */
export interface Namespace {
  /** "/run/netns/node1" */
  readonly file: string;
  /** ['ip', 'netns', 'exec', 'node1'] */
  readonly commandPrefix: readonly string[];
}

/** A namespace that `ip netns add` made. */
export function namespaceNamed(name: string): Namespace {
  return { file: `/run/netns/${name}`, commandPrefix: ['ip', 'netns', 'exec', name] };
}

interface MachineOptions {
  /** Nobody else can change the tables: see NetlinkExecutorOptions. By the nft command they never belong to anybody. */
  readonly own: boolean;
  readonly namespace?: Namespace;
}

/**
 * The ports that drive this machine's kernel through nft, ip and conntrack, found in PATH. `commandPrefix`, such as
 * ['ip', 'netns', 'exec', 'node1'], goes before each command.
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

/** The ports that drive this machine's kernel: netlink where this machine has FFI, otherwise the commands nft, ip and conntrack. */
export function machinePorts(clock: Clock, log: Log, options: MachineOptions): NftablesPorts {
  const { namespace, own } = options;
  const ports = commandPorts(clock, log, namespace?.commandPrefix);
  const executor = netlinkExecutor(clock, { own, ...(namespace === undefined ? {} : { networkNamespace: namespace.file }) });
  log.info({ by: executor === undefined ? 'the nft command' : 'netlink' }, 'nftables is driven');
  return {
    ...ports,
    executor: executor ?? ports.executor,
    routes: routeNetlink(clock, namespace?.file) ?? ports.routes,
    conntrack: conntrackNetlink(clock, namespace?.file) ?? ports.conntrack,
  };
}
