import type { StatusWriter } from '../controller/status-writer.ts';
import type { NodeState } from '../model/node-state.ts';
import type { Source } from '../sources/source.ts';

/** What a process works on, a directory or a cluster: where objects come from, and where what Herald records goes. */
export interface Workplace {
  /** Not started yet. */
  readonly source: Source;
  /** To be called by a controller, once. Rejects with UsageError where another one works here. */
  takeServices(): Promise<{ readonly writer: StatusWriter; readonly release: () => Promise<void> }>;
  /** To be called by the agent of a node, once. Rejects with UsageError where another one works here. */
  takeNode(node: string): Promise<{ readonly writeNodeState: (state: NodeState) => Promise<void>; readonly release: () => Promise<void> }>;
  close(): Promise<void>;
}
