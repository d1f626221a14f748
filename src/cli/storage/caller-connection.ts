import { stat } from 'node:fs/promises';
import { atServer, type Connection } from '../../kube/client/connection.ts';
import { InCluster, inClusterServer } from '../../kube/client/in-cluster.ts';
import { contextIn, readKubeconfig } from '../../kube/client/kubeconfig.ts';
import { defined } from '../../lang/defined.ts';
import { KubeError } from '../../kube/error.ts';
import { namedService, type NamespaceOption } from '../context/object-words.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { UsageError, type CommandContext } from '../context/command-context.ts';
import type { CallerOptions } from '../options/shared-options.ts';

/**
 * Finds the cluster and the credentials of the user as kubectl does: --kubeconfig, $KUBECONFIG, ~/.kube/config, else the service account of
 * the pod. --apiserver replaces the address only.
 */
export async function connectAsCaller(context: CommandContext, options: CallerOptions): Promise<Connection> {
  return asAsked(await findCluster(context, options), options);
}

async function findCluster({ clock, variables }: CommandContext, options: CallerOptions): Promise<Connection> {
  const files = await kubeconfigs(variables, options);
  if (files.length === 0) {
    const server = options.apiserver ?? inClusterServer(variables);
    if (server !== undefined && options.context === undefined && inClusterServer(variables) !== undefined)
      return new InCluster(server, { clock });
    throw new UsageError(
      'no cluster was found: there is no $KUBECONFIG, no ~/.kube/config, and this is not a pod. Use --kubeconfig FILE, or --source DIR for a directory of manifests',
    );
  }
  return connectByKubeconfig(files, options);
}

/**
 * Returns the Service that a word and --namespace name. Without a namespace it is in the one of the kubeconfig's context, as for kubectl, and else in
 * `default`. Throws UsageError when word and option name two namespaces.
 */
export async function callerService(
  { variables }: CommandContext,
  word: string,
  options: CallerOptions & NamespaceOption & { readonly source?: string; readonly file?: unknown; readonly socket?: unknown },
): Promise<ServiceKey> {
  const isElsewhere = [options.source, options.file, options.socket].some((one) => one !== undefined);
  if (options.namespace !== undefined || word.includes('/') || isElsewhere) return namedService(word, options);
  const found = await callerContext(variables, options);
  return namedService(word, { ...options, ...defined({ namespace: found?.namespace }) });
}

/**
 * Returns the context of the kubeconfig that the caller uses. Undefined: there is none, or the file cannot be read, which is reported when it is
 * needed.
 */
export async function callerContext(
  variables: CommandContext['variables'],
  options: CallerOptions,
): Promise<{ readonly name: string; readonly namespace?: string } | undefined> {
  return contextIn(await kubeconfigs(variables, options), options.context).catch(() => undefined);
}

/** Adds what --token, --as, --as-group and --request-timeout ask for, with the meaning that they have for kubectl. */
function asAsked(connection: Connection, { as, asGroup, token, requestTimeout }: CallerOptions): Connection {
  const { server, whenUnreachable } = connection;
  const headers = { ...defined({ 'Impersonate-User': as, 'Impersonate-Group': asGroup }) };
  if (asGroup !== undefined && as === undefined) throw new UsageError('--as-group needs --as: groups are impersonated with a user', 64);
  return {
    server,
    ...defined({ whenUnreachable, requestMilliseconds: requestTimeout === undefined ? undefined : requestTimeout * 1000 }),
    credentials: async () => {
      const { cert, key, passphrase, authorization, ...trust } = await connection.credentials();
      const own = defined({ cert, key, passphrase, authorization });
      return { ...trust, ...(token === undefined ? own : { authorization: `Bearer ${token}` }), headers };
    },
    expired: () => connection.expired(),
  };
}

/** Connects as kubeconfigs say. `apiserver` replaces the address only. Rejects with UsageError. */
export async function connectByKubeconfig(files: readonly string[], { context, apiserver }: CallerOptions): Promise<Connection> {
  try {
    const connection = await readKubeconfig(files, context);
    return apiserver === undefined ? connection : atServer(connection, apiserver);
  } catch (error) {
    if (error instanceof KubeError) throw new UsageError(`${error.message} (${error.fix})`);
    throw error;
  }
}

/**
 * Returns the files of $KUBECONFIG that exist, as kubectl does. When none exists it returns the first, which the error message then names.
 */
async function kubeconfigs(variables: CommandContext['variables'], { kubeconfig }: CallerOptions): Promise<readonly string[]> {
  if (kubeconfig !== undefined) return [kubeconfig];
  const { KUBECONFIG: listed = '', HOME: home = '' } = variables;
  const named = listed.split(':').filter((file) => file !== '');
  if (named.length > 0) {
    const there = await present(named);
    return there.length > 0 ? there : named.slice(0, 1);
  }
  return home === '' ? [] : present([`${home}/.kube/config`]);
}

async function present(files: readonly string[]): Promise<string[]> {
  const found = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  return files.filter((_, index) => found[index] !== undefined);
}
