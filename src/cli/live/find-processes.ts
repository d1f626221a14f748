import { realpath } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import { KubeClient } from '../../kube/client/client.ts';
import { KubeError } from '../../kube/error.ts';
import { connectAsCaller } from '../storage/caller-connection.ts';
import { UsageError, type CommandContext } from '../context/command-context.ts';
import { agentSocket, controllerSocket, readSocket } from '../options/live-options.ts';
import { defaultNamespace, oneMore, type CallerOptions } from '../options/shared-options.ts';
import { connectToSocket } from './socket-client.ts';
import { findPodClients } from './pod-clients.ts';
import {
  LiveError,
  noProcesses,
  type LiveClient,
  type FoundProcesses,
  type ProcessFilter,
  type UnreachableProcess,
} from './live-client.ts';

export interface FindProcessesOptions extends CallerOptions {
  readonly source?: string;
  readonly socket?: readonly string[];
  readonly heraldNamespace?: string;
}

/** Adds the options of a command that queries running processes. */
export function addFindProcessesOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--socket <path>',
        `query a process of this host at its Unix socket; may be given several times (default: with --source ${agentSocket} and ${controllerSocket}, else agents and controllers of the cluster through the API server's pod proxy)`,
      ).argParser((path: string, before?: readonly string[]) => oneMore(readSocket(path), before)),
    )
    .addOption(
      new Option('--herald-namespace <name>', `namespace of Herald's pods (default: ${defaultNamespace})`).conflicts(['source', 'socket']),
    );
}

/**
 * Finds the running processes that the caller can query. Processes that cannot be queried are returned with the reason. Rejects when the
 * API server cannot be reached.
 */
export async function findProcesses(
  context: CommandContext,
  options: FindProcessesOptions,
  wanted: ProcessFilter = {},
): Promise<FoundProcesses> {
  if (options.socket !== undefined || options.source !== undefined) return findSocketClients(context, options, wanted);
  const client = new KubeClient(await connectAsCaller(context, options), { clock: context.clock });
  const { heraldNamespace: namespace = defaultNamespace } = options;
  try {
    return await findPodClients(client, { namespace, ...wanted }, context);
  } catch (error) {
    client.close();
    throw error;
  }
}

/** Finds processes for a command that works without them. `who` names them where the cluster cannot be asked. */
export async function findProcessesIfAny(
  context: CommandContext,
  options: FindProcessesOptions,
  wanted: ProcessFilter,
  who: string,
): Promise<FoundProcesses> {
  return findProcesses(context, options, wanted).catch((error: unknown) => {
    if (!(error instanceof KubeError) && !(error instanceof UsageError)) throw error;
    return noProcesses(who, error.message);
  });
}

async function findSocketClients(
  { stopped }: CommandContext,
  { socket, source }: FindProcessesOptions,
  { node, of }: ProcessFilter,
): Promise<FoundProcesses> {
  const directory = source === undefined ? undefined : await realpath(source).catch(() => source);
  const clients: LiveClient[] = [];
  const unasked: UnreachableProcess[] = [];
  for (const path of socket ?? [agentSocket, controllerSocket]) {
    if (path === 'none') continue;
    try {
      const found = await connectToSocket(path, stopped);
      const { process } = found;
      const isWanted = process.command === 'run' || of === undefined || of.includes(process.command);
      if (directory !== undefined && process.directory !== directory) {
        const reads = process.directory ?? 'a cluster';
        unasked.push({
          who: `the ${process.command} at ${path}`,
          why: `it reads ${reads}, and not ${directory}`,
          fix: 'name its socket: --socket',
        });
      } else if (isWanted && (process.command === 'controller' || node === undefined || process.node === node)) clients.push(found);
    } catch (error) {
      if (!(error instanceof LiveError)) throw error;
      unasked.push({ who: path === controllerSocket ? 'the controller' : 'the agent of this host', why: error.message, fix: error.fix });
    }
  }
  // `herald run` is agent and controller in one process, so the missing controller socket is not reported.
  const isBoth = clients.some(({ process }) => process.command === 'run');
  return {
    clients,
    unasked: isBoth && socket === undefined ? unasked.filter(({ who }) => who !== 'the controller') : unasked,
    close: () => undefined,
  };
}
