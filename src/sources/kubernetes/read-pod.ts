import { undefinedOn } from '../../kube/error.ts';
import type { Requests } from '../../kube/client/fenced-client.ts';
import type { Pod } from '../../model/objects/pod.ts';
import { readPod } from '../../model/parse/kubernetes/pod.ts';

/** Reads one Pod. Resolves to undefined when it does not exist. Rejects with KubeError when that is unknown. */
export async function getPod(client: Requests, namespace: string, name: string): Promise<Pod | undefined> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
  return readPod(await undefinedOn(client.get(path), 'notFound'));
}
