import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { serviceKey } from '../../../../src/model/objects/metadata.ts';
import { annotationTable } from '../../annotations/table.ts';
import type { Member } from '../../desire/stack.ts';
import type { DesiredTargetGroup } from '../../model/desired.ts';
import { ownObserved } from '../../model/own-resources.ts';
import { resources, tagKeys } from '../../model/tags.ts';
import { formatRecord, nextRecorded, recordKeyOf } from '../../model/targets/target-record.ts';
import { registeredTargets } from '../../observe/registered-targets.ts';
import type { KeptTargets } from '../../plan/kept-targets.ts';
import type { PlanInput } from '../../plan/steps/input.ts';
import type { TargetRecords } from './target-records.ts';

type Group = Required<Pick<DesiredTargetGroup, 'key' | 'targets' | 'shared'>>;

/**
 * Records the targets that a plan registers in target groups which others use too, before anything is registered: a controller that fails
 * in between finds them. Resolves to the reason why nothing may be done now; undefined when everything is recorded.
 */
export async function recordSharedTargets(
  records: TargetRecords,
  members: readonly Member[],
  planInput: PlanInput,
  kept: KeptTargets,
): Promise<Reason | undefined> {
  const { desired, observed, cluster, stack } = planInput;
  const all = [...(desired?.kind === 'nlb' ? desired.targetGroups : []), ...kept.groups];
  const shared = all.flatMap(({ key, targets, shared }): Group[] => (shared === undefined ? [] : [{ key, targets, shared }]));
  const own = ownObserved(observed, cluster, stack).targetGroups;
  const presentIn = (key: string): ReadonlySet<string> =>
    new Set(
      own
        .filter(({ tags }) => tags[tagKeys.resource] === resources.targetGroup(key))
        .flatMap(registeredTargets)
        .map(({ Id, Port }) => recordKeyOf({ id: Id, port: Port })),
    );
  for (const { service } of members) {
    const name = serviceKey(service.metadata);
    const before = records.of(service);
    const ofService = Map.groupBy(
      shared.filter(({ key }) => key.startsWith(`${name}:`)),
      ({ key }) => key,
    );
    // The groups of a Service with errors may be unknown, and others' groups are not the business of this stack.
    const isKnown = desired !== undefined && !(desired.kind === 'nlb' && desired.untouched.includes(name));
    const next = new Map([...before].filter(([key]) => key.startsWith('arn:') || !isKnown));
    for (const [key, groups] of ofService) {
      const targets = groups.flatMap((group) => group.targets);
      const [{ shared } = { shared: {} }] = groups;
      next.set(key, nextRecorded({ shared, targets }, presentIn(key)));
    }
    if (formatRecord(before) === formatRecord(next)) continue;
    if (!records.canWrite) return reason('AwsTargetsNotRecorded', { key: annotationTable.multiCluster.key });
    if (!(await records.write(name, next)))
      return reason('AwsProvisioning', { waitsFor: `the record of the targets of ${name} to be written` });
  }
  return undefined;
}
