import type { NodeState } from '../../model/objects/node-state.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/** Counts the reports of the node. */
export function countedReports(write: (state: NodeState) => Promise<void>, metrics: Metrics): (state: NodeState) => Promise<void> {
  return async (state) => {
    let result = 'failed';
    try {
      await write(state);
      result = 'done';
    } finally {
      metrics.add('herald_node_report_writes_total', { result });
    }
  };
}
