import { isRecord } from '../../lang/is-record.ts';
import { KubeClient } from '../../kube/client/client.ts';
import { KubeError } from '../../kube/error.ts';
import { listAll } from '../../kube/reflector/list-pages.ts';
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

/** The value that the drain annotation of the Node should have. Undefined: it should be removed. */
export type DrainRequest = Node['drain'];

export const drainRequestText = (request: DrainRequest): string => (request === 'force' ? 'force' : 'true');

interface DrainObservation {
  /** Absent: there is no report. */
  readonly state?: NodeState;
  /** True when the agent knew the request when it wrote the report. */
  readonly acknowledged: boolean;
}

/**
 * Reads and requests the drain of a node, in a cluster or in a directory of manifests. A directory belongs to its author and is never
 * written.
 */
export interface DrainStorage {
  /** Reads everything that decisions need, as it is now. */
  read(): Promise<Reading>;
  /** Returns where the user must write the annotation. Absent: `write` writes it. */
  readonly manifest?: () => Promise<string>;
  /** Requests the drain on the Node. `before` is the agent's report at that moment. */
  write(request: DrainRequest, before: NodeState | undefined): Promise<void>;
  observe(signal: AbortSignal): Promise<DrainObservation>;
  close(): void;
}

/** Uses the credentials of the caller. */
export async function openClusterDrain(context: CommandContext, options: CallerOptions, node: string): Promise<DrainStorage> {
  const client = new KubeClient(await connectAsCaller(context, options), { clock: context.clock });
  let isAcknowledged: (state: NodeState) => boolean = () => true;
  return {
    async read() {
      // The role for drains may not ask agents.
      const reading = await readCluster(context, { ...options, askForDeleted: false });
      reading.close();
      return reading;
    },
    async write(request, before) {
      const version = await patchNode(client, node, request, context.stopped);
      isAcknowledged = ({ consumed, drain }) => BigInt(consumed['Node'] ?? '0') >= version || drain?.since !== before?.drain?.since;
    },
    async observe(signal) {
      const state = await readNodeState(client, node, signal);
      return state === undefined ? { acknowledged: false } : { state, acknowledged: isAcknowledged(state) };
    },
    close: () => client.close(),
  };
}

/** Resolves to the resource version of the patched Node. */
async function patchNode(client: KubeClient, node: string, request: DrainRequest, signal: AbortSignal): Promise<bigint> {
  const value = request === undefined ? null : drainRequestText(request);
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
    throw new UsageError(`nothing was written: ${error.message} (the ClusterRole herald-drain allows it, manifests/base)`);
  }
}

/** Lists by name, which needs only the right to list, like all other reads. */
async function readNodeState(client: KubeClient, node: string, signal: AbortSignal): Promise<NodeState | undefined> {
  const found = await listAll(client, `/apis/${heraldApiVersion}/nodestates`, { fieldSelector: `metadata.name=${node}` }, signal);
  for (const raw of found) {
    const { object } = parseObject({ ...raw, apiVersion: heraldApiVersion, kind: 'NodeState' }, { unknownFields: 'warned of' });
    if (object?.kind === 'NodeState' && object.metadata.name === node) return object;
  }
  return undefined;
}

/** A report counts once the manifest has the requested value. */
export function openDirectoryDrain(context: CommandContext, directory: string, node: string): DrainStorage {
  let asked: { readonly request: DrainRequest } | undefined;
  const read = (): Promise<Reading> => readDirectory(context, directory);
  return {
    read,
    manifest: () => manifestOf(context, directory, node),
    async write(request) {
      asked = { request };
    },
    async observe() {
      const { snapshot } = await read();
      const state = snapshot.nodeStates.get(node);
      const acknowledged = asked === undefined || snapshot.nodes.get(node)?.drain === asked.request;
      return state === undefined ? { acknowledged: false } : { state, acknowledged };
    },
    close: () => undefined,
  };
}

/** Returns a place such as "nodes.yaml:12": the last object of that name, which is the one in force. */
async function manifestOf(context: CommandContext, directory: string, node: string): Promise<string> {
  const { objects } = await readFiles(context, [directory]);
  const found = objects.findLast(({ raw }) => {
    return isRecord(raw) && raw['kind'] === 'Node' && isRecord(raw['metadata']) && raw['metadata']['name'] === node;
  });
  return found?.where ?? directory;
}
