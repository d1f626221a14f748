import { defined } from '../../../src/lang/defined.ts';
import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import { forwardingOf } from '../cloud/forwarding.ts';
import type { SecurityGroup } from '../cloud/ec2.ts';
import type { LoadBalancer, TargetGroup } from '../cloud/elbv2.ts';
import { capacityBefore, isOurs, keptBefore, resources, tagKeys, tagMap } from '../model/tags.ts';
import type {
  Observed,
  ObservedEndpointService,
  ObservedListener,
  ObservedLoadBalancer,
  ObservedTargetGroup,
  Tags,
} from '../model/observed.ts';
import { observeClassic } from './classic.ts';
import type { ObserveInput } from './input.ts';
import { isLoadBalancerArn, isTargetGroupArn } from './known-resources.ts';
import { allButMissing, unlessMissing } from './tolerate-missing.ts';

interface Observation {
  readonly observed: Observed;
  /** ID of a new resource that AWS does not return yet. Planning now would create it a second time. */
  readonly unsettled?: string;
}

/**
 * Reads the resources of one stack, by ARN and name, never the whole account. If a resource disappears during the read, reads everything
 * once more.
 */
export async function observeStack(cloud: ReadOnlyCloud, input: ObserveInput): Promise<Observation> {
  const [observation] = await unlessMissing(async () => [await observeOnce(cloud, input)]);
  return observation ?? observeOnce(cloud, input);
}

async function observeOnce(cloud: ReadOnlyCloud, input: ObserveInput): Promise<Observation> {
  const { known, wanted, cluster, stack, vpcId, now } = input;
  const found = await describeLoadBalancers(cloud, known.ids.filter(isLoadBalancerArn), wanted.concat([...known.doubtful]));
  const groups = await describeTargetGroups(cloud, known.ids.filter(isTargetGroupArn), [...known.doubtful], found);
  const tags = await describeTags(cloud, [...found.map((one) => one.LoadBalancerArn), ...groups.map((one) => one.TargetGroupArn)]);
  const tagsOf = (arn: string): Tags => tags.get(arn) ?? {};
  const isMine = (arn: string): boolean => isOurs(tagsOf(arn), cluster) && tagsOf(arn)[tagKeys.stack] === stack;
  const loadBalancers: ObservedLoadBalancer[] = [];
  for (const loadBalancer of found) {
    const arn = loadBalancer.LoadBalancerArn;
    // Reads an NLB completely when it belongs to this stack or `wanted` names it. Of other load balancers only the tags are needed.
    const interests =
      loadBalancer.Type === 'network' && (isMine(arn) || wanted.includes(arn) || wanted.includes(loadBalancer.LoadBalancerName));
    if (isMine(arn)) known.recordFound(arn);
    loadBalancers.push(
      interests
        ? await observeLoadBalancer(cloud, loadBalancer, tagsOf(arn), input)
        : { loadBalancer, tags: tagsOf(arn), attributes: [], listeners: [] },
    );
  }
  const targetGroups: ObservedTargetGroup[] = [];
  for (const targetGroup of groups.filter((one) => isMine(one.TargetGroupArn))) {
    known.recordFound(targetGroup.TargetGroupArn);
    targetGroups.push(await observeTargetGroup(cloud, targetGroup, tagsOf(targetGroup.TargetGroupArn)));
  }
  const strayListeners = await observeStrays(cloud, targetGroups, isMine);
  const classic = await observeClassic(cloud, input);
  // Reads that differ only in the last tag share a request.
  const byTags = (tags: Readonly<Record<string, string>>): Promise<readonly SecurityGroup[]> =>
    describeSecurityGroups(cloud, vpcId, { [tagKeys.cluster]: cluster, ...tags });
  const securityGroups = await byTags({ [tagKeys.resource]: resources.securityGroup, [tagKeys.stack]: stack });
  const [backend] = await byTags({ [tagKeys.resource]: resources.backendSecurityGroup });
  const isMarked = loadBalancers.some(({ tags }) => tags[tagKeys.endpointService] !== undefined);
  const endpointServices = isMarked || input.wantsEndpointService === true ? await observeEndpointServices(cloud, input) : undefined;
  // A name stays doubtful while another owner's load balancer has it, because AWS would refuse to create it again.
  for (const name of known.doubtful)
    if (!loadBalancers.some((one) => one.loadBalancer.LoadBalancerName === name && !isMine(one.loadBalancer.LoadBalancerArn)))
      known.doubtful.delete(name);
  const observed: Observed = {
    loadBalancers,
    targetGroups,
    ...(strayListeners.length === 0 ? {} : { strayListeners }),
    classic,
    securityGroups,
    ...defined({ backendSecurityGroup: backend, endpointServices }),
  };
  const seen = idsOf(observed, isMine);
  const missing = known.ids.filter((id) => !seen.has(id));
  const fresh = missing.find((id) => known.isFresh(id, now));
  for (const id of missing) if (!known.isFresh(id, now)) known.forgetResource(id);
  return { observed, ...defined({ unsettled: fresh }) };
}

/** The ids and names of the resources of the stack, except those of load balancers that are not its own. */
function idsOf(observed: Observed, isMine: (arn: string) => boolean): ReadonlySet<string> {
  const { loadBalancers, targetGroups, classic, securityGroups, backendSecurityGroup: backend, endpointServices = [] } = observed;
  return new Set([
    ...loadBalancers.map((one) => one.loadBalancer.LoadBalancerArn).filter(isMine),
    ...targetGroups.map((one) => one.targetGroup.TargetGroupArn),
    ...classic.map((one) => one.loadBalancer.LoadBalancerName),
    ...[...securityGroups, ...(backend === undefined ? [] : [backend])].map((one) => one.GroupId),
    ...endpointServices.map(({ service }) => service.ServiceId),
  ]);
}

async function describeLoadBalancers(cloud: ReadOnlyCloud, arns: readonly string[], wanted: readonly string[]): Promise<LoadBalancer[]> {
  const ask = async (input: { LoadBalancerArns?: readonly string[]; Names?: readonly string[] }): Promise<readonly LoadBalancer[]> =>
    (await cloud.call('elbv2:DescribeLoadBalancers', input)).LoadBalancers;
  const found = await allButMissing(arns, (LoadBalancerArns) => ask({ LoadBalancerArns }));
  for (const name of new Set(wanted)) {
    if (found.some((one) => one.LoadBalancerName === name || one.LoadBalancerArn === name)) continue;
    found.push(...(await unlessMissing(() => ask(isLoadBalancerArn(name) ? { LoadBalancerArns: [name] } : { Names: [name] }))));
  }
  return found;
}

async function describeTargetGroups(
  cloud: ReadOnlyCloud,
  arns: readonly string[],
  names: readonly string[],
  loadBalancers: readonly LoadBalancer[],
): Promise<TargetGroup[]> {
  const ask = async (input: {
    LoadBalancerArn?: string;
    TargetGroupArns?: readonly string[];
    Names?: readonly string[];
  }): Promise<readonly TargetGroup[]> => (await cloud.call('elbv2:DescribeTargetGroups', input)).TargetGroups;
  const found = new Map<string, TargetGroup>();
  const add = (groups: readonly TargetGroup[]): void => groups.forEach((group) => found.set(group.TargetGroupArn, group));
  add(await allButMissing(arns, (TargetGroupArns) => ask({ TargetGroupArns })));
  for (const name of names) add(await unlessMissing(() => ask({ Names: [name] })));
  // Finds target groups that an earlier process attached to the load balancers, when no ARN of a target group is known.
  for (const { LoadBalancerArn } of arns.length > 0 ? [] : loadBalancers) add(await unlessMissing(() => ask({ LoadBalancerArn })));
  return [...found.values()];
}

async function describeTags(cloud: ReadOnlyCloud, ResourceArns: readonly string[]): Promise<ReadonlyMap<string, Tags>> {
  if (ResourceArns.length === 0) return new Map();
  const { TagDescriptions } = await cloud.call('elbv2:DescribeTags', { ResourceArns });
  return new Map(TagDescriptions.map(({ ResourceArn, Tags }) => [ResourceArn, tagMap(Tags)]));
}

async function observeLoadBalancer(
  cloud: ReadOnlyCloud,
  loadBalancer: LoadBalancer,
  tags: Tags,
  { attributes: which = 'all', readsCapacity = false }: Pick<ObserveInput, 'attributes' | 'readsCapacity'>,
): Promise<ObservedLoadBalancer> {
  const { LoadBalancerArn } = loadBalancer;
  const readsAttributes = (of: Tags): boolean => which === 'all' || keptBefore(of).size > 0;
  const isReserved = readsCapacity || tags[capacityBefore] !== undefined;
  const capacity = isReserved ? await cloud.call('elbv2:DescribeCapacityReservation', { LoadBalancerArn }) : undefined;
  const attributes = readsAttributes(tags)
    ? (await cloud.call('elbv2:DescribeLoadBalancerAttributes', { LoadBalancerArn })).Attributes
    : [];
  const { Listeners } = await cloud.call('elbv2:DescribeListeners', { LoadBalancerArn });
  const listenerTags = await describeTags(
    cloud,
    Listeners.map(({ ListenerArn }) => ListenerArn),
  );
  const listeners: ObservedListener[] = [];
  for (const listener of Listeners) {
    const { ListenerArn, Protocol } = listener;
    const own = listenerTags.get(ListenerArn) ?? {};
    const isTls = Protocol === 'TLS';
    const certificates = isTls ? (await cloud.call('elbv2:DescribeListenerCertificates', { ListenerArn })).Certificates : [];
    listeners.push({
      listener,
      tags: own,
      // AWS has no attributes for TLS listeners.
      attributes: isTls || !readsAttributes(own) ? [] : (await cloud.call('elbv2:DescribeListenerAttributes', { ListenerArn })).Attributes,
      extraCertificates: certificates.filter(({ IsDefault }) => !IsDefault).map(({ CertificateArn }) => CertificateArn),
    });
  }
  return { loadBalancer, tags, attributes, listeners, ...defined({ capacity }) };
}

/**
 * Finds listeners that forward to our target groups on load balancers without our tags. The owner of such a load balancer has removed the
 * tags.
 */
async function observeStrays(
  cloud: ReadOnlyCloud,
  groups: readonly ObservedTargetGroup[],
  isMine: (arn: string) => boolean,
): Promise<Pick<ObservedListener, 'listener' | 'tags'>[]> {
  const strays: Pick<ObservedListener, 'listener' | 'tags'>[] = [];
  const unknown = new Set(groups.flatMap(({ targetGroup }) => targetGroup.LoadBalancerArns).filter((arn) => !isMine(arn)));
  for (const LoadBalancerArn of unknown) {
    const listeners = await unlessMissing(async () => (await cloud.call('elbv2:DescribeListeners', { LoadBalancerArn })).Listeners);
    const tags = await describeTags(
      cloud,
      listeners.map(({ ListenerArn }) => ListenerArn),
    );
    const ours = new Set(groups.map(({ targetGroup }) => targetGroup.TargetGroupArn));
    for (const listener of listeners) {
      const isForOurs = [...forwardingOf(listener).groups.keys()].some((arn) => ours.has(arn));
      if (isForOurs) strays.push({ listener, tags: tags.get(listener.ListenerArn) ?? {} });
    }
  }
  return strays;
}

async function observeTargetGroup(cloud: ReadOnlyCloud, targetGroup: TargetGroup, tags: Tags): Promise<ObservedTargetGroup> {
  const { TargetGroupArn } = targetGroup;
  const { Attributes: attributes } = await cloud.call('elbv2:DescribeTargetGroupAttributes', { TargetGroupArn });
  const { TargetHealthDescriptions: health } = await cloud.call('elbv2:DescribeTargetHealth', { TargetGroupArn });
  return { targetGroup, tags, attributes, health };
}

async function describeSecurityGroups(
  cloud: ReadOnlyCloud,
  vpcId: string,
  tags: Readonly<Record<string, string>>,
): Promise<readonly SecurityGroup[]> {
  const Filters = [
    { Name: 'vpc-id', Values: [vpcId] },
    ...Object.entries(tags).map(([key, value]) => ({ Name: `tag:${key}`, Values: [value] })),
  ];
  return (await cloud.call('ec2:DescribeSecurityGroups', { Filters })).SecurityGroups;
}

/** Reads the endpoint services of a stack. The first by id is kept if there are several, so the order is fixed. */
async function observeEndpointServices(
  cloud: ReadOnlyCloud,
  { cluster, stack }: { readonly cluster: string; readonly stack: string },
): Promise<ObservedEndpointService[]> {
  const wanted = { [tagKeys.cluster]: cluster, [tagKeys.stack]: stack };
  const Filters = Object.entries(wanted).map(([key, value]) => ({ Name: `tag:${key}`, Values: [value] }));
  const { ServiceConfigurations } = await cloud.call('ec2:DescribeVpcEndpointServiceConfigurations', { Filters });
  const found: ObservedEndpointService[] = [];
  for (const service of ServiceConfigurations) {
    const tags = tagMap(service.Tags);
    // moto ignores the filters.
    const isOfStack = Object.entries(wanted).every(([key, value]) => tags[key] === value);
    if (!isOfStack || service.ServiceState === 'Deleting' || service.ServiceState === 'Deleted') continue;
    const { ServiceId } = service;
    const permissions = await unlessMissing(async () => [await cloud.call('ec2:DescribeVpcEndpointServicePermissions', { ServiceId })]);
    for (const { AllowedPrincipals } of permissions)
      found.push({ service, tags, principals: AllowedPrincipals.map(({ Principal }) => Principal) });
  }
  return found.toSorted((a, b) => (a.service.ServiceId < b.service.ServiceId ? -1 : 1));
}
