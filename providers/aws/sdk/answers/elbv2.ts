import type * as Sdk from '@aws-sdk/client-elastic-load-balancing-v2';
import type * as Cloud from '../../cloud/elbv2.ts';
import { guaranteed, list, present, required } from './answer.ts';

/** Converts the fields of Elastic Load Balancing v2 answers that Herald reads. */
export function toLoadBalancer(one: Sdk.LoadBalancer): Cloud.LoadBalancer {
  return present({
    ...guaranteed(one, 'LoadBalancerArn', 'LoadBalancerName', 'DNSName'),
    CanonicalHostedZoneId: one.CanonicalHostedZoneId,
    ...guaranteed(one, 'Type', 'Scheme', 'VpcId'),
    State: present({ Code: required(one.State?.Code, 'State'), Reason: one.State?.Reason }),
    IpAddressType: one.IpAddressType ?? 'ipv4',
    AvailabilityZones: list(one.AvailabilityZones).map(toAvailabilityZone),
    SecurityGroups: one.SecurityGroups,
    EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic: one.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic,
    EnablePrefixForIpv6SourceNat: one.EnablePrefixForIpv6SourceNat,
  });
}

function toAvailabilityZone(one: Sdk.AvailabilityZone): Cloud.AvailabilityZone {
  return present({
    ...guaranteed(one, 'ZoneName', 'SubnetId'),
    LoadBalancerAddresses: one.LoadBalancerAddresses?.map(({ IpAddress, AllocationId, PrivateIPv4Address, IPv6Address }) =>
      present({ IpAddress, AllocationId, PrivateIPv4Address, IPv6Address }),
    ),
    SourceNatIpv6Prefixes: one.SourceNatIpv6Prefixes,
  });
}

export function toCapacityReservation(one: Sdk.DescribeCapacityReservationOutput): Cloud.CapacityReservation {
  const { CapacityUnits } = one.MinimumLoadBalancerCapacity ?? {};
  return present({
    MinimumLoadBalancerCapacity: CapacityUnits === undefined ? undefined : { CapacityUnits },
    CapacityReservationState: list(one.CapacityReservationState).map(({ AvailabilityZone, State }) =>
      present({ AvailabilityZone, State: present({ Code: required(State?.Code, 'State'), Reason: State?.Reason }) }),
    ),
  });
}

export function toListener(one: Sdk.Listener): Cloud.Listener {
  return present({
    ...guaranteed(one, 'ListenerArn', 'LoadBalancerArn', 'Port'),
    // A listener with a protocol that Herald does not use is foreign. Its protocol is passed on unchanged.
    Protocol: required(one.Protocol, 'Protocol') as Cloud.NlbProtocol,
    DefaultActions: list(one.DefaultActions).flatMap(toForwardAction),
    // moto 5.1.1 returns a certificate without an ARN if there is none.
    Certificates: one.Certificates?.flatMap(({ CertificateArn }) => (CertificateArn ? [{ CertificateArn }] : [])),
    SslPolicy: one.SslPolicy,
    AlpnPolicy: one.AlpnPolicy,
  });
}

/** AWS describes a forward action to one target group in the short form, the long form, or both. */
function toForwardAction(one: Sdk.Action): Cloud.ForwardAction[] {
  if (one.Type !== 'forward') return [];
  const groups = list(one.ForwardConfig?.TargetGroups).flatMap(({ TargetGroupArn, Weight = 1 }) =>
    TargetGroupArn === undefined ? [] : [{ TargetGroupArn, Weight }],
  );
  const [first, second] = groups;
  if (second === undefined) {
    const TargetGroupArn = one.TargetGroupArn ?? first?.TargetGroupArn;
    return TargetGroupArn === undefined ? [] : [{ Type: 'forward', TargetGroupArn }];
  }
  const Enabled = one.ForwardConfig?.TargetGroupStickinessConfig?.Enabled ?? false;
  return [{ Type: 'forward', ForwardConfig: { TargetGroups: groups, TargetGroupStickinessConfig: { Enabled } } }];
}

export function toListenerCertificate({ CertificateArn, IsDefault }: Sdk.Certificate): Cloud.ListenerCertificate {
  return { CertificateArn: required(CertificateArn, 'CertificateArn'), IsDefault: IsDefault ?? false };
}

export function toTargetGroup(one: Sdk.TargetGroup): Cloud.TargetGroup {
  return {
    ...toHealthCheck(one),
    ...guaranteed(one, 'TargetGroupArn', 'TargetGroupName'),
    Protocol: required(one.Protocol, 'Protocol') as Cloud.NlbProtocol,
    ...guaranteed(one, 'Port', 'VpcId'),
    TargetType: required(one.TargetType, 'TargetType') as Cloud.TargetGroup['TargetType'],
    IpAddressType: one.IpAddressType ?? 'ipv4',
    LoadBalancerArns: list(one.LoadBalancerArns),
  };
}

function toHealthCheck(one: Sdk.TargetGroup): Cloud.HealthCheckSettings {
  const { Matcher } = one;
  return present({
    HealthCheckProtocol: one.HealthCheckProtocol as Cloud.HealthCheckProtocol | undefined,
    HealthCheckPort: one.HealthCheckPort,
    HealthCheckPath: one.HealthCheckPath,
    HealthCheckIntervalSeconds: one.HealthCheckIntervalSeconds,
    HealthCheckTimeoutSeconds: one.HealthCheckTimeoutSeconds,
    HealthyThresholdCount: one.HealthyThresholdCount,
    UnhealthyThresholdCount: one.UnhealthyThresholdCount,
    Matcher: Matcher?.HttpCode === undefined ? undefined : { HttpCode: Matcher.HttpCode },
  });
}

export function toTargetHealth({ Target, TargetHealth }: Sdk.TargetHealthDescription): Cloud.TargetHealthDescription {
  const { State, Reason, Description } = required(TargetHealth, 'TargetHealth');
  const { Id, Port, AvailabilityZone, QuicServerId } = required(Target, 'Target');
  return {
    Target: present({ Id: required(Id, 'Target.Id'), Port: required(Port, 'Target.Port'), AvailabilityZone, QuicServerId }),
    TargetHealth: present({
      State: required(State, 'TargetHealth.State') as Cloud.TargetHealthDescription['TargetHealth']['State'],
      Reason,
      Description,
    }),
  };
}

export function toAttributes(
  attributes: readonly (Sdk.LoadBalancerAttribute | Sdk.ListenerAttribute)[] | undefined,
): readonly Cloud.Attribute[] {
  // An attribute without a value is not set.
  return list(attributes).map(({ Key, Value }) => ({ Key: required(Key, 'Attribute.Key'), Value: Value ?? '' }));
}

export function toTagDescription(one: Sdk.TagDescription): { readonly ResourceArn: string; readonly Tags: readonly Cloud.Tag[] } {
  return { ResourceArn: required(one.ResourceArn, 'ResourceArn'), Tags: toTags(one.Tags) };
}

/** Converts the tags of any service. A tag without a value has an empty value. */
export function toTags(
  tags: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] | undefined,
): readonly Cloud.Tag[] {
  return list(tags).map(({ Key, Value }) => ({ Key: required(Key, 'Tag.Key'), Value: Value ?? '' }));
}
