import { KubeClient } from '../../kube/client/client.ts';
import type { ClientObserver, WatchObserver } from '../../kube/client/client-observer.ts';
import type { Connection } from '../../kube/client/connection.ts';
import { EventRecorder } from '../../kube/events/event-recorder.ts';
import { fencedClient, type RequestsAndPages } from '../../kube/client/fenced-client.ts';
import { InCluster, inClusterServer, podNamespace } from '../../kube/client/in-cluster.ts';
import { KubernetesSource, type KubernetesSourceOptions } from '../../sources/kubernetes/kubernetes-source.ts';
import { apiGroups, makeConfig } from '../../sources/kubernetes/create-config.ts';
import { Installation } from '../../sources/kubernetes/installation.ts';
import { getPod } from '../../sources/kubernetes/read-pod.ts';
import { KubernetesStatusWriter } from '../../sources/kubernetes/records/status-writer.ts';
import { openPodGate } from '../../sources/kubernetes/records/pod-gates.ts';
import { KubernetesServiceMetadata } from '../../sources/kubernetes/records/service-metadata.ts';
import { defined } from '../../lang/defined.ts';
import type { AgentPodName } from '../../model/objects/agent-pod.ts';
import type { Log } from '../../system/log.ts';
import type { Candidacy } from '../../kube/election/election.ts';
import { version } from '../../model/objects/version.ts';
import { connectByKubeconfig } from './caller-connection.ts';
import { acquireLease } from './leader-election.ts';
import { UsageError, type CommandContext } from '../context/command-context.ts';
import { defaultNamespace, type ClusterOptions, type ElectionOptions } from '../options/shared-options.ts';
import type { LeaderContext, StorageBackend } from '../context/storage.ts';

type WritersOfLeader = Pick<
  LeaderContext,
  'writer' | 'events' | 'serviceMetadata' | 'readPod' | 'openPodGate' | 'makeConfig' | 'apiGroups'
>;

/** Storage in a cluster, through its API server. `options.node` is the node whose agent reads; undefined for the controller. */
export async function openClusterStorage(
  context: CommandContext,
  options: ClusterOptions & ElectionOptions & KubernetesSourceOptions,
  log: Log,
  observer?: ClientObserver & WatchObserver,
): Promise<StorageBackend> {
  const { clock, random } = context;
  const connection = await connect(context, options);
  const observed = defined({ observer });
  const userAgent = `herald-${options.node === undefined ? 'controller' : 'agent'}/${version}`;
  const client = new KubeClient(connection, { clock, log, userAgent, ...observed });
  const ownNamespace = connection instanceof InCluster ? await podNamespace() : undefined;
  const namespace = options.leaderElectNamespace ?? ownNamespace ?? defaultNamespace;
  const source = new KubernetesSource({ client, clock, random, log, ...observed }, { ...options, agentNamespace: namespace });
  log.info({ server: client.server }, 'reading the API server');
  const recordsBy = (client: RequestsAndPages): KubernetesStatusWriter =>
    new KubernetesStatusWriter({ client, snapshot: source.snapshot, clock, log });
  const reporter = { controller: 'herald.dev/controller', instance: context.hostname };
  const writersBy = (client: RequestsAndPages, writer = recordsBy(client)): WritersOfLeader => ({
    writer,
    serviceMetadata: (finalizer) => new KubernetesServiceMetadata({ client, snapshot: source.snapshot }, finalizer),
    readPod: (namespace, name) => getPod(client, namespace, name),
    openPodGate: (pod, because) => openPodGate(client, pod, { ...because, now: clock.date() }),
    makeConfig: (manifest, signal) => makeConfig(client, manifest, signal),
    apiGroups: (signal) => apiGroups(client, signal),
    events: new EventRecorder({ client, isBusy: () => writer.isBusy, clock, random, log }, reporter),
  });
  let campaign: Candidacy | undefined;
  const release = async (): Promise<void> => undefined;
  return {
    source,
    clockSkew: client.clockSkew,
    refused: () => campaign?.refusal(),
    async acquireLeadership() {
      if (options.leaderElect === 'false') return { ...writersBy(client), release };
      const election = await acquireLease(context, { connection, userAgent, clock, log }, namespace, (candidacy) => (campaign = candidacy));
      if (election === undefined) return undefined;
      return {
        ...writersBy(fencedClient(client, election)),
        mayWrite: () => election.mayWrite(),
        leadershipSignal: election.term,
        release: () => election.resign(),
        lost: election.lost,
      };
    },
    async acquireNode() {
      const records = recordsBy(client);
      return {
        writeNodeState: (state) => records.writeNodeState(state),
        release,
        ...defined({ pod: podIn(context.variables, namespace) }),
      };
    },
    followInstallation: (daemonSet) => new Installation(daemonSet, { client, clock, random, log, ...observed }),
    async close() {
      await source.close();
      client.close();
    },
  };
}

/**
 * Connects to the API server. --apiserver replaces the address only: without a kube-proxy the address in the environment of a pod is
 * reachable only after Herald has programmed it.
 */
export async function connect({ clock, variables }: CommandContext, { kubeconfig, apiserver }: ClusterOptions): Promise<Connection> {
  if (kubeconfig !== undefined) return connectByKubeconfig([kubeconfig], defined({ apiserver }));
  const server = apiserver ?? inClusterServer(variables);
  if (server !== undefined) return new InCluster(server, { clock });
  throw new UsageError(
    'no cluster or directory was given, and this is not a pod. Use --source DIR for a directory of manifests, or --kubeconfig FILE for a cluster',
  );
}

/** Returns the Pod of this process, whose name and UID the manifests put into its environment. Undefined: it runs in none, or does not know. */
function podIn({ POD_NAME: name, POD_UID: uid }: CommandContext['variables'], namespace: string): AgentPodName | undefined {
  return name === undefined || uid === undefined ? undefined : { namespace, name, uid };
}
