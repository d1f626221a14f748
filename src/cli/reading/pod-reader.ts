import { KubeError } from '../../kube/error.ts';
import type { Pod } from '../../model/objects/pod.ts';
import { limits } from '../limits.ts';
import type { Reading } from './reading.ts';

/** Returns a reader of single Pods, which lists each namespace once. Undefined where there are no Pods: outside a cluster. */
export function podReaderOf(
  reading: Pick<Reading, 'kind' | 'pods'>,
): ((namespace: string, name: string) => Promise<Pod | undefined>) | undefined {
  if (reading.kind !== 'cluster') return undefined;
  const lists = new Map<string, ReturnType<Reading['pods']>>();
  return async (namespace, name) => {
    const list = lists.get(namespace) ?? reading.pods(namespace);
    lists.set(namespace, list);
    const pods = await list;
    if (pods === undefined) throw new KubeError('forbidden', `Pods of namespace ${namespace} may not be listed`);
    const pod = pods.find((one) => one.name === name);
    if (pod === undefined && pods.length >= limits.pods)
      throw new KubeError('refused', `namespace ${namespace} has more Pods than are read`);
    return pod;
  };
}
