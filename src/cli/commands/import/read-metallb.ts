import { KubeClient } from '../../../kube/client/client.ts';
import { KubeError } from '../../../kube/error.ts';
import { listPages } from '../../../kube/reflector/list-pages.ts';
import type { RawInput } from '../../../model/metallb/import.ts';
import { watchedKinds } from '../../../model/metallb/kinds.ts';
import { connectAsCaller } from '../../storage/caller-connection.ts';
import type { CommandContext } from '../../context/command-context.ts';
import type { CallerOptions } from '../../options/shared-options.ts';

/**
 * Reads MetalLB's objects in its namespace, and the Services of all namespaces. A kind whose CRD is not installed has no objects. Throws
 * KubeError.
 */
export async function readMetalLBObjects(context: CommandContext, options: CallerOptions, namespace: string): Promise<RawInput[]> {
  const { clock, stopped } = context;
  const client = new KubeClient(await connectAsCaller(context, options), { clock });
  const list = async (apiVersion: string, kind: string, path: string): Promise<RawInput[]> => {
    const found: RawInput[] = [];
    for await (const { items } of listPages(client, path, {}, stopped))
      found.push(...items.map((raw) => ({ raw: { ...raw, apiVersion, kind } })));
    return found;
  };
  const within = `namespaces/${encodeURIComponent(namespace)}`;
  try {
    const objects: RawInput[] = [];
    for (const { kind, apiVersion, plural } of watchedKinds)
      objects.push(...(await list(apiVersion, kind, `/apis/${apiVersion}/${within}/${plural}`).catch(noneIfAbsent)));
    if (objects.length === 0) return [];
    const extras = await client.get(`/api/v1/${within}/configmaps/bgpextras`).catch(noneIfAbsent);
    if (!Array.isArray(extras)) objects.push({ raw: { ...(extras as object), apiVersion: 'v1', kind: 'ConfigMap' } });
    return [...objects, ...(await list('v1', 'Service', '/api/v1/services'))];
  } finally {
    client.close();
  }
}

function noneIfAbsent(error: unknown): [] {
  if (error instanceof KubeError && error.code === 'notFound') return [];
  throw error;
}
