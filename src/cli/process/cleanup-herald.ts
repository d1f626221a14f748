import { DataplaneError } from '../../dataplane/dataplane.ts';
import { NftablesDataplane } from '../../dataplane/nftables/nftables.ts';
import { machinePorts } from '../../dataplane/nftables/ports.ts';
import { UsageError, type Environment } from '../environment/environment.ts';
import type { LogOptions } from '../options/shared-options.ts';

/** Nothing was changed. */
const refused = 3;

/** `herald agent --cleanup`: what an agent that was stopped has left in the kernel goes. Nothing there is success. */
export async function cleanupHeraldCommand({ clock, log, print }: Environment, { logLevel }: LogOptions): Promise<void> {
  try {
    await new NftablesDataplane(machinePorts(clock, await log(logLevel), { own: false })).cleanup();
  } catch (error) {
    if (!(error instanceof DataplaneError)) throw error;
    if (error.code !== 'permission') throw new UsageError(`not everything was removed: ${error.message}`, 1);
    throw new UsageError(
      `the tables of Herald belong to an agent that runs on this node, or CAP_NET_ADMIN is missing: stop the agent first, and run this as root (${error.message})`,
      refused,
    );
  }
  print('nothing of Herald is in the kernel of this node any more: no tables, no routes, no rules, no tunnels');
}
