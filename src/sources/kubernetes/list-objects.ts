import { isRecord } from '../../lang/is-record.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { KubeError } from '../../kube/error.ts';
import { listAll } from '../../kube/reflector/list-pages.ts';
import { rawKey, type RawObject } from '../../kube/raw-object.ts';
import { parseObject } from '../../model/parse.ts';
import { readingModeOf, readsMetalLB, type ReadingMode } from '../../model/metallb/read.ts';
import type { KindName } from '../../model/store/snapshot.ts';
import type { UnreadableKind } from '../../model/store/unreadable-kind.ts';
import { configKind, kindsOfController, kindsOfMetalLB, serviceKind, type WatchedKind } from './collections/watched-kinds.ts';

interface ListedObjects {
  /** With apiVersion and kind, which list elements lack. */
  readonly objects: readonly RawObject[];
  readonly unread: readonly UnreadableKind[];
}

interface ListOptions {
  /** The namespace to list when the caller may not list all. */
  readonly namespace?: string;
  /** The HeraldConfig in force. It decides which kinds of MetalLB are read. Absent: the one that is listed. */
  readonly config?: unknown;
  readonly signal: AbortSignal;
}

/** Kinds that a caller may be allowed to list in one namespace only. */
const namespaced: ReadonlySet<KindName> = new Set<KindName>(['Service', 'EndpointSlice']);

/**
 * Reads everything that decisions need, once, with one list a kind and no watch. Kinds that the caller may not read are returned by name,
 * and the rest is read. Rejects with KubeError when the API server does not answer.
 */
export async function listObjects(client: Pick<KubeClient, 'get'>, options: ListOptions): Promise<ListedObjects> {
  const configs = await listKind(client, configKind, options);
  const mode = modeIn(options.config === undefined ? configs.objects : [options.config]);
  const metallb = readsMetalLB(mode) ? kindsOfMetalLB(mode.namespace) : [];
  const kinds = [serviceKind, ...kindsOfController, ...metallb];
  const listed = [configs, ...(await Promise.all(kinds.map((kind) => listKind(client, kind, options))))];
  const found = { objects: listed.flatMap(({ objects }) => objects), unread: listed.flatMap(({ unread }) => unread) };
  const secrets = await getSecrets(client, found.objects, options.signal);
  return { objects: [...found.objects, ...secrets.objects], unread: [...found.unread, ...secrets.unread] };
}

/** Returns the mode in which other kinds are read. */
function modeIn(configs: readonly unknown[]): ReadingMode {
  const config = configs.map((raw) => parseObject(raw, { unknownFields: 'warned of' }).object).find((one) => one?.kind === 'HeraldConfig');
  return readingModeOf(config);
}

async function listKind(client: Pick<KubeClient, 'get'>, kind: WatchedKind, options: ListOptions): Promise<ListedObjects> {
  const { path } = kind.resource;
  const { namespace } = options;
  try {
    return { objects: await listAt(client, kind, path, options.signal), unread: [] };
  } catch (error) {
    const unread = unreadBecause(error, kind);
    if (unread === undefined) throw error;
    if (unread.why !== 'forbidden' || namespace === undefined || !namespaced.has(kind.kind)) return { objects: [], unread: [unread] };
    const within = path.replace(/\/([^/]+)$/, `/namespaces/${encodeURIComponent(namespace)}/$1`);
    try {
      return { objects: await listAt(client, kind, within, options.signal), unread: [{ ...unread, readableNamespace: namespace }] };
    } catch (second) {
      if (unreadBecause(second, kind) === undefined) throw second;
      return { objects: [], unread: [unread] };
    }
  }
}

async function listAt(client: Pick<KubeClient, 'get'>, { kind, apiVersion }: WatchedKind, path: string, signal: AbortSignal) {
  const all = await listAll(client, path, {}, signal);
  return [...new Map(all.map((raw) => [rawKey(raw), { ...raw, apiVersion, kind }])).values()];
}

function unreadBecause(error: unknown, { kind, label, resource }: WatchedKind): UnreadableKind | undefined {
  if (!(error instanceof KubeError)) return undefined;
  const why = error.code === 'forbidden' ? 'forbidden' : error.code === 'notFound' ? 'absent' : undefined;
  if (why === undefined) return undefined;
  const [, group = '', plural = ''] = /^\/(?:api|apis\/([^/]+))\/[^/]+\/(?:.*\/)?([^/]+)$/.exec(resource.path) ?? [];
  const name = group === '' ? plural : `${plural}.${group}`;
  return { kind, resource: label === undefined ? name : `${name} (${label})`, why, message: error.message };
}

/** Reads the Secrets that BGPPeers name, one by one, so that no right to list all Secrets is needed. */
async function getSecrets(client: Pick<KubeClient, 'get'>, objects: readonly RawObject[], signal: AbortSignal): Promise<ListedObjects> {
  const names = new Set<string>();
  for (const raw of objects) {
    const { passwordSecret } = isRecord(raw['spec']) ? raw['spec'] : {};
    if (raw['kind'] !== 'BGPPeer' || !isRecord(passwordSecret)) continue;
    const { name, namespace = raw.metadata.namespace } = passwordSecret;
    if (typeof name === 'string' && typeof namespace === 'string') names.add(`${namespace}/${name}`);
  }
  const secrets: RawObject[] = [];
  const unread: UnreadableKind[] = [];
  for (const key of names) {
    const [namespace = '', name = ''] = key.split('/', 2);
    try {
      const answer = await client.get(
        `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`,
        {},
        signal,
      );
      if (isRecord(answer)) secrets.push({ ...(answer as RawObject), apiVersion: 'v1', kind: 'Secret' });
    } catch (error) {
      if (!(error instanceof KubeError) || (error.code !== 'forbidden' && error.code !== 'notFound')) throw error;
      if (error.code === 'forbidden') unread.push({ kind: 'Secret', resource: `secrets ${key}`, why: 'forbidden', message: error.message });
    }
  }
  return { objects: secrets, unread };
}
