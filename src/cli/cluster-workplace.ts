import { KubeClient } from '../kube/client.ts';
import { atServer, type Connection } from '../kube/connection.ts';
import { KubeError } from '../kube/error.ts';
import { InCluster, inClusterServer } from '../kube/in-cluster.ts';
import { readKubeconfig } from '../kube/kubeconfig.ts';
import { KubernetesSource } from '../sources/kubernetes/kubernetes-source.ts';
import { KubernetesRecords } from '../sources/kubernetes/records.ts';
import type { Log } from '../system/log.ts';
import { UsageError, type Environment } from './environment.ts';
import type { ClusterOptions } from './options.ts';
import type { Workplace } from './workplace.ts';

/** A cluster, by its API server. `node`: whose agent reads; undefined: the controller. */
export async function openCluster(
  environment: Environment,
  options: ClusterOptions & { readonly node?: string },
  log: Log,
): Promise<Workplace> {
  const { clock, random } = environment;
  const client = new KubeClient(await connect(environment, options), { clock });
  const source = new KubernetesSource({ client, clock, random, log }, options.node === undefined ? {} : { node: options.node });
  log.info({ server: client.server }, 'reading the API server');
  const records = new KubernetesRecords({ client, snapshot: source.snapshot, clock, log });
  const release = async (): Promise<void> => undefined;
  return {
    source,
    takeServices: async () => ({ writer: records, release }),
    takeNode: async () => ({ writeNodeState: (state) => records.writeNodeState(state), release }),
    async close() {
      await source.close();
      client.close();
    },
  };
}

/** --apiserver replaces the address only: without a kube-proxy that of a pod's environment leads nowhere until we have run. */
export async function connect({ clock, variables }: Environment, { kubeconfig, apiserver }: ClusterOptions): Promise<Connection> {
  if (kubeconfig !== undefined) {
    const connection = await readKubeconfig(kubeconfig).catch((error: unknown) => {
      if (error instanceof KubeError) throw new UsageError(`${error.message} (${error.fix})`, 1);
      throw error;
    });
    return apiserver === undefined ? connection : atServer(connection, apiserver);
  }
  const server = apiserver ?? inClusterServer(variables);
  if (server !== undefined) return new InCluster(server, { clock });
  throw new UsageError('which objects? this is no pod: say --source DIR for a directory of manifests, or --kubeconfig FILE for a cluster');
}
