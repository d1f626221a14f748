import { isRecord } from '../../lang/is-record.ts';
import { KubeClient } from '../../kube/client/client.ts';
import { listAll, listPages } from '../../kube/reflector/list-pages.ts';
import type { RawObject } from '../../kube/raw-object.ts';
import { connectAsCaller } from '../storage/caller-connection.ts';
import { defaultNamespace } from '../options/shared-options.ts';
import type { CommandContext } from '../context/command-context.ts';
import { limits } from '../limits.ts';
import { findProcesses, type FindProcessesOptions } from '../live/find-processes.ts';
import { containersIn, metricsPortOf, recordsOf } from '../live/pod-containers.ts';
import type { Bundle } from './bundle.ts';
import { addLive } from './live-parts.ts';

/** The label that Herald's pods have in the shipped manifests and the chart. */
const labelSelector = 'app.kubernetes.io/name=herald';

/** Adds what a cluster holds about Herald besides its objects: pods with logs and metrics, the live API of the processes, and Events. */
export async function addCluster(bundle: Bundle, context: CommandContext, options: FindProcessesOptions): Promise<void> {
  const { clock, stopped } = context;
  const { heraldNamespace = defaultNamespace } = options;
  const client = new KubeClient(await connectAsCaller(context, options), { clock });
  try {
    await bundle.collect('version of the cluster', async () =>
      bundle.addJson('cluster/version.json', await client.get('/version', {}, stopped)),
    );
    await bundle.collect('Events', () => addEvents(bundle, client, heraldNamespace, stopped));
    const pods = (await bundle.collect("Herald's pods", () => addPods(bundle, client, heraldNamespace, stopped))) ?? [];
    // Before the logs, which may take all the room that is left.
    const live = await bundle.collect('processes of Herald', () => findProcesses(context, options));
    if (live !== undefined) await addLive(bundle, live).finally(() => live.close());
    // Several at a time, because each request to a dead node waits for its timeout.
    for (let from = 0; from < pods.length; from += limits.liveAtOnce)
      await Promise.all(pods.slice(from, from + limits.liveAtOnce).map((pod) => addPod(bundle, client, pod, stopped)));
  } finally {
    client.close();
  }
}

async function addPods(bundle: Bundle, client: KubeClient, namespace: string, signal: AbortSignal): Promise<readonly RawObject[]> {
  const pods = await listAll(client, `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`, { labelSelector }, signal);
  bundle.addObjects('cluster/pods.json', pods);
  if (pods.length <= limits.bundlePods) return pods;
  bundle.recordFailure("Herald's pods", new Error(`logs and metrics are those of the first ${limits.bundlePods} of ${pods.length}`));
  return pods.slice(0, limits.bundlePods);
}

async function addPod(bundle: Bundle, client: KubeClient, pod: RawObject, stopped: AbortSignal): Promise<void> {
  const { name, namespace = '' } = pod.metadata;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
  const ask = async (target: string, query = {}): Promise<string> => {
    const { body } = await client.stream(target, query, withTimeout(stopped));
    return readText(body, limits.bundleFileBytes);
  };
  for (const { container, hasEnded } of containersOf(pod)) {
    const query = { container, tailLines: limits.bundleLogLines, limitBytes: limits.bundleLogBytes, timestamps: true };
    const file = `cluster/${name}/${container}`;
    await bundle.collect(`log of ${name}`, async () => bundle.addText(`${file}.log`, await ask(`${path}/log`, query)));
    if (!hasEnded) continue;
    await bundle.collect(`log of ${name} before it was restarted`, async () =>
      bundle.addText(`${file}.previous.log`, await ask(`${path}/log`, { ...query, previous: true })),
    );
  }
  const port = metricsPortOf(pod);
  if (port === undefined) return;
  await bundle.collect(`metrics of ${name}`, async () =>
    bundle.addText(`cluster/${name}/metrics.txt`, await ask(`${path}:${port}/proxy/metrics`)),
  );
}

function containersOf(pod: RawObject): { readonly container: string; readonly hasEnded: boolean }[] {
  const status = isRecord(pod['status']) ? pod['status'] : {};
  return containersIn(pod).flatMap(({ name }) => {
    if (typeof name !== 'string') return [];
    const restarts = recordsOf(status['containerStatuses']).find((one) => one['name'] === name)?.['restartCount'];
    return [{ container: name, hasEnded: typeof restarts === 'number' && restarts > 0 }];
  });
}

/** Adds Events that Herald has written, Events about its objects, and Events of its namespace. */
async function addEvents(bundle: Bundle, client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const events: RawObject[] = [];
  for await (const { items } of listPages(client, '/apis/events.k8s.io/v1/events', {}, signal)) {
    events.push(...items.filter((event) => isOfHerald(event, namespace)));
    if (events.length >= limits.bundleEvents) break;
  }
  bundle.addObjects('cluster/events.json', events.slice(0, limits.bundleEvents));
}

function isOfHerald({ reportingController, regarding, metadata }: RawObject, namespace: string): boolean {
  const about = isRecord(regarding) ? regarding : {};
  const isOurs = (text: unknown): boolean => typeof text === 'string' && text.startsWith('herald.dev/');
  return isOurs(reportingController) || isOurs(about['apiVersion']) || metadata.namespace === namespace;
}

/** Reads a response as text, up to `maximum` octets. Rejects with the reason of the signal. */
async function readText(chunks: AsyncIterable<Uint8Array>, maximum: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length >= maximum) break;
  }
  return Buffer.concat(parts).subarray(0, maximum).toString('utf8');
}

/** Limits one request, so that it cannot delay the others. */
function withTimeout(stopped: AbortSignal): AbortSignal {
  return AbortSignal.any([stopped, AbortSignal.timeout(limits.bundleAnswerMilliseconds)]);
}
