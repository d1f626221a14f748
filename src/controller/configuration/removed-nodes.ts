import { currentReport, type NodeState } from '../../model/objects/node-state.ts';
import type { Source } from '../../sources/source.ts';
import { limits } from '../limits.ts';
import type { StatusWriter } from '../status-writer.ts';
import type { Surroundings } from '../../system/random.ts';

interface RemovedNodesComponents extends Surroundings {
  readonly source: Pick<Source, 'snapshot' | 'problems'>;
  readonly writer: Pick<StatusWriter, 'removeNodeState'>;
}

/**
 * Deletes the NodeStates of Nodes that were removed. Kubernetes does so by itself where the Node owns its NodeState, so these are the ones
 * without an owner: the cluster lets no agent set one, or the agent reported before its Node existed.
 */
export class RemovedNodes {
  readonly #components: RemovedNodesComponents;
  /** Since when each NodeState has no Node, by the monotonic clock. A new leader counts anew. */
  readonly #since = new Map<string, number>();
  #isRemoving = false;

  constructor(components: RemovedNodesComponents) {
    this.#components = components;
  }

  /** Deletes what is due. Nothing while Nodes cannot be read, or while there is none: that does not show which were removed. */
  check(): void {
    const { source, clock, writer } = this.#components;
    const { nodes, nodeStates } = source.snapshot;
    const strays = nodes.size === 0 ? [] : [...nodeStates.values()].filter(({ metadata }) => !nodes.has(metadata.name));
    if (strays.length === 0 || writer.removeNodeState === undefined || this.#mayMissNodes()) return this.#since.clear();
    const names = new Set(strays.map(({ metadata }) => metadata.name));
    for (const name of this.#since.keys()) if (!names.has(name)) this.#since.delete(name);
    for (const name of names) if (!this.#since.has(name)) this.#since.set(name, clock.now());
    const due = strays.filter((state) => this.#isDue(state)).slice(0, limits.nodeStateRemovals);
    if (due.length > 0 && !this.#isRemoving) void this.#remove(due);
  }

  #isDue({ metadata: { name } }: NodeState): boolean {
    const { source, clock } = this.#components;
    const waited = clock.now() - (this.#since.get(name) ?? clock.now());
    const isReporting = currentReport(source.snapshot.nodeStates, name, clock.date().getTime()) !== undefined;
    return waited >= limits.removedNodeMilliseconds && !isReporting;
  }

  /** A problem without an object concerns the API server. A Node that cannot be used is not in the snapshot. */
  #mayMissNodes(): boolean {
    const problems = this.#components.source.problems();
    return problems.some(({ severity, object = 'Node' }) => severity === 'error' && (object === 'Node' || object.startsWith('Node/')));
  }

  async #remove(states: readonly NodeState[]): Promise<void> {
    const { clock, log, writer } = this.#components;
    this.#isRemoving = true;
    for (const { metadata } of states) {
      const { name: node } = metadata;
      // What could not be deleted is tried again after the same time.
      this.#since.set(node, clock.now());
      try {
        await writer.removeNodeState?.(node, metadata);
        log.info({ node }, 'the NodeState of a removed Node was deleted');
      } catch (error) {
        log.warn({ node, error }, 'the NodeState of a removed Node cannot be deleted');
        break;
      }
    }
    this.#isRemoving = false;
  }
}
