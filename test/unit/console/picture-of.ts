import { judgeOther, judgeService } from '../../../src/controller/services/service-conditions.ts';
import { decideAllocationClaim } from '../../../src/decisions/allocation/claim.ts';
import { overviewOf } from '../../../src/explain/overview/overview.ts';
import { reason } from '../../../src/model/reasons.ts';
import type { Picture } from '../../../src/console/picture.ts';
import { assignedAddresses } from '../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { cluster, type ClusterLiteral } from '../decisions/fixtures.ts';

/** A picture of a cluster, judged by the controller's function. */
export function pictureOf(literal: ClusterLiteral, now = 0): Picture {
  const snapshot = cluster(literal);
  const { services, verdicts } = statesOf(snapshot, now);
  const conditions = new Map([...services].map(([key, state]) => [key, state.conditions]));
  return {
    from: 'a test',
    kind: 'directory',
    snapshot,
    live: new Map(),
    now,
    notes: [],
    services,
    verdicts,
    released: [],
    overview: overviewOf({ snapshot, conditions, objects: [], now }),
    problems: [],
  };
}

function statesOf(snapshot: Snapshot, now: number): Pick<Picture, 'services' | 'verdicts'> {
  const judged = [...snapshot.services]
    .filter(([, { type }]) => type === 'LoadBalancer')
    .map(([key, service]) => {
      if (!decideAllocationClaim(service, snapshot.config).mine) return { key, verdict: judgeOther(snapshot, service, now).judge() };
      const unmet = assignedAddresses(service).length === 0 ? reason('NoAddress', undefined) : undefined;
      const { conditions, judge } = judgeService(snapshot, service, { reason: unmet, details: [] }, now);
      return { key, conditions, verdict: judge() };
    });
  return {
    services: new Map(judged.flatMap(({ key, conditions }) => (conditions === undefined ? [] : [[key, { conditions }]]))),
    verdicts: new Map(judged.map(({ key, verdict }) => [key, verdict])),
  };
}
