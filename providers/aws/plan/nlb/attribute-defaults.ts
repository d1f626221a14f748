import type { NlbProtocol, TargetType } from '../../cloud/elbv2.ts';
import type { Tags } from '../../model/observed.ts';
import { transportsOf } from '../../model/protocols.ts';

/**
 * AWS' documented defaults of attributes. A resource that is created with another value returns to the default when the annotation is
 * removed.
 */
export const loadBalancerDefaults: Tags = {
  'access_logs.s3.bucket': '',
  'access_logs.s3.enabled': 'false',
  'access_logs.s3.prefix': '',
  'deletion_protection.enabled': 'false',
  'dns_record.client_routing_policy': 'any_availability_zone',
  'ipv6.deny_all_igw_traffic': 'false',
  'load_balancing.cross_zone.enabled': 'false',
  'secondary_ips.auto_assigned.per_subnet': '0',
  'zonal_shift.config.enabled': 'false',
};

export const listenerDefaults: Tags = { 'tcp.idle_timeout.seconds': '350' };

export function targetGroupDefaults(targetType: TargetType, protocol: NlbProtocol): Tags {
  const preserves = targetType !== 'ip' || transportsOf(protocol).includes('udp');
  return {
    'deregistration_delay.connection_termination.enabled': 'false',
    'deregistration_delay.timeout_seconds': '300',
    'load_balancing.cross_zone.enabled': 'use_load_balancer_configuration',
    'preserve_client_ip.enabled': `${preserves}`,
    'proxy_protocol_v2.enabled': 'false',
    'stickiness.enabled': 'false',
    'stickiness.type': 'source_ip',
    'target_group_health.dns_failover.minimum_healthy_targets.count': '1',
    'target_group_health.dns_failover.minimum_healthy_targets.percentage': 'off',
    'target_group_health.unhealthy_state_routing.minimum_healthy_targets.count': '1',
    'target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage': 'off',
    'target_health_state.unhealthy.connection_termination.enabled': 'true',
    'target_health_state.unhealthy.draining_interval_seconds': '0',
  };
}
