import type { AgentPod } from '../objects/agent-pod.ts';
import type { Node } from '../objects/cluster.ts';
import type { NodeState } from '../objects/node-state.ts';
import { parseTime } from '../time.ts';

/**
 * Judges by the kubelets whether the writers of reports live. A report that names the Pod of its agent is not written again while nothing
 * changes, so its age says nothing.
 */
export class AgentLives {
  readonly #pods = new Map<string, AgentPod>();
  /** Namespaces whose Pods have all been read. */
  readonly #read = new Set<string>();
  /** Nodes whose agents have ended, as this host shows. */
  #ended: ReadonlySet<string> = new Set();

  /** Returns the node that the Pod is about, and was about before. */
  set(key: string, pod: AgentPod | undefined): Set<string> {
    const nodes = [this.#pods.get(key)?.node, pod?.node].filter((node) => node !== undefined);
    if (pod === undefined) this.#pods.delete(key);
    else this.#pods.set(key, pod);
    return new Set(nodes);
  }

  /** Replaces the nodes whose agents have certainly ended. Returns those for which that changed. */
  setEnded(nodes: ReadonlySet<string>): Set<string> {
    const changed = this.#ended.symmetricDifference(nodes);
    this.#ended = nodes;
    return changed;
  }

  /** From now on a Pod of the namespace that is not known does not exist. */
  setRead(namespace: string): void {
    this.#read.add(namespace);
  }

  /**
   * Returns whether the agent that wrote the report lives. Undefined: the age of the report tells, because no kubelet does. The kubelet of
   * a node that the control plane has lost reports nothing; its agent, if it lives, writes at intervals until it is back.
   */
  judge({ metadata, pod, updated }: NodeState, node: Node | undefined): boolean | undefined {
    if (this.#ended.has(metadata.name)) return false;
    if (pod === undefined || node === undefined || node.kubeletSilent === true) return undefined;
    if (!this.#read.has(pod.namespace)) return true;
    const found = this.#pods.get(`${pod.namespace}/${pod.name}`);
    if (found?.uid !== pod.uid || found.runsSince === undefined) return false;
    // The container was started again, and its agent has not reported yet. Both times are of the clock of the node, one in whole seconds.
    return (parseTime(found.runsSince) ?? 0) <= (parseTime(updated) ?? 0);
  }
}
