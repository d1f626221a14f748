import { isRecord } from '../../../lang/is-record.ts';
import { KubeClient } from '../../../kube/client/client.ts';
import { KubeError } from '../../../kube/error.ts';
import { listAll } from '../../../kube/reflector/list-pages.ts';
import { excludedInterfacesName } from '../../../model/metallb/import.ts';
import { reportKinds } from '../../../model/metallb/kinds.ts';
import { connectAsCaller } from '../../storage/caller-connection.ts';
import type { CommandContext } from '../../context/command-context.ts';
import type { CallerOptions } from '../../options/shared-options.ts';
import type { RawDocument } from './sources/embedded.ts';
import type { Sources } from './sources/read-sources.ts';
import { tools } from './tools/all-tools.ts';
import { kubeProxy } from './tools/kube-proxy/kube-proxy.ts';

/** The other programs' API groups. Calico serves its objects in one or in both of its groups: the second is read without the first. */
const groups: readonly (readonly string[])[] = [
  ['metallb.io'],
  ['cilium.io'],
  ['projectcalico.org', 'crd.projectcalico.org'],
  ['purelb.io'],
  ['bgp.purelb.io'],
  ['network.kubesphere.io'],
];

type Client = Pick<KubeClient, 'get'>;

interface Reader {
  readonly list: (apiVersion: string, kind: string, path: string) => Promise<RawDocument[]>;
  /** One object, or none where it does not exist. */
  readonly one: (apiVersion: string, kind: string, path: string) => Promise<RawDocument[]>;
  /** Kinds of objects that the caller may not read. */
  readonly unread: string[];
}

/**
 * Reads what configures other load balancers, with the credentials of the caller: the objects of the API groups that the cluster serves,
 * the ConfigMaps, DaemonSets and static Pods of programs without a group, all Services, Nodes and Namespaces. `unread` has a line for each
 * kind that the caller may not read. Throws KubeError for every other failure.
 */
export async function readCluster(context: CommandContext, options: CallerOptions, metallb = 'metallb-system'): Promise<Sources> {
  const client = new KubeClient(await connectAsCaller(context, options), { clock: context.clock });
  try {
    const reader = readerOf(client, context.stopped);
    const documents = [
      ...(await customObjects(client, reader)),
      ...(await configMaps(reader, metallb)),
      ...(await workloads(reader)),
      ...(await reader.list('v1', 'Service', '/api/v1/services')),
      ...(await reader.list('v1', 'Node', '/api/v1/nodes')),
      ...(await reader.list('v1', 'Namespace', '/api/v1/namespaces')),
    ];
    return { documents, unread: reader.unread };
  } finally {
    client.close();
  }
}

function readerOf(client: Client, stopped: AbortSignal): Reader {
  const unread: string[] = [];
  const readable = async (path: string, read: () => Promise<readonly object[]>): Promise<readonly object[]> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof KubeError) || (error.code !== 'forbidden' && error.code !== 'notFound')) throw error;
      if (error.code === 'forbidden') unread.push(`${path} of the cluster was not read: you may not. Its objects are not in this report`);
      return [];
    }
  };
  const typed = (apiVersion: string, kind: string, objects: readonly object[]): RawDocument[] =>
    objects.map((one) => ({ raw: { ...one, apiVersion, kind } }));
  return {
    unread,
    list: async (apiVersion, kind, path) => typed(apiVersion, kind, await readable(path, () => listAll(client, path, {}, stopped))),
    one: async (apiVersion, kind, path) =>
      typed(apiVersion, kind, await readable(path, async () => [(await client.get(path, {}, stopped)) as object])),
  };
}

/** Asks the cluster for its groups first: for a group that is not installed, the answer to a caller without rights is "forbidden". */
async function customObjects(client: Client, reader: Reader): Promise<RawDocument[]> {
  const served = new Map(recordsIn(await client.get('/apis'), 'groups').map((one) => [one['name'], one]));
  const documents: RawDocument[] = [];
  for (const names of groups) {
    const group = served.get(names.find((name) => served.has(name)));
    if (group === undefined) continue;
    const seen = new Set<string>();
    for (const version of versionsOf(group))
      for (const { kind, name } of await resourcesOf(client, version)) {
        if (seen.has(kind)) continue;
        seen.add(kind);
        documents.push(...(await reader.list(version, kind, `/apis/${version}/${name}`)));
      }
  }
  return documents;
}

/** The versions of a group, the preferred one first. */
function versionsOf(group: Readonly<Record<string, unknown>>): string[] {
  const preferred = isRecord(group['preferredVersion']) ? [group['preferredVersion']] : [];
  return [...new Set([...preferred, ...recordsIn(group, 'versions')].map((one) => String(one['groupVersion'])))];
}

/** The resources of a version that configure one of the programs. */
async function resourcesOf(client: Client, version: string): Promise<readonly { readonly kind: string; readonly name: string }[]> {
  const answer = await client.get(`/apis/${version}`);
  return recordsIn(answer, 'resources')
    .map(({ kind, name }) => ({ kind: String(kind), name: String(name) }))
    .filter(({ kind, name }) => !name.includes('/') && !reportKinds.includes(kind) && isKnown({ apiVersion: version, kind }));
}

/** Whoever brings addresses from a cluster does not ask to replace kube-proxy, so its DaemonSet is not read. */
const isKnown = (raw: unknown): boolean =>
  isRecord(raw) && tools.some((tool) => tool !== kubeProxy && tool.recognises({ raw, object: '' }));

async function configMaps({ one }: Reader, metallb: string): Promise<RawDocument[]> {
  const named = [
    ...['config', 'bgpextras', excludedInterfacesName].map((name) => [metallb, name] as const),
    ['kube-system', 'kubevip'] as const,
  ];
  const documents: RawDocument[] = [];
  for (const [namespace, name] of named)
    documents.push(...(await one('v1', 'ConfigMap', `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/${name}`)));
  return documents;
}

/** kube-vip, kube-router and ServiceLB have their configuration in DaemonSets, or kube-vip in a static Pod of each control plane node. */
async function workloads({ list }: Reader): Promise<RawDocument[]> {
  const daemonSets = await list('apps/v1', 'DaemonSet', '/apis/apps/v1/daemonsets');
  const pods = await list('v1', 'Pod', '/api/v1/namespaces/kube-system/pods');
  const first = pods.find(({ raw }) => isStatic(raw) && isKnown(raw));
  return [...daemonSets.filter(({ raw }) => isKnown(raw)), ...(first === undefined ? [] : [first])];
}

/** The kubelet reports a static Pod with the Node as its owner. */
function isStatic(raw: unknown): boolean {
  const metadata = isRecord(raw) ? raw['metadata'] : undefined;
  return recordsIn(metadata, 'ownerReferences').some(({ kind }) => kind === 'Node');
}

function recordsIn(value: unknown, field: string): Readonly<Record<string, unknown>>[] {
  const list = isRecord(value) ? value[field] : undefined;
  return Array.isArray(list) ? list.filter(isRecord) : [];
}
