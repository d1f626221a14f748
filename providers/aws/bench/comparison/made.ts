import type { Cloud } from '../../../../providers/aws/cloud/cloud.ts';
import type { IpPermission, SecurityGroup } from '../../../../providers/aws/cloud/ec2.ts';
import type { Listener, LoadBalancer, TargetGroup } from '../../../../providers/aws/cloud/elbv2.ts';
import { tagMap } from '../../../../providers/aws/model/tags.ts';
import type { Account } from '../../test/moto/account.ts';

/** Settings that a controller has made for each Service: "listener TCP 80: alpn" and its value, without names, ids and tags that it chose. */
export type Made = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Tags by which controllers find their resources. */
const ownership = /^(?:herald\.dev|elbv2\.k8s\.aws|service\.k8s\.aws|kubernetes\.io)\//;

/** Reads the load balancers of an account. `serviceTag`: the tag with the namespace and the name of the Service. */
export async function readMade(cloud: Cloud, account: Account, serviceTag: string): Promise<Made> {
  const made = new Map<string, ReadonlyMap<string, string>>();
  const { LoadBalancers } = await cloud.call('elbv2:DescribeLoadBalancers', {});
  const reader = new Reader(cloud, namesOf(account), await groupsOf(cloud, account.vpcId));
  for (const one of LoadBalancers) {
    const tags = await reader.tags(one.LoadBalancerArn);
    const name = tags[serviceTag]?.split('/').at(-1);
    if (name === undefined) throw new Error(`${one.LoadBalancerName} has no tag ${serviceTag}`);
    made.set(name, new Map([...(await reader.loadBalancer(one, tags)), ...(await reader.listeners(one))]));
  }
  return made;
}

type Entries = (readonly [what: string, value: string])[];

/** Names instead of the ids of an account, which differ from one run to the next. */
function namesOf({ publicSubnets, privateSubnets, nodes, certificates, elasticIps, nodeGroup }: Account): ReadonlyMap<string, string> {
  const numbered = (kind: string, ids: readonly string[]): Entries => ids.map((id, index) => [id, `${kind} ${index}`]);
  return new Map([
    ...numbered('public subnet', publicSubnets),
    ...numbered('private subnet', privateSubnets),
    ...numbered('Elastic IP', elasticIps),
    ...numbered(
      'node',
      nodes.map(({ instance }) => instance),
    ),
    ...Object.entries(certificates).map(([name, arn]) => [arn, `certificate ${name}`] as const),
    [nodeGroup, 'the group of the nodes'],
  ]);
}

async function groupsOf(cloud: Cloud, vpcId: string): Promise<ReadonlyMap<string, SecurityGroup>> {
  const { SecurityGroups } = await cloud.call('ec2:DescribeSecurityGroups', { Filters: [{ Name: 'vpc-id', Values: [vpcId] }] });
  return new Map(SecurityGroups.map((one) => [one.GroupId, one]));
}

class Reader {
  readonly #cloud: Cloud;
  readonly #names: ReadonlyMap<string, string>;
  readonly #groups: ReadonlyMap<string, SecurityGroup>;

  constructor(cloud: Cloud, names: ReadonlyMap<string, string>, groups: ReadonlyMap<string, SecurityGroup>) {
    [this.#cloud, this.#names, this.#groups] = [cloud, names, groups];
  }

  async tags(arn: string): Promise<Readonly<Record<string, string>>> {
    const { TagDescriptions } = await this.#cloud.call('elbv2:DescribeTags', { ResourceArns: [arn] });
    return tagMap(TagDescriptions[0]?.Tags ?? []);
  }

  async loadBalancer(one: LoadBalancer, tags: Readonly<Record<string, string>>): Promise<Entries> {
    const { Attributes } = await this.#cloud.call('elbv2:DescribeLoadBalancerAttributes', { LoadBalancerArn: one.LoadBalancerArn });
    const zones = one.AvailabilityZones.map(({ SubnetId, LoadBalancerAddresses = [] }) =>
      [this.#nameOf(SubnetId), ...LoadBalancerAddresses.map(({ AllocationId = '' }) => this.#nameOf(AllocationId))].join(' with '),
    );
    return [
      ['type', one.Type],
      ['scheme', one.Scheme],
      ['IP address type', one.IpAddressType],
      ['subnets', list(zones)],
      ['admits', list((one.SecurityGroups ?? []).flatMap((id) => this.#admits(id)))],
      ...Attributes.map(({ Key, Value }) => [`attribute ${Key}`, Value] as const),
      ...userTags('load balancer', tags),
    ];
  }

  async listeners({ LoadBalancerArn }: LoadBalancer): Promise<Entries> {
    const { Listeners } = await this.#cloud.call('elbv2:DescribeListeners', { LoadBalancerArn });
    return (await Promise.all(Listeners.map((one) => this.#listener(one)))).flat();
  }

  async #listener(listener: Listener): Promise<Entries> {
    const { ListenerArn, Port, Protocol, SslPolicy = '', AlpnPolicy = [], DefaultActions } = listener;
    const isTls = Protocol === 'TLS';
    const read = isTls ? await this.#cloud.call('elbv2:DescribeListenerCertificates', { ListenerArn }) : { Certificates: [] };
    // moto lists the default certificate a second time among the others when a listener was modified.
    const first = read.Certificates.find(({ IsDefault }) => IsDefault)?.CertificateArn;
    const certificates = [...new Set(read.Certificates.map(({ CertificateArn }) => CertificateArn))].map(
      (arn) => `${this.#nameOf(arn)}${arn === first ? ' (default)' : ''}`,
    );
    const TargetGroupArn = DefaultActions[0]?.TargetGroupArn ?? '';
    const { TargetGroups } = await this.#cloud.call('elbv2:DescribeTargetGroups', { TargetGroupArns: [TargetGroupArn] });
    const entries: Entries = [
      ['certificates', list(certificates)],
      ['TLS policy', SslPolicy],
      ['ALPN', list(AlpnPolicy.filter((policy) => policy !== 'None'))],
      ...userTags('listener', await this.tags(ListenerArn)),
      ...(await Promise.all(TargetGroups.map((group) => this.#targetGroup(group)))).flat(),
    ];
    return entries.map(([what, value]) => [`listener ${Protocol} ${Port}: ${what}`, value]);
  }

  async #targetGroup(group: TargetGroup): Promise<Entries> {
    const { TargetGroupArn } = group;
    const { Attributes } = await this.#cloud.call('elbv2:DescribeTargetGroupAttributes', { TargetGroupArn });
    const { TargetHealthDescriptions } = await this.#cloud.call('elbv2:DescribeTargetHealth', { TargetGroupArn });
    const check = [group.HealthCheckProtocol, group.HealthCheckPort, group.HealthCheckPath ?? '', group.Matcher?.HttpCode ?? ''];
    return [
      ['targets are', `${group.TargetType} by ${group.Protocol}, ${group.IpAddressType ?? 'ipv4'}`],
      ['health check', check.filter((part) => part !== '').join(' ')],
      ['health check seconds', `${group.HealthCheckIntervalSeconds} for ${group.HealthCheckTimeoutSeconds}`],
      ['health check thresholds', `${group.HealthyThresholdCount} and ${group.UnhealthyThresholdCount}`],
      ['targets', list(TargetHealthDescriptions.map(({ Target }) => `${this.#nameOf(Target.Id)} port ${Target.Port}`))],
      ...Attributes.map(({ Key, Value }) => [`target attribute ${Key}`, Value] as const),
      ...userTags('target group', await this.tags(TargetGroupArn)),
    ];
  }

  /** The rules of a security group. The group by which nodes admit load balancers has none. */
  #admits(id: string): string[] {
    const known = this.#names.get(id);
    return known === undefined ? (this.#groups.get(id)?.IpPermissions ?? []).flatMap(rulesOf) : [known];
  }

  #nameOf(id: string): string {
    return this.#names.get(id) ?? id;
  }
}

function rulesOf({ IpProtocol, FromPort, ToPort, IpRanges = [], Ipv6Ranges = [] }: IpPermission): string[] {
  const sources = [...IpRanges.map(({ CidrIp }) => CidrIp), ...Ipv6Ranges.map(({ CidrIpv6 }) => CidrIpv6)];
  return sources.map((source) => `${IpProtocol} ${FromPort}-${ToPort} from ${source}`);
}

function userTags(of: string, tags: Readonly<Record<string, string>>): Entries {
  return Object.entries(tags).flatMap(([key, value]) => (ownership.test(key) ? [] : [[`tag ${key} of the ${of}`, value] as const]));
}

function list(items: readonly string[]): string {
  return items.toSorted().join(', ');
}
