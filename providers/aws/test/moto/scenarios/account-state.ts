import { defined } from '../../../../../src/lang/defined.ts';
import type { Cloud } from '../../../cloud/cloud.ts';
import type { IpPermission } from '../../../cloud/ec2.ts';
import { forwardingOf } from '../../../cloud/forwarding.ts';
import type { TargetGroup } from '../../../cloud/elbv2.ts';

/** The load balancers and security groups of an account, in AWS' terms, in an order that does not depend on ids. */
export interface AccountState {
  readonly nlbs: readonly NlbState[];
  /** Target groups that no listener uses. */
  readonly looseTargetGroups: readonly TargetGroupState[];
  readonly classic: readonly ClassicState[];
  /** Rules by group name, for groups that the account did not have before: "tcp 80-81 from 0.0.0.0/0". */
  readonly securityGroups: Readonly<Record<string, readonly string[]>>;
}

export interface NlbState {
  readonly arn: string;
  readonly name: string;
  readonly dnsName: string;
  readonly scheme: string;
  readonly subnets: readonly string[];
  readonly listeners: readonly {
    readonly port: number;
    readonly protocol: string;
    readonly certificate?: string | undefined;
    /** The first one. */
    readonly targetGroup: TargetGroupState | undefined;
    /** All of them. */
    readonly weights: readonly { readonly weight: number; readonly targets: readonly string[] }[];
  }[];
}

export interface TargetGroupState {
  readonly arn: string;
  readonly protocol: string;
  readonly port: number;
  readonly targetType: string;
  readonly healthCheck: { readonly protocol: string | undefined; readonly port: string | undefined; readonly path?: string | undefined };
  /** For example "i-0123:30061". */
  readonly targets: readonly string[];
}

export interface ClassicState {
  readonly name: string;
  readonly dnsName: string;
  readonly scheme: string;
  readonly listeners: readonly {
    readonly port: number;
    readonly protocol: string;
    readonly instancePort: number;
    readonly instanceProtocol: string;
    readonly certificate?: string;
  }[];
  readonly healthCheck: string;
  readonly instances: readonly string[];
}

export async function readAccountState(cloud: Cloud, vpcId: string): Promise<AccountState> {
  const { TargetGroups } = await cloud.call('elbv2:DescribeTargetGroups', {});
  const groups = new Map<string, TargetGroupState>();
  for (const group of TargetGroups) groups.set(group.TargetGroupArn, await readTargetGroup(cloud, group));
  const used = new Set<string>();
  const nlbs: NlbState[] = [];
  const { LoadBalancers } = await cloud.call('elbv2:DescribeLoadBalancers', {});
  for (const one of LoadBalancers.toSorted((a, b) => compare(a.LoadBalancerName, b.LoadBalancerName))) {
    const { Listeners } = await cloud.call('elbv2:DescribeListeners', { LoadBalancerArn: one.LoadBalancerArn });
    const listeners = Listeners.toSorted((a, b) => a.Port - b.Port).map(({ Port, Protocol, Certificates, DefaultActions }) => {
      const shares = [...forwardingOf({ DefaultActions }).groups];
      for (const [arn] of shares) used.add(arn);
      const weights = shares.map(([arn, weight]) => ({ weight, targets: groups.get(arn)?.targets ?? [] }));
      const certificate = Protocol === 'TLS' ? { certificate: Certificates?.[0]?.CertificateArn } : {};
      return { port: Port, protocol: Protocol, ...certificate, weights, targetGroup: groups.get(shares[0]?.[0] ?? '') };
    });
    nlbs.push({
      arn: one.LoadBalancerArn,
      name: one.LoadBalancerName,
      dnsName: one.DNSName.toLowerCase(),
      scheme: one.Scheme,
      subnets: one.AvailabilityZones.map(({ SubnetId }) => SubnetId).toSorted(),
      listeners,
    });
  }
  return {
    nlbs,
    looseTargetGroups: [...groups].filter(([arn]) => !used.has(arn)).map(([, group]) => group),
    classic: await readClassic(cloud),
    securityGroups: await readSecurityGroups(cloud, vpcId),
  };
}

async function readTargetGroup(cloud: Cloud, group: TargetGroup): Promise<TargetGroupState> {
  const { TargetHealthDescriptions } = await cloud.call('elbv2:DescribeTargetHealth', { TargetGroupArn: group.TargetGroupArn });
  const registered = TargetHealthDescriptions.filter(({ TargetHealth }) => TargetHealth.State !== 'draining');
  return {
    arn: group.TargetGroupArn,
    protocol: group.Protocol,
    port: group.Port,
    targetType: group.TargetType,
    healthCheck: {
      protocol: group.HealthCheckProtocol,
      port: group.HealthCheckPort,
      ...(group.HealthCheckProtocol === 'TCP' ? {} : { path: group.HealthCheckPath }),
    },
    targets: registered.map(({ Target }) => `${Target.Id}:${Target.Port}`).toSorted(),
  };
}

async function readClassic(cloud: Cloud): Promise<ClassicState[]> {
  const { LoadBalancerDescriptions } = await cloud.call('elb:DescribeLoadBalancers', {});
  return LoadBalancerDescriptions.map((one) => ({
    name: one.LoadBalancerName,
    dnsName: one.DNSName.toLowerCase(),
    scheme: one.Scheme,
    listeners: one.ListenerDescriptions.map(({ Listener }) => Listener)
      .toSorted((a, b) => a.LoadBalancerPort - b.LoadBalancerPort)
      .map(({ LoadBalancerPort, Protocol, InstancePort, InstanceProtocol, SSLCertificateId }) => ({
        port: LoadBalancerPort,
        protocol: Protocol,
        instancePort: InstancePort,
        instanceProtocol: InstanceProtocol,
        ...defined({ certificate: SSLCertificateId }),
      })),
    healthCheck: one.HealthCheck.Target,
    instances: one.Instances.map(({ InstanceId }) => InstanceId).toSorted(),
  })).toSorted((a, b) => compare(a.name, b.name));
}

async function readSecurityGroups(cloud: Cloud, vpcId: string): Promise<Record<string, readonly string[]>> {
  const Filters = [{ Name: 'vpc-id', Values: [vpcId] }];
  const { SecurityGroups } = await cloud.call('ec2:DescribeSecurityGroups', { Filters });
  const made = SecurityGroups.filter(({ GroupName }) => GroupName !== 'default' && GroupName !== 'nodes');
  const names = new Map(SecurityGroups.map(({ GroupId, GroupName }) => [GroupId, GroupName]));
  return Object.fromEntries(
    made.map(({ GroupName, IpPermissions }) => [GroupName, IpPermissions.flatMap((one) => ruleTexts(one, names)).toSorted()]),
  );
}

function ruleTexts(permission: IpPermission, names: ReadonlyMap<string, string>): string[] {
  const { IpProtocol, FromPort, ToPort } = permission;
  const sources = [
    ...(permission.IpRanges ?? []).map(({ CidrIp }) => CidrIp),
    ...(permission.Ipv6Ranges ?? []).map(({ CidrIpv6 }) => CidrIpv6),
    ...(permission.PrefixListIds ?? []).map(({ PrefixListId }) => PrefixListId),
    ...(permission.UserIdGroupPairs ?? []).map(({ GroupId }) => names.get(GroupId) ?? GroupId),
  ];
  return sources.map((source) => `${IpProtocol} ${FromPort}-${ToPort} from ${source}`);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
