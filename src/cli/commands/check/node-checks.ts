import type { NodeCheck } from '../../../explain/check/facts.ts';
import { KubeClient } from '../../../kube/client/client.ts';
import type { KubeError } from '../../../kube/error.ts';
import type { CheckLine } from '../../../live/contract.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { limits } from '../../limits.ts';
import { findProcesses, type FindProcessesOptions } from '../../live/find-processes.ts';
import { LiveError, type UnreachableProcess } from '../../live/live-client.ts';
import { atMost, podsIn } from '../../live/pod-clients.ts';
import { defaultNamespace } from '../../options/shared-options.ts';
import { connectAsCaller } from '../../storage/caller-connection.ts';
import { isUnavailable } from '../../storage/access-refused.ts';
import { checkInPod } from './pod-check.ts';
import { checkBySocket } from './socket-check.ts';

export interface NodeCheckOptions extends FindProcessesOptions {
  /** Only this node. */
  readonly node?: string;
}

export interface NodeChecks {
  /** By Service: one entry for each node that answered about it. */
  readonly checks: ReadonlyMap<ServiceKey, readonly NodeCheck[]>;
  readonly unasked: readonly UnreachableProcess[];
}

/** One agent that can be asked to check Services. */
interface CheckingAgent {
  readonly who: string;
  readonly node: string;
  readonly check: () => Promise<ReadonlyMap<string, readonly CheckLine[] | LiveError>>;
}

interface FoundAgents {
  readonly agents: readonly CheckingAgent[];
  readonly unasked: readonly UnreachableProcess[];
}

/** Asks agents to check Services: by their sockets on this host, or in their pods. Rejects with KubeError or UsageError. */
export async function checkOnNodes(
  context: CommandContext,
  options: NodeCheckOptions,
  services: readonly ServiceKey[],
): Promise<NodeChecks> {
  const isLocal = options.socket !== undefined || options.source !== undefined;
  const { agents, unasked } = await (isLocal ? localAgents : podAgents)(context, options, services);
  const checks = new Map<ServiceKey, NodeCheck[]>(services.map((service) => [service, []]));
  const failed: UnreachableProcess[] = [];
  await atMost(agents, limits.liveAtOnce, async ({ who, node, check }) => {
    try {
      for (const [service, lines] of await check()) {
        if (lines instanceof LiveError) failed.push({ who, node, why: lines.message, fix: lines.fix });
        else checks.get(service as ServiceKey)?.push({ node, lines });
      }
    } catch (error) {
      if (!(error instanceof LiveError)) throw error;
      failed.push({ who, node, why: error.message, fix: error.fix });
    }
  });
  for (const list of checks.values()) list.sort((a, b) => (a.node < b.node ? -1 : 1));
  return { checks, unasked: [...unasked, ...failed] };
}

async function localAgents(context: CommandContext, options: NodeCheckOptions, services: readonly ServiceKey[]): Promise<FoundAgents> {
  const found = await findProcesses(context, options, { node: options.node, of: ['agent'] });
  const { clients, unasked } = found;
  found.close();
  const agents = clients.flatMap(({ who, process: { node }, socket }) => {
    if (socket === undefined || node === undefined) return [];
    return [{ who, node, check: () => checkEach(socket, services, context) }];
  });
  // The controller is not needed.
  return { agents, unasked: unasked.filter(({ who }) => who !== 'the controller') };
}

/** An agent runs one check at a time. */
async function checkEach(
  socket: string,
  services: readonly ServiceKey[],
  context: CommandContext,
): Promise<Map<string, readonly CheckLine[] | LiveError>> {
  const found = new Map<string, readonly CheckLine[] | LiveError>();
  for (const service of services) {
    const lines = await checkBySocket(socket, service, context).catch((error: unknown) => {
      if (error instanceof LiveError) return error;
      throw error;
    });
    found.set(service, lines);
  }
  return found;
}

async function podAgents(context: CommandContext, options: NodeCheckOptions, services: readonly ServiceKey[]): Promise<FoundAgents> {
  const { heraldNamespace: namespace = defaultNamespace, node: only } = options;
  const client = new KubeClient(await connectAsCaller(context, options), { clock: context.clock });
  try {
    const pods = (await podsIn(client, namespace, context.stopped)).filter(
      ({ component, node }) => component === 'agent' && (only === undefined || node === only),
    );
    const more = pods.length - limits.livePods;
    const unasked: UnreachableProcess[] =
      more > 0 ? [{ who: `${more} more agents`, why: `at most ${limits.livePods} are asked`, fix: 'use --node' }] : [];
    const agents = pods.slice(0, limits.livePods).flatMap((pod): CheckingAgent[] => {
      const who = `the agent of ${pod.node ?? pod.name}`;
      if (pod.why === undefined && pod.node !== undefined)
        return [{ who, node: pod.node, check: () => checkInPod({ namespace, pod: pod.name }, services, options) }];
      unasked.push({ who, why: pod.why ?? 'its pod is on no node', fix: `kubectl -n ${namespace} describe pod ${pod.name}` });
      return [];
    });
    if (pods.length === 0)
      unasked.push({
        who: 'agents',
        why: `there are no pods of agents in the namespace ${namespace}`,
        fix: 'name their namespace: --herald-namespace',
      });
    return { agents, unasked };
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    const why = `you may not list pods of the namespace ${namespace}: ${(error as KubeError).message}`;
    return {
      agents: [],
      unasked: [{ who: 'agents', why, fix: 'bind the Role herald-check of that namespace (manifests/base/check-rbac.yaml)' }],
    };
  } finally {
    client.close();
  }
}
