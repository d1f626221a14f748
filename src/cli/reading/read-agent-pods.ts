import type { KubeClient } from '../../kube/client/client.ts';
import { listPages } from '../../kube/reflector/list-pages.ts';
import { rawKey } from '../../kube/raw-object.ts';
import { agentPodSelector } from '../../model/objects/agent-pod.ts';
import { readAgentPod } from '../../model/parse/kubernetes/agent-pod.ts';
import type { Store } from '../../model/store/store.ts';
import { isUnavailable } from '../storage/access-refused.ts';

/**
 * Reads from the Pods of agents which agents live, if any report names its Pod. For a caller that may not list them, an agent counts as
 * alive while the kubelet of its node is.
 */
export async function readAgentPods(
  client: Pick<KubeClient, 'get'>,
  snapshot: Store,
  namespace: string,
  signal: AbortSignal,
): Promise<void> {
  if ([...snapshot.nodeStates.values()].every(({ pod }) => pod === undefined)) return;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  try {
    for await (const { items } of listPages(client, path, { labelSelector: agentPodSelector }, signal))
      for (const raw of items) snapshot.setAgentPod(rawKey(raw), readAgentPod(raw));
    snapshot.agentPodsRead(namespace);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
  }
}
