import type { EndpointSlice } from '../../../../src/model/objects/endpoint-slice.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { formatTime } from '../../../../src/model/time.ts';
import { formatAddress } from '../../../../src/net/address.ts';
import type { Surroundings } from '../../model/circumstances.ts';
import type { Observed } from '../../model/observed.ts';
import { tagKeys } from '../../model/tags.ts';
import { registeredTargets } from '../../observe/registered-targets.ts';
import { lastTargetsOfClassic } from '../../plan/classic/instances.ts';
import { lastTargetsOfGroup } from '../../plan/nlb/kept-group.ts';
import type { LastTargets, LastTargetsRule } from '../../plan/steps/last-targets.ts';

/**
 * Decides which targets may stay when no other one is wanted: instances, and addresses that are still those of Pods. Reads Pods only if none of
 * the targets of a group is an endpoint. `own`: the stack's own resources. Rejects with AwsError when a Pod cannot be read.
 */
export async function mayStay(
  own: Observed,
  slices: readonly EndpointSlice[],
  remainingPods: Surroundings['remainingPods'],
): Promise<LastTargetsRule['mayStay']> {
  const endpoints = new Set(slices.flatMap((slice) => slice.endpoints.map(({ address }) => formatAddress(address))));
  const gone = new Set<string>();
  for (const group of own.targetGroups) {
    const addresses = group.targetGroup.TargetType === 'ip' ? registeredTargets(group).map(({ Id }) => Id) : [];
    if (addresses.length === 0 || addresses.some((address) => endpoints.has(address))) continue;
    const [namespace = ''] = (group.tags[tagKeys.service] ?? '').split('/');
    const pods = await remainingPods?.(namespace, addresses);
    for (const address of addresses) if (pods?.has(address) === false) gone.add(address);
  }
  return (id) => !gone.has(id);
}

/** Returns by Service when its last targets leave if it has none any more, RFC 3339. */
export function lastTargetsUntil(own: Observed, rule: LastTargetsRule): ReadonlyMap<ServiceKey, string> {
  const { now } = rule;
  const until = new Map<ServiceKey, string>();
  const note = (service: string | undefined, { since, left, mayStay }: LastTargets, ids: readonly string[]): void => {
    if (service === undefined || since === undefined || left === 0 || !ids.some(mayStay)) return;
    const time = formatTime(since + rule.seconds * 1000);
    if (time > (until.get(service as ServiceKey) ?? '')) until.set(service as ServiceKey, time);
  };
  const input = { lastTargets: rule, now, zoneOf: () => undefined };
  for (const group of own.targetGroups) {
    const last = group.tags[tagKeys.multiCluster] === undefined ? lastTargetsOfGroup({ targets: [] }, group, input) : undefined;
    const ids = registeredTargets(group).map(({ Id }) => Id);
    if (last !== undefined) note(group.tags[tagKeys.service], last, ids);
  }
  for (const classic of own.classic) {
    const ids = classic.loadBalancer.Instances.map(({ InstanceId }) => InstanceId);
    note(classic.tags[tagKeys.stack], lastTargetsOfClassic({ instances: [] }, classic, input), ids);
  }
  return until;
}
