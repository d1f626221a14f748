import type * as Sdk from '@aws-sdk/client-elastic-load-balancing';
import type * as Cloud from '../../cloud/elb.ts';
import type { Scheme } from '../../cloud/elbv2.ts';
import { guaranteed, list, present, required } from './answer.ts';

/** Converts the fields of Classic Load Balancer answers that Herald reads. */
export function toClassicLoadBalancer(one: Sdk.LoadBalancerDescription): Cloud.ClassicLoadBalancer {
  return present({
    ...guaranteed(one, 'LoadBalancerName', 'DNSName'),
    CanonicalHostedZoneNameID: one.CanonicalHostedZoneNameID,
    Scheme: required(one.Scheme, 'Scheme') as Scheme,
    // Empty outside of a VPC, where Herald has no resources.
    VPCId: one.VPCId ?? '',
    Subnets: list(one.Subnets),
    AvailabilityZones: list(one.AvailabilityZones),
    SecurityGroups: list(one.SecurityGroups),
    ListenerDescriptions: list(one.ListenerDescriptions).map(({ Listener, PolicyNames }) => ({
      Listener: toClassicListener(required(Listener, 'Listener')),
      PolicyNames: list(PolicyNames),
    })),
    BackendServerDescriptions: list(one.BackendServerDescriptions).map(({ InstancePort, PolicyNames }) => ({
      InstancePort: required(InstancePort, 'InstancePort'),
      PolicyNames: list(PolicyNames),
    })),
    HealthCheck: toHealthCheck(one.HealthCheck),
    Instances: list(one.Instances).map(({ InstanceId }) => ({ InstanceId: required(InstanceId, 'InstanceId') })),
  });
}

function toClassicListener(one: Sdk.Listener): Cloud.ClassicListener {
  const protocol = required(one.Protocol, 'Protocol') as Cloud.ClassicProtocol;
  const secure = protocol === 'SSL' || protocol === 'HTTPS';
  return present({
    Protocol: protocol,
    LoadBalancerPort: required(one.LoadBalancerPort, 'LoadBalancerPort'),
    // AWS omits the instance protocol if it equals that of the listener.
    InstanceProtocol: (one.InstanceProtocol ?? protocol) as Cloud.ClassicProtocol,
    InstancePort: required(one.InstancePort, 'InstancePort'),
    // moto 5.1.1 returns a certificate "None" for other protocols.
    SSLCertificateId: secure ? one.SSLCertificateId : undefined,
  });
}

/** AWS creates a health check with every load balancer. moto does so only on request. */
function toHealthCheck(one: Sdk.HealthCheck | undefined): Cloud.ClassicHealthCheck {
  return {
    Target: one?.Target ?? '',
    Interval: one?.Interval ?? 0,
    Timeout: one?.Timeout ?? 0,
    HealthyThreshold: one?.HealthyThreshold ?? 0,
    UnhealthyThreshold: one?.UnhealthyThreshold ?? 0,
  };
}

export function toClassicAttributes(one: Sdk.LoadBalancerAttributes | undefined): Cloud.ClassicAttributes {
  const { CrossZoneLoadBalancing: crossZone, AccessLog: log, ConnectionDraining: draining, ConnectionSettings: settings } = one ?? {};
  return present({
    CrossZoneLoadBalancing: crossZone === undefined ? undefined : { Enabled: crossZone.Enabled ?? false },
    AccessLog:
      log === undefined
        ? undefined
        : present({
            Enabled: log.Enabled ?? false,
            S3BucketName: log.S3BucketName,
            S3BucketPrefix: log.S3BucketPrefix,
            EmitInterval: log.EmitInterval,
          }),
    ConnectionDraining: draining === undefined ? undefined : present({ Enabled: draining.Enabled ?? false, Timeout: draining.Timeout }),
    ConnectionSettings: settings?.IdleTimeout === undefined ? undefined : { IdleTimeout: settings.IdleTimeout },
  });
}

export function toPolicy(one: Sdk.PolicyDescription): Cloud.PolicyDescription {
  return {
    ...guaranteed(one, 'PolicyName', 'PolicyTypeName'),
    PolicyAttributeDescriptions: list(one.PolicyAttributeDescriptions).map(({ AttributeName, AttributeValue }) => ({
      AttributeName: required(AttributeName, 'AttributeName'),
      AttributeValue: AttributeValue ?? '',
    })),
  };
}

export function toInstanceState(one: Sdk.InstanceState): { InstanceId: string; State: string; ReasonCode?: string } {
  return present({ InstanceId: required(one.InstanceId, 'InstanceId'), State: required(one.State, 'State'), ReasonCode: one.ReasonCode });
}
