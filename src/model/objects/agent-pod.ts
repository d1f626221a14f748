/** The Pod of an agent, as its kubelet reports it. */
export interface AgentPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The node on which it runs. */
  readonly node: string;
  /** When its container was started, RFC 3339. Absent: the container does not run. */
  readonly runsSince?: string;
}

/** Names one Pod. A later Pod may have the name, but not the uid. */
export type AgentPodName = Pick<AgentPod, 'namespace' | 'name' | 'uid'>;

/** Selects the Pods of agents. Pods without these labels cannot show that their agents live. */
export const agentPodSelector = 'app.kubernetes.io/name=herald,app.kubernetes.io/component=agent';
