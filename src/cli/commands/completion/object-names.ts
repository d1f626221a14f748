import { defined } from '../../../lang/defined.ts';
import { KubeClient } from '../../../kube/client/client.ts';
import { listAll } from '../../../kube/reflector/list-pages.ts';
import { heraldApiVersion } from '../../../model/kinds.ts';
import type { CommandContext } from '../../context/command-context.ts';
import { limits } from '../../limits.ts';
import { readDirectory } from '../../reading/read-directory.ts';
import { readManifestFiles } from '../../reading/read-manifests.ts';
import type { Reading } from '../../reading/reading.ts';
import { connectAsCaller } from '../../storage/caller-connection.ts';
import type { ObjectKind } from './value-kinds.ts';

/**
 * Lists names from the files, directory or cluster that the options of the command line choose. A Service is "namespace/name", or its name
 * alone when --namespace is given.
 */
export async function objectNames(
  context: CommandContext,
  kind: ObjectKind,
  given: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const [source, file, namespace] = ['source', 'file', 'namespace'].map((option) => given.get(option));
  const names = new Set(
    source !== undefined
      ? namesIn(await readDirectory(context, source), kind)
      : file !== undefined
        ? namesIn(await readManifestFiles(context, [file]), kind)
        : await namesInCluster(context, kind, given),
  );
  const all = [...names].toSorted();
  if (kind !== 'service' || namespace === undefined) return all;
  return all.filter((key) => key.startsWith(`${namespace}/`)).map((key) => key.slice(namespace.length + 1));
}

function namesIn({ snapshot: { services, pools, peers, nodes } }: Reading, kind: ObjectKind): Iterable<string> {
  if (kind === 'namespace') return [...services.keys()].map((key) => key.slice(0, key.indexOf('/')));
  return { service: services, pool: pools, peer: peers, node: nodes }[kind].keys();
}

const ofHerald = `/apis/${heraldApiVersion}`;
const paths: Readonly<Record<ObjectKind, string>> = {
  service: '/api/v1/services',
  pool: `${ofHerald}/ipaddresspools`,
  peer: `${ofHerald}/bgppeers`,
  node: '/api/v1/nodes',
  namespace: '/api/v1/namespaces',
};

/** Lists only the kind that is needed, with the caller's rights. */
async function namesInCluster(context: CommandContext, kind: ObjectKind, given: ReadonlyMap<string, string>): Promise<Iterable<string>> {
  const [kubeconfig, named, url, as, token] = ['kubeconfig', 'context', 'apiserver', 'as', 'token'].map((option) => given.get(option));
  const apiserver = url === undefined ? undefined : new URL(url);
  const connection = await connectAsCaller(context, defined({ kubeconfig, context: named, apiserver, as, token }));
  const client = new KubeClient(connection, { clock: context.clock });
  const namespace = given.get('namespace');
  const path = kind === 'service' && namespace !== undefined ? `/api/v1/namespaces/${encodeURIComponent(namespace)}/services` : paths[kind];
  try {
    const objects = await listAll(client, path, {}, context.stopped, limits.completionNames);
    return objects.map(({ metadata: { namespace: of = '', name } }) => (kind === 'service' ? `${of}/${name}` : name));
  } finally {
    client.close();
  }
}
