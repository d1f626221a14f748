import fc from 'fast-check';
import type { Member } from '../../../../providers/aws/desire/stack.ts';
import type { Write } from './undone-writes.ts';
import { acmCertificate, awsMember, otherCertificate, type StackFixture } from './stack-fixture.ts';

export const ports = [
  'http:80/TCP@30080',
  'https:443/TCP@30443',
  'alt:8443/TCP@30843',
  'dns-u:53/UDP@30053',
  'dns-t:53/TCP@30053',
  'game:7777/UDP@30777',
];

/** An optional annotation. */
export const maybe = (values: Readonly<Record<string, readonly string[]>>): fc.Arbitrary<Record<string, string>> =>
  fc
    .record(
      Object.fromEntries(
        Object.entries(values).map(([key, list]) => [key, fc.option(fc.constantFrom(...list), { nil: undefined, freq: 2 })]),
      ),
    )
    .map((record) => Object.fromEntries(Object.entries(record).filter((entry): entry is [string, string] => entry[1] !== undefined)));

const whole = {
  scheme: ['internal', 'internet-facing'],
  'additional-resource-tags': ['team=a', 'team=b,cost=1'],
  'cross-zone-load-balancing-enabled': ['true', 'false'],
};
const health = { 'healthcheck-interval': ['20'], 'healthcheck-protocol': ['http', 'tcp'], 'healthcheck-unhealthy-threshold': ['4'] };

export const nlbAnnotations = maybe({
  ...whole,
  ...health,
  'ssl-cert': [acmCertificate, `${acmCertificate},${otherCertificate}`, otherCertificate],
  'backend-protocol': ['ssl', 'tcp', 'http'],
  'nlb-target-type': ['instance', 'ip'],
  'proxy-protocol': ['*'],
  attributes: ['load_balancing.cross_zone.enabled=true', 'dns_record.client_routing_policy=any_availability_zone'],
  'target-group-attributes': ['deregistration_delay.timeout_seconds=60', 'stickiness.enabled=true,stickiness.type=source_ip'],
  'ssl-negotiation-policy': ['ELBSecurityPolicy-TLS13-1-2-Res-2021-06'],
  'alpn-policy': ['HTTP2Preferred'],
  'ip-address-type': ['ipv4', 'dualstack'],
  'enable-icmp-for-path-mtu-discovery': ['on'],
  'security-groups': ['nodes'],
  'minimum-load-balancer-capacity': ['CapacityUnits=3000', 'CapacityUnits=0'],
  'herald.dev/aws-endpoint-service': ['true', 'false'],
  'herald.dev/aws-endpoint-service-allowed-principals': ['arn:aws:iam::210987654321:root', '*'],
  'herald.dev/aws-endpoint-service-private-dns-name': ['shop.example.com'],
  'service.beta.kubernetes.io/load-balancer-source-ranges': ['192.0.2.0/24', '192.0.2.0/24,198.51.100.0/24'],
});

export const classicAnnotations = maybe({
  ...whole,
  ...health,
  'ssl-cert': [acmCertificate, otherCertificate],
  'ssl-ports': ['*'],
  'backend-protocol': ['ssl', 'tcp', 'http', 'https'],
  'proxy-protocol': ['*'],
  'ssl-negotiation-policy': ['ELBSecurityPolicy-TLS-1-2-2017-01', 'ELBSecurityPolicy-2016-08'],
  'connection-draining-enabled': ['true'],
  'connection-idle-timeout': ['120'],
  'extra-security-groups': ['nodes'],
});

const local = fc.boolean();

export const anyNlb: fc.Arbitrary<Member> = fc
  .record({ annotations: nlbAnnotations, ports: fc.subarray(ports, { minLength: 1 }), local })
  .map(({ annotations, ports, local }) => member('nlb', annotations, ports, local));

export const anyClassic: fc.Arbitrary<Member> = fc
  .record({ annotations: classicAnnotations, ports: fc.subarray(ports.slice(0, 3), { minLength: 1 }), local })
  .map(({ annotations, ports, local }) => member('classic', annotations, ports, local));

/** A Service without errors. Other tests show that a Service with errors changes nothing. */
export const anyMember: fc.Arbitrary<Member> = fc
  .oneof({ arbitrary: anyNlb, weight: 2 }, anyClassic)
  .filter((one) => one.errors.length === 0 && !hasTlsBesideUdp(one));

/** With a certificate and no ssl-ports every port of an NLB has TLS, and a port with TLS cannot serve UDP as well. */
function hasTlsBesideUdp({ kind, values, service }: Member): boolean {
  if (kind !== 'nlb' || (values.certificates ?? []).length === 0) return false;
  const protocols = Map.groupBy(service.ports, ({ port }) => port);
  return [...protocols.values()].some((ofPort) => ofPort.length > 1);
}

function member(kind: Member['kind'], annotations: Record<string, string>, ports: readonly string[], local: boolean): Member {
  return awsMember(kind, {
    name: 'web',
    ports,
    annotations,
    ...(local ? { externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 } : {}),
  });
}

/** Changes that people and other programs make to an account. */
export type Drift = (account: StackFixture) => void;

const first = <T>(map: ReadonlyMap<string, T>, index: number): [string, T] | undefined => [...map][index % Math.max(1, map.size)];

export const anyDrift: fc.Arbitrary<{ readonly name: string; readonly apply: Drift }> = fc
  .tuple(fc.nat(7), fc.nat(5))
  .map(([kind, index]) => {
    const named = (name: string, apply: Drift): { name: string; apply: Drift; toString: () => string } => ({
      name,
      apply,
      toString: () => `${name} ${index}`,
    });
    switch (kind) {
      case 0:
        return named('delete a load balancer', ({ world }) => {
          const [arn] = first(world.loadBalancers, index) ?? [];
          // AWS deletes no load balancer that an endpoint service has.
          const isKept = [...world.endpointServices.values()].some(({ value }) => value.NetworkLoadBalancerArns.includes(arn ?? ''));
          if (arn === undefined || !isOurs(world, arn) || isKept) return;
          world.loadBalancers.delete(arn);
          for (const [id, { value }] of world.listeners) if (value.LoadBalancerArn === arn) world.listeners.delete(id);
        });
      case 1:
        return named('delete a listener', ({ world }) => {
          const [id] = first(world.listeners, index) ?? [];
          if (id !== undefined && isOurs(world, id)) world.listeners.delete(id);
        });
      case 2:
        return named('forget targets', ({ world }) => {
          const [id, group] = first(world.targetGroups, index) ?? [];
          if (id !== undefined && isOurs(world, id)) group?.targets.clear();
        });
      case 3:
        return named('close a security group', ({ world }) => {
          const [id, group] = first(world.securityGroups, index) ?? [];
          if (id !== undefined && group !== undefined && isOurs(world, id)) group.IpPermissions = [];
        });
      case 4:
        return named('open a security group', ({ world }) => {
          const [id, group] = first(world.securityGroups, index) ?? [];
          const open = { IpProtocol: 'tcp', FromPort: 22, ToPort: 22, IpRanges: [{ CidrIp: '0.0.0.0/0' }] };
          if (id !== undefined && group !== undefined && isOurs(world, id)) group.IpPermissions = [...group.IpPermissions, open];
        });
      case 5:
        return named('change a health check', ({ world }) => {
          const [id, group] = first(world.targetGroups, index) ?? [];
          if (id !== undefined && group !== undefined && isOurs(world, id)) group.value.HealthCheckIntervalSeconds = 77;
        });
      case 6:
        return named('change a Classic ELB', ({ world }) => {
          const [name, found] = first(world.classic, index) ?? [];
          if (name === undefined || found === undefined || !isOurs(world, `classic/${name}`)) return;
          found.value.ListenerDescriptions = [];
          found.value.Instances = [];
          found.attributes = {};
        });
      default:
        return named('change tags', ({ world }) => {
          for (const tags of world.tags.values()) if (tags.has('herald.dev/stack')) tags.set('team', 'stolen');
        });
    }
  });

function isOurs(world: StackFixture['world'], id: string): boolean {
  return world.tags.get(id)?.get('herald.dev/cluster') === 'test';
}

export type { Write };
