import { KubeError } from '../../../kube/error.ts';
import type { Requests } from '../../../kube/client/fenced-client.ts';

/** A readiness gate of one Pod. A new Pod may have the name, but not the uid. */
export interface PodGate {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The type of the condition. */
  readonly gate: string;
}

/** Sets the condition of a readiness gate to True. A Pod that is gone, or replaced by another of its name, is no error. */
export async function openPodGate(
  client: Requests,
  { namespace, name, uid, gate }: PodGate,
  { reason, message, now }: { readonly reason: string; readonly message: string; readonly now: Date },
): Promise<void> {
  const condition = { type: gate, status: 'True', reason, message, lastTransitionTime: now.toISOString().replace(/\.\d+Z$/, 'Z') };
  try {
    await client.write({
      method: 'PATCH',
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/status`,
      // A strategic merge patch leaves the conditions of others as they are.
      contentType: 'application/strategic-merge-patch+json',
      body: { metadata: { uid }, status: { conditions: [condition] } },
    });
  } catch (error) {
    // The API server answers 422 for another uid: the field is immutable.
    const isOther = error instanceof KubeError && (error.code === 'notFound' || error.code === 'conflict' || error.status === 422);
    if (!isOther) throw error;
  }
}
