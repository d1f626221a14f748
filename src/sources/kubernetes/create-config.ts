import type { Requests } from '../../kube/client/fenced-client.ts';
import { heraldApiVersion, pluralOf } from '../../model/kinds.ts';

/** A version that no object has: the first write of all to an etcd makes the second one. */
const noVersion = '1';

/**
 * Makes HeraldConfig/default from a manifest, if there is none: of a version that no object has, server-side apply makes an object, and refuses
 * to change one (`conflict`). Unlike a POST it leaves the fields to whom they will belong: the next `helm upgrade` applies them under the same
 * name, and would refuse to change what another manager has written. Also unlike a POST it is a right to this one name.
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
