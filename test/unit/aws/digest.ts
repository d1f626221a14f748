import type { World } from '../../aws/fake/world.ts';

/** The account without ids and times: two that are made the same way have the same text. */
export function digest(world: World): string {
  const names = new Map<string, string>();
  for (const [arn, { value }] of world.loadBalancers) names.set(arn, value.LoadBalancerName);
  for (const [arn, { value }] of world.targetGroups) names.set(arn, value.TargetGroupName);
  for (const [id, { GroupName }] of world.securityGroups) names.set(id, GroupName);
  const listeners = [...world.listeners].map(([arn, { value, attributes, extraCertificates }]) => ({
    ...value,
    ListenerArn: '',
    attributes: sortedPairs(attributes),
    extraCertificates: [...extraCertificates].toSorted(),
    tags: tagsOf(world, arn),
  }));
  const targetGroups = [...world.targetGroups].map(([arn, { value, attributes, targets }]) => ({
    ...value,
    attributes: sortedPairs(attributes),
    targets: [...targets]
      .filter(([, { drainingSince }]) => drainingSince === undefined)
      .map(([key]) => key)
      .toSorted(),
    tags: tagsOf(world, arn),
  }));
  const loadBalancers = [...world.loadBalancers].map(([arn, { value, attributes }]) => ({
    ...value,
    State: undefined,
    SecurityGroups: (value.SecurityGroups ?? []).toSorted((a, b) => ((names.get(a) ?? a) < (names.get(b) ?? b) ? -1 : 1)),
    attributes: sortedPairs(attributes),
    tags: tagsOf(world, arn),
  }));
  const classic = [...world.classic].map(([name, { value, policies, attributes }]) => ({
    ...value,
    ListenerDescriptions: value.ListenerDescriptions.toSorted((a, b) => a.Listener.LoadBalancerPort - b.Listener.LoadBalancerPort),
    BackendServerDescriptions: value.BackendServerDescriptions.toSorted((a, b) => a.InstancePort - b.InstancePort),
    Instances: value.Instances.map(({ InstanceId }) => InstanceId).toSorted(),
    SecurityGroups: value.SecurityGroups.toSorted((a, b) => ((names.get(a) ?? a) < (names.get(b) ?? b) ? -1 : 1)),
    policies: [...policies.keys()].toSorted(),
    attributes,
    tags: tagsOf(world, `classic/${name}`),
  }));
  const securityGroups = [...world.securityGroups].map(([id, { GroupName, IpPermissions }]) => ({
    GroupName,
    rules: IpPermissions.map((one) => JSON.stringify(one)).toSorted(),
    tags: tagsOf(world, id),
  }));
  const sorted = [loadBalancers, listeners, targetGroups, classic, securityGroups].map((list) =>
    list.map((one) => JSON.stringify(one, undefined, 1)).toSorted(),
  );
  let text = JSON.stringify(sorted);
  for (const [id, name] of names) text = text.replaceAll(id, name);
  return text;
}

function tagsOf(world: World, id: string): [string, string][] {
  return sortedPairs(world.tags.get(id) ?? new Map());
}

function sortedPairs(map: ReadonlyMap<string, string>): [string, string][] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
}
