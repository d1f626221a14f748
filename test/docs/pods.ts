import type { KubernetesCluster } from '../conformance/cluster.ts';

/** The part of a pod that a kubelet needs. */
export interface Pod {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly generateName?: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly affinity?: object;
    readonly serviceAccountName?: string;
    readonly containers: readonly { readonly args?: readonly string[] }[];
  };
}

/** Returns all pods, or none while the API server does not answer. */
export async function podsIn(cluster: KubernetesCluster): Promise<readonly Pod[]> {
  const answer = await cluster.attempt({ path: '/api/v1/pods' }).catch(() => undefined);
  return (answer?.body as { readonly items?: readonly Pod[] } | undefined)?.items ?? [];
}
