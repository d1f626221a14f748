import { isRecord } from '../../lang/is-record.ts';
import { KubeClient } from '../../kube/client/client.ts';
import { KubeError } from '../../kube/error.ts';
import { listPages } from '../../kube/reflector/list-pages.ts';
import { annotations } from '../../model/annotations.ts';
import type { Node } from '../../model/objects/cluster.ts';
import type { NodeState } from '../../model/objects/node-state.ts';
import { heraldApiVersion, parseObject } from '../../model/parse.ts';
import { connectAsCaller } from '../storage/caller-connection.ts';
import { UsageError, type CommandContext } from '../context/command-context.ts';
import type { CallerOptions } from '../options/shared-options.ts';
import { readCluster } from '../reading/read-cluster.ts';
import { readDirectory } from '../reading/read-directory.ts';
import { readFiles } from '../reading/read-manifests.ts';
import type { Reading } from '../reading/reading.ts';

/** What the annotation of the Node is to say; undefined: it is to go. */
export type DrainRequest = Node['drain'];

export const drainRequestText = (wish: DrainRequest): string => (wish === 'force' ? 'force' : 'true');

interface DrainObservation {
  /** Absent: there is no report. */
  readonly state?: NodeState;
  /** Whether the report was written by an agent that knows what is asked. */
  readonly heeded: boolean;
}

/** Where a node is drained: a cluster, or a directory of manifests, which belongs to its author and is never written. */
export interface DrainStorage {
  /** Everything that decisions read, as it is now. */
  read(): Promise<Reading>;
  /** Where the annotation is to be written by hand. Absent: `write` does it. */
  readonly manifest?: () => Promise<string>;
  /** Has the Node say what is asked. `before`: the report of that moment. */
  write(wish: DrainRequest, before: NodeState | undefined): Promise<void>;
  observe(signal: AbortSignal): Promise<DrainObservation>;
  close(): void;
}

/** By the caller's own credentials. */
export async function openClusterDrain(context: CommandContext, options: CallerOptions, node: string): Promise<DrainStorage> {
  const client = new KubeClient(await connectAsCaller(context, options), { clock: context.clock });
  let isHeeded: (state: NodeState) => boolean = () => true;
  return {
    async read() {
      const reading = await readCluster(context, options);
      reading.close();
      return reading;
    },
    async write(wish, before) {
      const version = await patchNode(client, node, wish, context.stopped);
      isHeeded = ({ consumed, drain }) => BigInt(consumed['Node'] ?? '0') >= version || drain?.since !== before?.drain?.since;
    },
    async observe(signal) {
      const state = await readNodeState(client, node, signal);
      return state === undefined ? { heeded: false } : { state, heeded: isHeeded(state) };
    },
    close: () => client.close(),
  };
}

/** Resolves to the version of the Node that has it. */
async function patchNode(client: KubeClient, node: string, wish: DrainRequest, signal: AbortSignal): Promise<bigint> {
  const value = wish === undefined ? null : drainRequestText(wish);
  try {
    const answer = await client.write(
      {
        method: 'PATCH',
        path: `/api/v1/nodes/${encodeURIComponent(node)}`,
        query: { fieldManager: 'herald-drain' },
        contentType: 'application/merge-patch+json',
        body: { metadata: { annotations: { [annotations.nodeDrain]: value } } },
      },
      signal,
    );
    const metadata = isRecord(answer) && isRecord(answer['metadata']) ? answer['metadata'] : {};
    const { resourceVersion } = metadata;
    return typeof resourceVersion === 'string' && /^[0-9]{1,40}$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== 'forbidden') throw error;
    throw new UsageError(`nothing was written: ${error.message} (the ClusterRole herald-drain allows it, manifests/base)`, 1);
  }
}

/** By its name, with the right to list alone, as everything else is read. */
async function readNodeState(client: KubeClient, node: string, signal: AbortSignal): Promise<NodeState | undefined> {
  const path = `/apis/${heraldApiVersion}/nodestates`;
  for await (const { items } of listPages(client, path, { fieldSelector: `metadata.name=${node}` }, signal)) {
    for (const raw of items) {
      const { object } = parseObject({ ...raw, apiVersion: heraldApiVersion, kind: 'NodeState' }, { unknownFields: 'warned of' });
      if (object?.kind === 'NodeState' && object.metadata.name === node) return object;
    }
  }
  return undefined;
}

/** The report counts from when the manifest says what is asked. */
export function openDirectoryDrain(context: CommandContext, directory: string, node: string): DrainStorage {
  let asked: { readonly wish: DrainRequest } | undefined;
  const read = (): Promise<Reading> => readDirectory(context, directory);
  return {
    read,
    manifest: () => manifestOf(context, directory, node),
    async write(wish) {
      asked = { wish };
    },
    async observe() {
      const { snapshot } = await read();
      const state = snapshot.nodeStates.get(node);
      const heeded = asked === undefined || snapshot.nodes.get(node)?.drain === asked.wish;
      return state === undefined ? { heeded: false } : { state, heeded };
    },
    close: () => undefined,
  };
}

/** "nodes.yaml:12", the last of that name, which is the one in force. */
async function manifestOf(context: CommandContext, directory: string, node: string): Promise<string> {
  const { objects } = await readFiles(context, [directory]);
  const found = objects.findLast(({ raw }) => {
    return isRecord(raw) && raw['kind'] === 'Node' && isRecord(raw['metadata']) && raw['metadata']['name'] === node;
  });
  return found?.where ?? directory;
}
