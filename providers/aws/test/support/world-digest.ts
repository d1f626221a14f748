import type { FakeClassic, World } from '../moto/fake/world.ts';

/** The policy that AWS gives a listener by default, under the name that Herald uses when a Service asks for it. */
const awsOwnPolicy = 'herald-ssl-ELBSecurityPolicy-2016-08';

/** An unused policy has no effect, and Herald does not delete it. */
function isAttached({ ListenerDescriptions, BackendServerDescriptions }: FakeClassic['value'], name: string): boolean {
  return [...ListenerDescriptions, ...BackendServerDescriptions].some(({ PolicyNames }) => PolicyNames.includes(name));
}

/** Returns the account as text, without ids and times. Accounts with equal resources have equal texts. */
export function worldDigest(world: World): string {
  const names = new Map<string, string>();
  for (const [arn, { value }] of world.loadBalancers) names.set(arn, value.LoadBalancerName);
  for (const [arn, { value }] of world.targetGroups) names.set(arn, value.TargetGroupName);
  for (const [id, { GroupName }] of world.securityGroups) names.set(id, GroupName);
  const listeners = [...world.listeners].map(([arn, { value, attributes, extraCertificates }]) => ({
    ...value,
    ListenerArn: '',
    // AWS' default value equals a missing one.
    AlpnPolicy: value.AlpnPolicy?.[0] === 'None' ? undefined : value.AlpnPolicy,
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
  const loadBalancers = [...world.loadBalancers].map(([arn, { value, attributes, capacity }]) => ({
    ...value,
    capacityUnits: capacity.units,
    State: undefined,
    AvailabilityZones: value.AvailabilityZones.toSorted((a, b) => (a.ZoneName < b.ZoneName ? -1 : 1)),
    SecurityGroups: (value.SecurityGroups ?? []).toSorted((a, b) => ((names.get(a) ?? a) < (names.get(b) ?? b) ? -1 : 1)),
    attributes: sortedPairs(attributes).filter(([key]) => attributes.get('access_logs.s3.enabled') === 'true' || !key.endsWith('.bucket')),
    tags: tagsOf(world, arn),
  }));
  const classic = [...world.classic].map(([name, { value, policies, attributes }]) => ({
    ...value,
    ListenerDescriptions: value.ListenerDescriptions.map(({ Listener, PolicyNames }) => ({
      Listener,
      PolicyNames: PolicyNames.filter((name) => name !== awsOwnPolicy),
    })).toSorted((a, b) => a.Listener.LoadBalancerPort - b.Listener.LoadBalancerPort),
    BackendServerDescriptions: value.BackendServerDescriptions.toSorted((a, b) => a.InstancePort - b.InstancePort),
    Instances: value.Instances.map(({ InstanceId }) => InstanceId).toSorted(),
    SecurityGroups: value.SecurityGroups.toSorted((a, b) => ((names.get(a) ?? a) < (names.get(b) ?? b) ? -1 : 1)),
    policies: [...policies.keys()].filter((name) => name !== awsOwnPolicy && isAttached(value, name)).toSorted(),
    attributes,
    tags: tagsOf(world, `classic/${name}`),
  }));
  const securityGroups = [...world.securityGroups].map(([id, { GroupName, IpPermissions }]) => ({
    GroupName,
    rules: IpPermissions.map((one) => JSON.stringify(one)).toSorted(),
    tags: tagsOf(world, id),
  }));
  const endpointServices = [...world.endpointServices].map(([id, { value, principals }]) => ({
    ...value,
    ServiceId: '',
    ServiceName: '',
    principals: [...principals].toSorted(),
    tags: tagsOf(world, id),
  }));
  const sorted = [loadBalancers, listeners, targetGroups, classic, securityGroups, endpointServices].map((list) =>
    list.map((one) => JSON.stringify(one, inOrder, 1)).toSorted(),
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

/** Sorts the keys, so that the order in which fields were set does not matter. */
function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
