import { defined } from '../../lang/defined.ts';
import { isRecord } from '../../lang/is-record.ts';
import { secondsSince } from '../../explain/text/age.ts';
import type { Leadership } from '../../explain/overview/leadership.ts';
import { KubeClient } from '../../kube/client/client.ts';
import { leasesPath } from '../../kube/election/election.ts';
import { readLease } from '../../kube/election/lease-object.ts';
import { limits as kubeLimits } from '../../kube/limits.ts';
import { listAll } from '../../kube/reflector/list-pages.ts';
import { rawKey, type RawObject } from '../../kube/raw-object.ts';
import { agentPodSelector } from '../../model/objects/agent-pod.ts';
import type { Metadata, ServiceKey } from '../../model/objects/metadata.ts';
import { readAgentPod } from '../../model/parse/kubernetes/agent-pod.ts';
import { readPod } from '../../model/parse/kubernetes/pod.ts';
import type { Pod } from '../../model/objects/pod.ts';
import type { Store } from '../../model/store/store.ts';
import type { UnreadableKind } from '../../model/store/unreadable-kind.ts';
import { listObjects } from '../../sources/kubernetes/list-objects.ts';
import { ourConditions } from '../../sources/kubernetes/records/service-status.ts';
import { readObjects, type RawEntry } from '../../sources/read-objects.ts';
import { defaultNamespace } from '../options/shared-options.ts';
import { connectAsCaller } from '../storage/caller-connection.ts';
import type { CommandContext } from '../context/command-context.ts';
import { limits } from '../limits.ts';
import { askInForce, deletedConfig, type AskOptions } from './in-force.ts';
import { recordedConditions, recordedReleases } from './recorded-conditions.ts';
import { ifAvailable } from '../storage/access-refused.ts';
import { leaseName } from '../storage/leader-election.ts';
import type { PastEvent, Reading, RecordedService } from './reading.ts';

/**
 * Reads once, from a cluster, everything that the caller may read. A caller without the right to read all namespaces reads only
 * `namespace`.
 */
export async function readCluster(context: CommandContext, options: AskOptions, namespace?: string): Promise<Reading> {
  const { clock, stopped: signal } = context;
  const client = new KubeClient(await connectAsCaller(context, options), { clock });
  try {
    const within = namespace === undefined ? {} : { namespace };
    const list = async (config?: unknown) => {
      const { objects, unread } = await listObjects(client, { ...within, signal, ...defined({ config }) });
      return { objects, unread, entries: objects.map((raw): RawEntry => ({ raw })) };
    };
    const asWritten = await list();
    const { problems: mistakes } = readObjects(asWritten.entries);
    const written = { problems: mistakes, written: asWritten.entries, hasConfig: hasConfig(asWritten) };
    const inForce = await askInForce(context, options, written);
    const config = inForce?.versions.get('HeraldConfig/default');
    const { objects, unread, entries: listed } = config === undefined ? asWritten : await list(config);
    const isDeleted = inForce?.kept.some((one) => one.isDeleted) === true;
    const entries = isDeleted && config !== undefined ? [...listed, { raw: config }] : listed;
    const { snapshot, problems: found } = readObjects(entries, inForce?.versions);
    const problems = isDeleted ? [deletedConfig, ...found] : found;
    addPlaceholderSecrets(snapshot, unread);
    // The role for drains may not list Pods.
    if (options.askForDeleted !== false) await readAgentPods(client, snapshot, options.heraldNamespace ?? defaultNamespace, signal);
    return {
      kind: 'cluster',
      from: `the cluster at ${client.server}`,
      snapshot,
      problems,
      ...defined({ inForce }),
      unread,
      now: clock.date().getTime(),
      ...(Math.abs(client.clockSkew.seconds) * 1000 > kubeLimits.skewMilliseconds ? { clockSkewSeconds: client.clockSkew.seconds } : {}),
      objects: entries,
      pods: (namespace) => podsIn(client, namespace, signal),
      record: (service) => recordOf(client, objects, service, signal),
      conditions: async () => recordedConditions(objects),
      released: async () => recordedReleases(objects),
      // A cluster has no records beside the Services.
      unreadableRecord: async () => undefined,
      leadership: (namespace) => leadershipIn(client, namespace, clock.date().getTime(), signal),
      update: (object) => void snapshot.upsert(object),
      close: () => client.close(),
    };
  } catch (error) {
    client.close();
    throw error;
  }
}

/** Returns whether HeraldConfig exists. Undefined: the caller may not list it. */
function hasConfig({ objects, unread }: { readonly objects: readonly RawObject[]; readonly unread: readonly UnreadableKind[] }) {
  if (unread.some(({ kind }) => kind === 'HeraldConfig')) return undefined;
  return objects.some(({ kind }) => kind === 'HeraldConfig');
}

/**
 * Adds a placeholder for each Secret that the caller may not read. The Secret may exist, so a session that uses it must not be reported as
 * lacking its password.
 */
export function addPlaceholderSecrets(snapshot: Store, unread: readonly UnreadableKind[]): void {
  for (const { kind, resource } of unread) {
    if (kind !== 'Secret') continue;
    const [namespace = '', name = ''] = resource.replace(/^secrets /, '').split('/', 2);
    const metadata: Metadata = { ...unknown, namespace, name };
    snapshot.upsert({ kind: 'Secret', metadata, type: 'kubernetes.io/basic-auth', password: 'not read' });
  }
}

const unknown = { uid: '', resourceVersion: '', labels: {}, annotations: {}, creationTimestamp: '', deleting: false } as const;

async function podsIn(client: KubeClient, namespace: string, signal: AbortSignal): Promise<readonly Pod[] | undefined> {
  const pods = await ifAvailable(listAll(client, podsPath(namespace), {}, signal, limits.pods));
  return pods?.flatMap((raw) => readPod(raw) ?? []);
}

const podsPath = (namespace: string): string => `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;

/**
 * Reads from the Pods of agents which agents live, if any report names its Pod. For a caller that may not list them, an agent counts as
 * alive while the kubelet of its node is.
 */
async function readAgentPods(client: KubeClient, snapshot: Store, namespace: string, signal: AbortSignal): Promise<void> {
  if ([...snapshot.nodeStates.values()].every(({ pod }) => pod === undefined)) return;
  const pods = await ifAvailable(listAll(client, podsPath(namespace), { labelSelector: agentPodSelector }, signal));
  if (pods === undefined) return;
  for (const raw of pods) snapshot.setAgentPod(rawKey(raw), readAgentPod(raw));
  snapshot.agentPodsRead(namespace);
}

/** Reads the Lease of the controllers. Undefined: the caller may not read it. */
async function leadershipIn(client: KubeClient, namespace: string, now: number, signal: AbortSignal): Promise<Leadership | undefined> {
  const lease = `${namespace}/${leaseName}`;
  const path = leasesPath({ namespace });
  const leases = await ifAvailable(listAll(client, path, { fieldSelector: `metadata.name=${leaseName}` }, signal));
  if (leases === undefined) return undefined;
  const [found] = leases;
  // No controller has ever led.
  if (found === undefined) return { lease, holder: '', durationSeconds: 0 };
  const { holder, durationSeconds, raw } = readLease(found);
  const renewTime = isRecord(raw['spec']) ? raw['spec']['renewTime'] : undefined;
  const seconds = secondsSince(typeof renewTime === 'string' ? renewTime : undefined, now);
  return { lease, holder, durationSeconds, ...defined({ renewedSecondsAgo: seconds }) };
}

async function recordOf(
  client: KubeClient,
  objects: readonly RawObject[],
  service: ServiceKey,
  signal: AbortSignal,
): Promise<RecordedService> {
  const [namespace = '', name = ''] = service.split('/', 2);
  const raw = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.namespace === namespace && metadata.name === name);
  const conditions = raw === undefined ? [] : ourConditions(raw);
  return {
    conditions: conditions.map(({ lastTransitionTime: since, ...condition }) => ({ ...condition, since })),
    events: await eventsOf(client, namespace, name, signal),
  };
}

/** Returns the newest warning Events of a Service. Returns none when the caller may not read Events. */
async function eventsOf(client: KubeClient, namespace: string, name: string, signal: AbortSignal): Promise<PastEvent[]> {
  const path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`;
  const fieldSelector = `regarding.kind=Service,regarding.name=${name},type=Warning`;
  const events = (await ifAvailable(listAll(client, path, { fieldSelector }, signal))) ?? [];
  return events
    .map(pastEvent)
    .toSorted((a, b) => (a.last < b.last ? 1 : -1))
    .slice(0, limits.events);
}

function pastEvent(raw: RawObject): PastEvent {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const series = isRecord(raw['series']) ? raw['series'] : undefined;
  const { count = raw['deprecatedCount'], lastObservedTime } = series ?? {};
  return {
    reason: text(raw['reason']),
    note: text(raw['note']),
    last:
      text(lastObservedTime) || text(raw['deprecatedLastTimestamp']) || text(raw['eventTime']) || text(raw.metadata['creationTimestamp']),
    count: typeof count === 'number' ? count : 1,
  };
}
