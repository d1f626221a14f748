import { isRecord } from '../../../lang/is-record.ts';
import { KubeClient } from '../../../kube/client/client.ts';
import { KubeError, undefinedOn } from '../../../kube/error.ts';
import { listAll } from '../../../kube/reflector/list-pages.ts';
import { excludedInterfacesName, type RawInput } from '../../../model/metallb/import.ts';
import { watchedKinds } from '../../../model/metallb/kinds.ts';
import { connectAsCaller } from '../../storage/caller-connection.ts';
import type { CommandContext } from '../../context/command-context.ts';
import type { CallerOptions } from '../../options/shared-options.ts';

interface ClusterObjects {
  readonly inputs: readonly RawInput[];
  /** Names of Secrets that the caller may not read. */
  readonly forbidden: ReadonlySet<string>;
}

/**
 * Reads MetalLB's objects and ConfigMaps in its namespace, the Secrets that its peers name, all Nodes if the caller may list them, and the Services of all
 * namespaces. A kind whose CRD is not installed has no objects. Throws KubeError.
 */
export async function readMetalLBObjects(context: CommandContext, options: CallerOptions, namespace: string): Promise<ClusterObjects> {
  const { clock, stopped } = context;
  const client = new KubeClient(await connectAsCaller(context, options), { clock });
  const list = async (apiVersion: string, kind: string, path: string): Promise<RawInput[]> =>
    (await listAll(client, path, {}, stopped)).map((raw) => ({ raw: { ...raw, apiVersion, kind } }));
  const within = `namespaces/${encodeURIComponent(namespace)}`;
  try {
    const objects: RawInput[] = [];
    for (const { kind, apiVersion, plural } of watchedKinds)
      objects.push(...((await undefinedOn(list(apiVersion, kind, `/apis/${apiVersion}/${within}/${plural}`), 'notFound')) ?? []));
    if (objects.length === 0) return { inputs: [], forbidden: new Set() };
    for (const name of ['bgpextras', excludedInterfacesName]) {
      const found = await undefinedOn(client.get(`/api/v1/${within}/configmaps/${name}`), 'notFound');
      if (found !== undefined) objects.push({ raw: { ...(found as object), apiVersion: 'v1', kind: 'ConfigMap' } });
    }
    const forbidden = new Set<string>();
    for (const name of secretNames(objects)) {
      const answer = client.get(`/api/v1/${within}/secrets/${encodeURIComponent(name)}`).catch((error: unknown) => {
        if (!(error instanceof KubeError) || error.code !== 'forbidden') throw error;
        forbidden.add(name);
        return undefined;
      });
      const secret = await undefinedOn(answer, 'notFound');
      if (secret !== undefined) objects.push({ raw: { ...(secret as object), apiVersion: 'v1', kind: 'Secret' } });
    }
    const nodes = (await undefinedOn(list('v1', 'Node', '/api/v1/nodes'), 'forbidden')) ?? [];
    return { inputs: [...objects, ...nodes, ...(await list('v1', 'Service', '/api/v1/services'))], forbidden };
  } finally {
    client.close();
  }
}

/** Returns the names of the Secrets that BGPPeers name. */
function secretNames(objects: readonly RawInput[]): Set<string> {
  const names = objects.map(({ raw }) => {
    const spec = isRecord(raw) && raw['kind'] === 'BGPPeer' && isRecord(raw['spec']) ? raw['spec'] : {};
    const reference = spec['passwordSecret'];
    return isRecord(reference) ? reference['name'] : undefined;
  });
  return new Set(names.filter((name): name is string => typeof name === 'string' && name !== ''));
}
