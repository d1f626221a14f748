import type { KubeConfig } from '@kubernetes/client-node';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { dirname, resolve } from 'node:path';
import { defined } from '../../lang/defined.ts';
import type { Connection, Credentials } from './connection.ts';
import { KubeError } from '../error.ts';

/**
 * Reads one context of a kubeconfig: the current one, unless `context` names another. Supports every authentication that client-node knows:
 * certificates, tokens and files of them, exec plugins, OIDC. Several files count as one, as in $KUBECONFIG; the first with a current
 * context decides. client-node costs some 80 MB, so it is imported only here (docs/adr/0009).
 */
export async function readKubeconfig(files: string | readonly string[], context?: string): Promise<Connection> {
  const [first = '', ...others] = typeof files === 'string' ? [files] : files;
  // Checks for the file before the library is loaded.
  await readText(first);
  const { KubeConfig: Config } = await import('@kubernetes/client-node');
  const load = async (file: string): Promise<KubeConfig> => {
    const text = await readText(file);
    const config = new Config();
    try {
      config.loadFromString(text);
    } catch (error) {
      throw unusable(file, error);
    }
    config.makePathsAbsolute(dirname(resolve(file)));
    return config;
  };
  const loadAll = async (): Promise<KubeConfig> => {
    const config = await load(first);
    for (const file of others) merge(config, await load(file), file);
    if (context !== undefined) choose(config, context, first);
    return config;
  };
  let config = await loadAll();
  /** Credentials that stand in the file itself. The library decodes them, and makes an agent, each time that it is asked. */
  let constant: Credentials | undefined;
  const server = serverOf(config.getCurrentCluster(), first);
  return {
    server,
    credentials: async () => {
      if (constant !== undefined) return constant;
      const asked = config;
      const options: RequestOptions = {};
      try {
        await asked.applyToHTTPSOptions(options);
      } catch (error) {
        throw unusable(first, error);
      }
      const credentials = credentialsIn(options);
      if (asked === config && areConstant(asked)) constant = credentials;
      return credentials;
    },
    expired() {
      // While another program writes the file, the former content is used.
      loadAll().then(
        (read) => void ([config, constant] = [read, undefined]),
        () => undefined,
      );
    },
  };
}

/** Returns a context, as `readKubeconfig` finds it. Undefined: the files have no such context. */
export async function contextIn(
  files: readonly string[],
  context?: string,
): Promise<{ readonly name: string; readonly namespace?: string } | undefined> {
  const { KubeConfig: Config } = await import('@kubernetes/client-node');
  const configs = await Promise.all(
    files.map(async (file) => {
      const config = new Config();
      config.loadFromString(await readText(file));
      return config;
    }),
  );
  const name = context ?? configs.map((config) => config.getCurrentContext()).find((current) => current !== '' && current !== undefined);
  const [found] = configs.flatMap((config) => config.getContexts().filter((one) => one.name === name));
  if (found === undefined) return undefined;
  return { name: found.name, ...(found.namespace === undefined || found.namespace === '' ? {} : { namespace: found.namespace }) };
}

/** False when a program, a provider of tokens or another file has a part of the credentials, which may then change at any time. */
function areConstant(config: KubeConfig): boolean {
  const { certFile, keyFile, exec, authProvider } = config.getCurrentUser() ?? {};
  return [certFile, keyFile, exec, authProvider, config.getCurrentCluster()?.caFile].every((part) => part === undefined || part === null);
}

/** kubectl takes the first of two entries with one name. Here that is an error, because no user means both. */
function merge(config: KubeConfig, other: KubeConfig, file: string): void {
  try {
    config.mergeConfig(other, config.currentContext !== '' && config.currentContext !== undefined);
  } catch (error) {
    throw unusable(file, error);
  }
}

function choose(config: KubeConfig, context: string, file: string): void {
  const known = config.getContexts().map(({ name }) => name);
  if (known.includes(context)) return config.setCurrentContext(context);
  throw new KubeError('credentials', `${file} has no context "${context}"`, { fix: `it has: ${known.join(', ') || 'none'}` });
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw unusable(file, error);
  }
}

function serverOf(cluster: { readonly server: string; readonly proxyUrl?: string } | null, file: string): URL {
  if (cluster === null) throw unusable(file, new Error('it has no current context, or the context has no cluster'));
  if (cluster.proxyUrl !== undefined && cluster.proxyUrl !== '') throw unusable(file, new Error('proxy-url is not supported'));
  if (!URL.canParse(cluster.server)) throw unusable(file, new Error('server is not a URL'));
  return new URL(cluster.server);
}

function credentialsIn({ ca, cert, key, passphrase, servername, rejectUnauthorized, headers, auth }: RequestOptions): Credentials {
  const { Authorization: header } = (headers ?? {}) as Readonly<Record<string, unknown>>;
  const basic = typeof auth === 'string' ? `Basic ${Buffer.from(auth).toString('base64')}` : undefined;
  const authorization = typeof header === 'string' ? header : basic;
  return {
    ...(isPem(ca) ? { ca } : {}),
    ...(isPem(cert) ? { cert } : {}),
    ...(isPem(key) ? { key } : {}),
    ...defined({ passphrase, servername, rejectUnauthorized, authorization }),
  };
}

const isPem = (value: unknown): value is string | Buffer => typeof value === 'string' || Buffer.isBuffer(value);

/**
 * The first line of the library's message names a field; the next ones quote the file, which holds secrets. A cause would quote them too.
 */
function unusable(file: string, error: unknown): KubeError {
  const [said = ''] = String(error instanceof Error ? error.message : error).split('\n', 1);
  return new KubeError('credentials', `${file} cannot be used: ${said}`, {
    fix: 'kubectl --kubeconfig FILE get --raw /version shows whether it works',
  });
}
