import { isRecord } from '../../lang/is-record.ts';
import type { Requests } from '../../kube/client/fenced-client.ts';
import { heraldApiVersion, pluralOf } from '../../model/kinds.ts';

/** A version that no object has: the first write to an etcd already makes the second version. */
const noVersion = '1';

/**
 * Creates HeraldConfig/default from a manifest unless it exists. With a resourceVersion that no object has, server-side apply creates an
 * object and refuses to change one (`conflict`). Unlike a POST it leaves field ownership to the later manager: the next `helm upgrade`
 * applies under the same name and would refuse to change fields of another one. Unlike a POST, RBAC can limit it to this one name.
 */
export async function makeConfig(client: Requests, manifest: { readonly metadata?: object }, signal: AbortSignal): Promise<void> {
  const write = {
    method: 'PATCH',
    path: `/apis/${heraldApiVersion}/${pluralOf('HeraldConfig')}/default`,
    query: { fieldManager: 'helm' },
    contentType: 'application/apply-patch+yaml',
    body: { ...manifest, metadata: { ...manifest.metadata, resourceVersion: noVersion } },
  } as const;
  await client.write(write, signal);
}

/** Returns the names of the API groups that the API server serves, as discovery lists them. Every account may read them. */
export async function apiGroups(client: Requests, signal: AbortSignal): Promise<string[]> {
  const answer = await client.get('/apis', {}, signal);
  const groups = isRecord(answer) && Array.isArray(answer['groups']) ? answer['groups'] : [];
  return groups.flatMap((group: unknown) => (isRecord(group) && typeof group['name'] === 'string' ? [group['name']] : []));
}
