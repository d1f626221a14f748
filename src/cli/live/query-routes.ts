import { Option } from 'commander';
import type { LiveRoutes } from '../../explain/service/live-routes.ts';
import type { LiveRoute } from '../../live/contract.ts';
import { livePaths } from '../../live/contract.ts';
import { KubeError } from '../../kube/error.ts';
import { UsageError, type CommandContext } from '../context/command-context.ts';
import { limits } from '../limits.ts';
import type { ReadingOptions } from '../reading/open-reading.ts';
import { findProcesses, type FindProcessesOptions } from './find-processes.ts';
import { fetchAllPages, LiveError, type FoundProcesses, type UnreachableProcess } from './live-client.ts';

export interface QueryOptions extends ReadingOptions, FindProcessesOptions {
  /** False: --no-ask. */
  readonly ask?: boolean;
}

export const noAskOption = (): Option =>
  new Option('--no-ask', 'do not query running agents: show only what is decided and what nodes report');

interface AskedRoutes {
  readonly live: LiveRoutes;
  /** Processes that could not be queried. Their nodes are shown by their reports. */
  readonly unasked: readonly UnreachableProcess[];
}

const noRoutes: AskedRoutes = { live: new Map(), unasked: [] };

/**
 * Queries agents for the routes that they have sent for a Service, to a peer, or at all. A command works without any agent, from decisions
 * and reports.
 */
export async function queryRoutes(
  context: CommandContext,
  options: QueryOptions,
  { node, ...query }: { readonly node?: string | undefined; readonly peer?: string | undefined; readonly service?: string | undefined },
): Promise<AskedRoutes> {
  // Manifests have no running processes.
  if (options.ask === false || options.file !== undefined) return noRoutes;
  let found: FoundProcesses;
  try {
    found = await findProcesses(context, options, { node, of: ['agent'] });
  } catch (error) {
    if (!(error instanceof KubeError) && !(error instanceof UsageError)) throw error;
    return { live: new Map(), unasked: [{ who: 'agents', why: error.message, fix: '' }] };
  }
  try {
    const live = new Map<string, readonly LiveRoute[]>();
    const unasked = [...found.unasked];
    const given = Object.fromEntries(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined));
    await Promise.all(
      found.clients.map(async (client) => {
        const { node: at } = client.process;
        if (at === undefined) return;
        try {
          const { items, more } = await fetchAllPages<LiveRoute>(client, livePaths.routes, given, limits.liveRoutes);
          live.set(at, items);
          if (more)
            unasked.push({
              who: client.who,
              node: at,
              why: `it has more than ${limits.liveRoutes} routes`,
              fix: 'use --peer or --service',
            });
        } catch (error) {
          if (!(error instanceof LiveError)) throw error;
          unasked.push({ who: client.who, node: at, why: error.message, fix: error.fix });
        }
      }),
    );
    return { live, unasked };
  } finally {
    found.close();
  }
}
