import { KubeClient } from '../../../kube/client/client.ts';
import { isRecord } from '../../../lang/is-record.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { defaultNamespace } from '../../options/shared-options.ts';
import type { ReadingOptions } from '../../reading/open-reading.ts';
import { connectAsCaller } from '../../storage/caller-connection.ts';

/**
 * True when the caller may have agents check a Service: of a cluster with the rights of the Role herald-check, as the API server says, and of a
 * directory by the sockets of this host. Manifests have no agents.
 */
export async function mayCheck(context: CommandContext, options: ReadingOptions): Promise<boolean> {
  if (options.file !== undefined || options.ask === false) return false;
  if (options.source !== undefined || options.socket !== undefined) return true;
  const client = new KubeClient(await connectAsCaller(context, options), { clock: context.clock });
  const namespace = options.heraldNamespace ?? defaultNamespace;
  try {
    const [list, exec] = await Promise.all([
      isAllowed(client, { namespace, verb: 'list', resource: 'pods' }, context.stopped),
      isAllowed(client, { namespace, verb: 'create', resource: 'pods', subresource: 'exec' }, context.stopped),
    ]);
    return list && exec;
  } finally {
    client.close();
  }
}

/** SelfSubjectAccessReview (authorization.k8s.io/v1). False: the API server refuses to say. */
async function isAllowed(client: KubeClient, resourceAttributes: object, signal: AbortSignal): Promise<boolean> {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const review = await client.write({ method: 'POST', path, body }, signal).catch(() => undefined);
  return isRecord(review) && isRecord(review['status']) && review['status']['allowed'] === true;
}
