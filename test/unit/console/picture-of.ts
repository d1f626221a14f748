import { judgeService } from '../../../src/controller/services/service-conditions.ts';
import { overviewOf } from '../../../src/explain/overview/overview.ts';
import { reason } from '../../../src/model/reasons.ts';
import type { Picture, ServiceState } from '../../../src/console/picture.ts';
import { assignedAddresses } from '../../../src/model/objects/service.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { cluster, type ClusterLiteral } from '../decisions/fixtures.ts';

/** A picture of a cluster, judged by the controller's function. */
export function pictureOf(literal: ClusterLiteral, now = 0): Picture {
  const snapshot = cluster(literal);
  const services = statesOf(snapshot, now);
  const conditions = new Map([...services].map(([key, state]) => [key, state.conditions]));
  return {
    from: 'a test',
    kind: 'directory',
    snapshot,
    live: new Map(),
    now,
    notes: [],
    services,
    released: [],
    overview: overviewOf({ snapshot, conditions, objects: [], now }),
    problems: [],
  };
}

function statesOf(snapshot: Snapshot, now: number): ReadonlyMap<ServiceKey, ServiceState> {
  const balanced = [...snapshot.services].filter(([, { type }]) => type === 'LoadBalancer');
  return new Map(
    balanced.map(([key, service]) => {
      const unmet = assignedAddresses(service).length === 0 ? reason('NoAddress', undefined) : undefined;
      const { conditions, verdict } = judgeService(snapshot, service, { reason: unmet, details: [] }, now);
      if (verdict?.code === undefined) return [key, { conditions }];
      const { code, line, outcome } = verdict;
      return [key, { conditions, problem: { code, line, outcome } }];
    }),
  );
}
