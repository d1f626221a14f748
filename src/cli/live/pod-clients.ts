import { isRecord } from '../../lang/is-record.ts';
import { defined } from '../../lang/defined.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { StallTimeout } from '../../kube/client/stall-timeout.ts';
import { KubeError } from '../../kube/error.ts';
import { listAll } from '../../kube/reflector/list-pages.ts';
import type { RawObject } from '../../kube/raw-object.ts';
import { livePaths, type LiveIndex } from '../../live/contract.ts';
import { sleep, type Clock } from '../../system/clock.ts';
import type { CommandContext } from '../context/command-context.ts';
import { limits } from '../limits.ts';
import { isUnavailable } from '../storage/access-refused.ts';
import { agentPorts, controllerPorts } from '../options/telemetry-options.ts';
import { metricsPortOf } from './pod-containers.ts';
import { LiveError, type LiveClient, type FoundProcesses, type ProcessFilter, type UnreachableProcess } from './live-client.ts';

const rightsFix = 'bind the Role herald-explain-live of that namespace (manifests/base/explain-rbac.yaml)';

/** A pod of Herald. */
export interface Pod {
  readonly name: string;
  readonly component: 'agent' | 'controller';
  readonly node: string | undefined;
  readonly port: number;
  /** Why the pod cannot be queried. Absent: it can. */
  readonly why?: string;
}

/**
 * Finds the agents and controllers of a cluster. They are queried through the API server's pod proxy. The caller needs the rights to list
 * pods and to `get` `pods/proxy` in the namespace. `node` selects the agent of that node; controllers are found as well.
 */
export async function findPodClients(
  client: KubeClient,
  { namespace, node, of = ['agent', 'controller'] }: ProcessFilter & { readonly namespace: string },
  context: Pick<CommandContext, 'clock' | 'stopped'>,
): Promise<FoundProcesses> {
  const close = (): void => client.close();
  let pods: Pod[];
  try {
    pods = await podsIn(client, namespace, context.stopped);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    const why = `you may not list pods of the namespace ${namespace}: ${(error as KubeError).message}`;
    return {
      clients: [],
      unasked: [{ who: 'agents and controllers', why, fix: `bind the ClusterRole herald-explain, and ${rightsFix}` }],
      close,
    };
  }
  const wanted = pods.filter(
    (pod) => of.includes(pod.component) && (pod.component === 'controller' || node === undefined || pod.node === node),
  );
  const asked = wanted.slice(0, limits.livePods);
  const unasked: UnreachableProcess[] = [];
  if (pods.length === 0)
    unasked.push({
      who: 'agents and controllers',
      why: `there are no pods of Herald in the namespace ${namespace}`,
      fix: 'name their namespace: --herald-namespace',
    });
  if (wanted.length > asked.length)
    unasked.push({ who: `${wanted.length - asked.length} more agents`, why: `at most ${limits.livePods} are queried`, fix: 'use --node' });
  const found = await atMost(asked, limits.liveAtOnce, async (pod): Promise<LiveClient | UnreachableProcess> => {
    const who = pod.component === 'controller' ? `the controller ${pod.name}` : `the agent of ${pod.node ?? pod.name}`;
    const where = pod.component === 'agent' && pod.node !== undefined ? { node: pod.node } : {};
    if (pod.why !== undefined) return { who, ...where, why: pod.why, fix: `kubectl -n ${namespace} describe pod ${pod.name}` };
    const ask: LiveClient['ask'] = (path, query) => askPod(client, namespace, pod, path, query, context);
    try {
      const { process } = (await ask(livePaths.index, {})) as Partial<LiveIndex>;
      if (process === undefined)
        throw new LiveError('the program that answers there is not a process of Herald', `check the metrics port of pod ${pod.name}`);
      return { who, process, ask };
    } catch (error) {
      if (!(error instanceof LiveError)) throw error;
      return { who, ...where, why: error.message, fix: error.fix };
    }
  });
  const clients = found.filter((one) => 'ask' in one);
  unasked.push(...found.filter((one): one is UnreachableProcess => 'why' in one));
  return { clients, unasked, close };
}

/** Lists the pods of Herald in a namespace, sorted by node. Rejects with KubeError. */
export async function podsIn(client: KubeClient, namespace: string, signal: AbortSignal): Promise<Pod[]> {
  const labelSelector = 'app.kubernetes.io/name=herald,app.kubernetes.io/component in (agent,controller)';
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const pods = (await listAll(client, path, { labelSelector }, signal)).flatMap((raw) => podOf(raw) ?? []);
  return pods.sort((a, b) => (`${a.node} ${a.name}` < `${b.node} ${b.name}` ? -1 : 1));
}

function podOf(raw: RawObject): Pod | undefined {
  const { name, labels, deletionTimestamp } = raw.metadata as Readonly<Record<string, unknown>>;
  const component = isRecord(labels) ? labels['app.kubernetes.io/component'] : undefined;
  const [spec, status] = [raw['spec'], raw['status']].map((part) => (isRecord(part) ? part : {}));
  if (typeof name !== 'string' || (component !== 'agent' && component !== 'controller')) return undefined;
  const phase = typeof status?.['phase'] === 'string' ? status['phase'] : 'Unknown';
  const why = deletionTimestamp !== undefined ? 'its pod is being deleted' : phase === 'Running' ? undefined : `its pod is ${phase}`;
  const port = metricsPortOf(raw) ?? (component === 'agent' ? agentPorts : controllerPorts).metrics;
  const node = spec?.['nodeName'];
  return { name, component, node: typeof node === 'string' ? node : undefined, port, ...defined({ why }) };
}

async function askPod(
  client: KubeClient,
  namespace: string,
  { name, port }: Pod,
  path: string,
  query: Readonly<Record<string, string>>,
  { clock, stopped }: Pick<CommandContext, 'clock' | 'stopped'>,
): Promise<unknown> {
  const target = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${name}:${port}/proxy${path}`;
  const deadline = new StallTimeout(clock, limits.liveMilliseconds, stopped);
  try {
    return await inTurn(() => client.get(target, query, deadline.signal), clock, deadline.signal);
  } catch (error) {
    if (stopped.aborted) throw stopped.reason;
    if (deadline.signal.aborted)
      throw new LiveError(`no answer within ${limits.liveMilliseconds / 1000} s through the API server's pod proxy`, reachFix(port), {
        cause: error,
      });
    if (!(error instanceof KubeError)) throw error;
    throw refusalOf(error, namespace, name, port);
  } finally {
    deadline.end();
  }
}

/**
 * Repeats a query while it is answered with "busy", because the metrics port serves one query at a time. Waits at least as long as the
 * Retry-After of the process or the API server. Rejects with the last error when too little time is left.
 */
async function inTurn<T>(ask: () => Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  const end = clock.now() + limits.liveMilliseconds;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== 'busy') throw error;
      const pause = Math.max(limits.liveBusyMilliseconds, error.retryAfterMilliseconds ?? 0);
      if (clock.now() + pause >= end) throw error;
      await sleep(clock, pause, signal);
    }
  }
}

function refusalOf(error: KubeError, namespace: string, pod: string, port: number): LiveError {
  const options = { cause: error };
  if (error.code === 'forbidden') return new LiveError(`you may not get pods/proxy in the namespace ${namespace}`, rightsFix, options);
  if (error.code === 'notFound' && error.message.includes('not found: /metrics'))
    return new LiveError(
      'its metrics port does not serve the live API',
      'it was started with --live socket, or has an older version: query its socket, on its host',
      options,
    );
  if (error.code === 'busy') {
    const { retryAfterMilliseconds: later } = error;
    const when = later === undefined ? 'in a moment' : `in ${later / 1000} s`;
    return new LiveError(
      `it is busy with other queries (HTTP 429), and did not answer within ${limits.liveMilliseconds / 1000} s`,
      `try again ${when}, or query its socket on its host: --socket`,
      options,
    );
  }
  if (error.code === 'failing') return new LiveError(`the API server does not reach pod ${pod}: ${error.message}`, reachFix(port), options);
  return new LiveError(error.message, error.fix, options);
}

const reachFix = (port: number): string =>
  `check that the API server reaches port ${port} of the pod: --metrics-address, NetworkPolicies, the filter of the node`;

/** Works on items, at most so many at once. Returns the results in the order of the items. */
export async function atMost<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return results;
}
