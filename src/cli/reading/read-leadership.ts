import { isRecord } from '../../lang/is-record.ts';
import { defined } from '../../lang/defined.ts';
import { secondsSince } from '../../explain/text/age.ts';
import type { Leadership } from '../../explain/overview/leadership.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { listPages } from '../../kube/reflector/list-pages.ts';
import type { RawObject } from '../../kube/raw-object.ts';
import { readLease } from '../../kube/election/lease-object.ts';
import { leaseName } from '../storage/leader-election.ts';
import { isUnavailable } from '../storage/access-refused.ts';

/** Reads the Lease of the controllers. Undefined: the caller may not read it. */
export async function leadershipIn(
  client: Pick<KubeClient, 'get'>,
  namespace: string,
  now: number,
  signal: AbortSignal,
): Promise<Leadership | undefined> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const lease = `${namespace}/${leaseName}`;
  try {
    for await (const { items } of listPages(client, path, { fieldSelector: `metadata.name=${leaseName}` }, signal)) {
      for (const item of items) return leadershipOf(item, lease, now);
    }
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
  // No controller has ever led.
  return { lease, holder: '', durationSeconds: 0 };
}

function leadershipOf(item: RawObject, lease: string, now: number): Leadership {
  const { holder, durationSeconds, raw } = readLease(item);
  const renewTime = isRecord(raw['spec']) ? raw['spec']['renewTime'] : undefined;
  const seconds = secondsSince(typeof renewTime === 'string' ? renewTime : undefined, now);
  return { lease, holder, durationSeconds, ...defined({ renewedSecondsAgo: seconds }) };
}
