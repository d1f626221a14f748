import type { LogOptions } from '../options/shared-options.ts';
import { DataplaneError } from '../../dataplane/dataplane.ts';
import { changeAllowances } from '../../dataplane/host/filter-allowances.ts';
import { listHostFilters } from '../../dataplane/host/filter-commands.ts';
import { planAllowances } from '../../decisions/host/filter-allowances.ts';
import { NftablesDataplane } from '../../dataplane/nftables/nftables.ts';
import { receivedNetlink } from '../../dataplane/received-routes/received-netlink.ts';
import { removeReceivedRoutes } from '../../dataplane/received-routes/received-route-set.ts';
import { UsageError, type CommandContext } from '../context/command-context.ts';
import { cleanupKubeProxy, commandRunner, forwardsClusterIPs } from '../../dataplane/kube-proxy/cleanup.ts';
import { machinePorts } from '../../dataplane/nftables/ports.ts';
import { runningKubeProxy } from '../../dataplane/kube-proxy/running.ts';
import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { systemHost } from '../../system/host.ts';

/** Exit status: nothing was changed. */
const refused = 3;

/** `herald agent --cleanup` removes everything that a stopped agent left in the kernel. It succeeds when there is nothing. */
export async function cleanupHerald({ clock, log, print }: CommandContext, { logLevel }: LogOptions): Promise<void> {
  try {
    await cleanKernel(clock, await log(logLevel));
  } catch (error) {
    if (!(error instanceof DataplaneError)) throw error;
    if (error.code !== 'permission') throw new UsageError(`not everything was removed: ${error.message}`);
    throw new UsageError(
      `an agent that runs on this node owns the tables of Herald, or CAP_NET_ADMIN is missing: stop the agent first, and run this as root (${error.message})`,
      refused,
    );
  }
  print('the kernel of this node has no tables, routes, rules or tunnels of Herald any more');
}

/** Removes everything that an agent which no longer runs left in the kernel. Rejects with DataplaneError. */
export async function cleanKernel(clock: Clock, log: Log): Promise<void> {
  await new NftablesDataplane(machinePorts(clock, log, { own: false })).cleanup();
  const table = receivedNetlink(clock);
  try {
    if (table !== undefined) await removeReceivedRoutes(table);
  } finally {
    table?.close();
  }
  await removeAllowances();
}

/** Removes rules from filters of other programs. Without the nft command no agent had any there. Rejects with DataplaneError. */
async function removeAllowances(): Promise<void> {
  const host = systemHost();
  const filters = await listHostFilters((family) => host.legacyTables(family)).catch((error: unknown) => {
    if (error instanceof DataplaneError && error.code === 'unavailable') return [];
    throw error;
  });
  const errors = await changeAllowances(planAllowances(filters, [], false));
  if (errors.length > 0) throw new DataplaneError('failed', errors.join('; '));
}

/** `herald agent --cleanup-kube-proxy` prints what it removes. The exit status says whether something is left. */
export async function removeKubeProxyRules({ print, setExitStatus }: CommandContext): Promise<void> {
  const running = await runningKubeProxy();
  if (running !== undefined) {
    throw new UsageError(
      `a kube-proxy runs on this node (${running}) and would create its rules again: remove its DaemonSet first; its rules stay until then, and so does the traffic`,
      refused,
    );
  }
  const run = commandRunner();
  if (!(await forwardsClusterIPs(run))) {
    throw new UsageError(
      'Herald forwards no ClusterIPs on this node, so traffic would stop when the rules of kube-proxy are removed: set services: all in HeraldConfig and start the agent first',
      refused,
    );
  }
  const host = systemHost();
  const { removed, kept, left } = await cleanupKubeProxy({ run, legacyTables: (family) => host.legacyTables(family) });
  for (const what of removed) print(`removed ${what}`);
  for (const what of kept) print(`kept ${what}`);
  for (const what of left) print(`left ${what}`);
  if (removed.length === 0 && left.length === 0) print('this node has nothing of kube-proxy');
  setExitStatus(left.length === 0 ? 0 : 1);
}
