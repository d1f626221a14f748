import { cleanupKubeProxy, commandRunner, forwardsClusterIPs } from '../../dataplane/kube-proxy/cleanup.ts';
import { runningKubeProxy } from '../../dataplane/kube-proxy/running.ts';
import { systemHost } from '../../system/host.ts';
import { UsageError, type Environment } from '../environment/environment.ts';

/** Nothing was changed. */
const refused = 3;

/** `herald agent --cleanup-kube-proxy`: what it removes is printed, and the exit status says whether something is left. */
export async function cleanupCommand({ print, endWith }: Environment): Promise<void> {
  const running = await runningKubeProxy();
  if (running !== undefined) {
    throw new UsageError(
      `a kube-proxy runs on this node (${running}) and would make its rules again: remove its DaemonSet first; its rules stay until then, and so does the traffic`,
      refused,
    );
  }
  const run = commandRunner();
  if (!(await forwardsClusterIPs(run))) {
    throw new UsageError(
      'Herald forwards no ClusterIPs on this node, so traffic would stop with the rules of kube-proxy: set services: all in HeraldConfig and start the agent first',
      refused,
    );
  }
  const host = systemHost();
  const { removed, kept, left } = await cleanupKubeProxy({ run, legacyTables: (family) => host.legacyTables(family) });
  for (const what of removed) print(`removed ${what}`);
  for (const what of kept) print(`kept ${what}`);
  for (const what of left) print(`left ${what}`);
  if (removed.length === 0 && left.length === 0) print('nothing of kube-proxy is on this node');
  endWith(left.length === 0 ? 0 : 1);
}
