/**
 * The attributes that AWS knows for an NLB, its target groups and its listeners: API reference of Elastic Load Balancing v2, types
 * LoadBalancerAttribute, TargetGroupAttribute and ListenerAttribute. AWS adds some from time to time.
 */
export const attributeNames = {
  loadBalancer: [
    'access_logs.s3.bucket',
    'access_logs.s3.enabled',
    'access_logs.s3.prefix',
    'deletion_protection.enabled',
    'dns_record.client_routing_policy',
    'ipv6.deny_all_igw_traffic',
    'load_balancing.cross_zone.enabled',
    'secondary_ips.auto_assigned.per_subnet',
    'zonal_shift.config.enabled',
  ],
  targetGroup: [
    'deregistration_delay.connection_termination.enabled',
    'deregistration_delay.timeout_seconds',
    'load_balancing.cross_zone.enabled',
    'preserve_client_ip.enabled',
    'proxy_protocol_v2.enabled',
    'stickiness.enabled',
    'stickiness.type',
    'target_group_health.dns_failover.minimum_healthy_targets.count',
    'target_group_health.dns_failover.minimum_healthy_targets.percentage',
    'target_group_health.unhealthy_state_routing.minimum_healthy_targets.count',
    'target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage',
    'target_health_state.unhealthy.connection_termination.enabled',
    'target_health_state.unhealthy.draining_interval_seconds',
  ],
  listener: ['tcp.idle_timeout.seconds'],
} as const;

export type AttributeOwner = keyof typeof attributeNames;

export function isKnownAttribute(of: AttributeOwner, name: string): boolean {
  return (attributeNames[of] as readonly string[]).includes(name);
}

/**
 * The predefined security policies of Classic ELBs: user guide of Classic Load Balancers, "Predefined SSL security policies", and those of
 * DescribeLoadBalancerPolicies that it leaves out because they are older.
 */
export const classicSslPolicies: readonly string[] = [
  'ELBSecurityPolicy-TLS-1-2-2017-01',
  'ELBSecurityPolicy-TLS-1-1-2017-01',
  'ELBSecurityPolicy-2016-08',
  'ELBSecurityPolicy-2015-05',
  'ELBSecurityPolicy-2015-03',
  'ELBSecurityPolicy-2015-02',
  'ELBSecurityPolicy-2014-10',
  'ELBSecurityPolicy-2014-01',
  'ELBSecurityPolicy-2011-08',
];
