import { describe, expect, test } from 'vitest';
import type { AnnotationEntry, BalancerKind } from '../../../../providers/aws/annotations/entry.ts';
import { annotationTable, type AnnotationName } from '../../../../providers/aws/annotations/table.ts';
import { stackOf, type Member } from '../../../../providers/aws/desire/stack.ts';
import { addAlb } from '../moto/fake/albs.ts';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { StackFixture, acmCertificate, awsMember, otherCertificate, settings, type AwsServiceLiteral } from '../support/stack-fixture.ts';
import { worldDigest } from '../support/world-digest.ts';

/** An annotation whose removal restores the previous state. `set` is its value, `beside` contains the annotations that it needs. */
interface Undone {
  readonly set: string;
  /** For a key of a family: the part after the dot. */
  readonly member?: string;
  readonly beside?: Readonly<Record<string, string>>;
  readonly service?: Partial<AwsServiceLiteral>;
}
/** An annotation whose effect stays after its removal, or that changes nothing, with the reason. */
interface Stays {
  readonly because: string;
}
type Case = Undone | Stays;

const chosen = { because: 'it selects the load balancer: another value means another stack or another kind' };
const tls = { 'ssl-cert': acmCertificate };
const dual = { 'ip-address-type': 'dualstack' };
const weighted = JSON.stringify({
  type: 'forward',
  forwardConfig: { baseServiceWeight: 9, targetGroups: [{ serviceName: 'web', servicePort: 443, weight: 1 }] },
});
const quic = { 'nlb-target-type': 'ip', 'disable-nlb-sg': 'true', 'manage-backend-security-group-rules': 'false' };
const http = { 'healthcheck-protocol': 'http' };
const endpointService = { 'herald.dev/aws-endpoint-service': 'true' };
const logs = { 'access-log-enabled': 'true', 'access-log-s3-bucket-name': 'logs' };

const both = {
  type: chosen,
  scheme: { because: 'removing the annotation is no reason to replace a load balancer' },
  internal: { because: 'as scheme' },
  name: { because: 'AWS cannot rename one' },
  subnets: { because: 'a load balancer keeps its subnets, because new ones are no reason to move it' },
  tags: { set: 'team=a,cost=b' },
  crossZone: { set: 'true' },
  securityGroups: { set: 'nodes' },
  sourceRanges: { set: '192.0.2.0/24' },
  targetNodeLabels: { set: 'edge=yes' },
  accessLog: { set: 'true', beside: { 'access-log-s3-bucket-name': 'logs' } },
  accessLogBucket: { because: 'it has no effect without access-log-enabled, and is required with it' },
  accessLogPrefix: { set: 'web', beside: logs },
  certificates: { set: acmCertificate },
  sslPorts: { set: 'https', beside: tls },
  backendProtocol: { set: 'ssl', beside: tls },
  healthCheckProtocol: { set: 'http' },
  healthCheckPath: { set: '/ready', beside: http },
  healthCheckPort: { set: '31999' },
  healthCheckInterval: { set: '20' },
  healthyThreshold: { set: '5' },
  unhealthyThreshold: { set: '5' },
  certificateOfPort: { set: acmCertificate, member: '443' },
  backendProtocolOfPort: { set: 'ssl', member: '443', beside: tls },
  certificateHosts: { set: 'www.example.com' },
  sharedWith: chosen,
  sharedNamespaces: { because: 'it only admits others' },
  adopt: chosen,
  disown: { because: 'a disowned load balancer no longer belongs to Herald' },
} satisfies Partial<Record<AnnotationName, Case>>;

const cases: Readonly<Record<BalancerKind, Partial<Readonly<Record<AnnotationName, Case>>>>> = {
  nlb: {
    ...both,
    subnets: { set: 'subnet-private-1,subnet-private-2' },
    targetType: { set: 'ip' },
    ipAddressType: { set: 'dualstack' },
    eipAllocations: { because: 'removing the annotation is no reason to change addresses' },
    privateIPv4: { because: 'as eip-allocations' },
    ipv6Addresses: { because: 'as eip-allocations' },
    ipv6SourceNat: { set: 'on', beside: dual },
    sourceNatPrefixes: { because: 'AWS keeps the prefix while source NAT is on, and any prefix serves' },
    attributes: { set: 'dns_record.client_routing_policy=availability_zone_affinity,zonal_shift.config.enabled=true' },
    manageBackendRules: { set: 'true', beside: { 'security-groups': 'nodes' } },
    prefixLists: { set: 'pl-1' },
    privateLinkRules: { set: 'off' },
    pathMtuDiscovery: { set: 'on' },
    disableSecurityGroups: { because: 'AWS attaches no security group to an NLB that was made without' },
    sslPolicy: { set: 'ELBSecurityPolicy-2016-08', beside: tls },
    alpnPolicy: { set: 'HTTP2Preferred', beside: tls },
    tcpUdp: { because: 'false only refuses' },
    weightedActions: { set: weighted, member: 'TCP-80' },
    quicPorts: { set: '443', beside: quic, service: { ports: ['quic:443/UDP@30443'] } },
    foreignListeners: { because: 'a listener that was deleted does not return' },
    proxyProtocol: { set: '*' },
    proxyProtocolPorts: { set: '443' },
    listenerAttributes: { set: 'tcp.idle_timeout.seconds=400', member: 'TCP-80' },
    targetGroupAttributes: { set: 'stickiness.enabled=true,preserve_client_ip.enabled=false,deregistration_delay.timeout_seconds=5' },
    targetGroupAttributesOfPort: { set: 'stickiness.enabled=true', member: '443' },
    capacityUnits: { set: 'CapacityUnits=3000' },
    healthCheckTimeout: { set: '7' },
    successCodes: { set: '200', beside: http },
    multiCluster: { set: 'true' },
    targetGroupNamespaces: { set: 'shop', beside: { 'multi-cluster-target-group': 'true' } },
    targetGroup: { because: 'the Service has no load balancer of its own with it' },
    targetGroupOfPort: { because: 'as target-group' },
    albTarget: { set: 'edge' },
    albTargetOfPort: { set: 'edge', member: '443' },
    endpointService: { set: 'true' },
    acceptanceRequired: { set: 'false', beside: endpointService },
    allowedPrincipals: { set: 'arn:aws:iam::210987654321:root', beside: endpointService },
    privateDnsName: { set: 'shop.example.com', beside: endpointService },
    endpointIpTypes: { set: 'ipv4,ipv6', beside: { ...endpointService, ...dual } },
  },
  classic: {
    ...both,
    healthCheckTimeout: { set: '7' },
    accessLogInterval: { set: '5', beside: logs },
    drainingEnabled: { set: 'true' },
    drainingTimeout: { set: '20', beside: { 'connection-draining-enabled': 'true' } },
    idleTimeout: { set: '120' },
    extraSecurityGroups: { set: 'nodes' },
    sslPolicy: { set: 'ELBSecurityPolicy-TLS-1-2-2017-01', beside: tls },
    proxyProtocol: { set: '*' },
  },
};

const entries = Object.entries(annotationTable) as unknown as [AnnotationName, AnnotationEntry<unknown>][];

function account(): StackFixture {
  const account = new StackFixture();
  account.settings = { ...settings, certificateDiscovery: true };
  account.slices = [slice({ service: 'default/web', ports: ['http:8080', 'https:8443'], endpoints: ['10.0.1.5'] })];
  return account;
}

describe.each(['nlb', 'classic'] as const)('annotations on a load balancer of kind %s', (kind) => {
  const applicable = entries.filter(([, entry]) => entry.kinds.includes(kind));

  test('every applicable annotation has a case', () => {
    expect(
      Object.keys(cases[kind])
        .filter((name) => applicable.some(([one]) => one === name))
        .toSorted(),
    ).toEqual(applicable.map(([name]) => name).toSorted());
  });

  const undone = applicable.flatMap(([name, entry]) => {
    const one = cases[kind][name];
    return one === undefined || 'because' in one ? [] : [[name, entry, one] as const];
  });

  test.each(undone)(
    'removing %s leaves the account as if it had never been set',
    async (_, entry, { set, member, beside = {}, service }) => {
      const literal = { name: 'web', ports: ['http:80/TCP@30080', 'https:443/TCP@30443'], ...service };
      const key = member === undefined ? entry.key : `${entry.key}.${member}`;
      const without = awsMember(kind, { ...literal, annotations: { scheme: 'internal', ...beside } });
      const having = awsMember(kind, { ...literal, annotations: { scheme: 'internal', ...beside, [key]: set } });
      const stack = stackOf(without);
      const settle = async (aws: StackFixture, as: Member): Promise<string[]> => {
        const { errors } = await aws.settle(stack, [as]);
        expect([...errors]).toEqual([]);
        // Deletes the unused shared security group. In production the node rules reconcile removes it, but here only one stack is
        // reconciled.
        for (const [id, group] of aws.world.securityGroups)
          if (group.GroupName.startsWith('herald-backend-') && !aws.world.groupInUse(id)) aws.world.securityGroups.delete(id);
        // Split into lines, so that a difference is easy to read.
        return worldDigest(aws.world).split(String.raw`\n`);
      };
      const [aws, born] = [account(), account()];
      for (const one of [aws, born]) one.settings = { ...one.settings, lastTargetSeconds: 0 };
      for (const { world } of [aws, born]) addAlb(world, 'edge', { 80: 'HTTP', 443: 'HTTPS' });
      const never = await settle(aws, without);
      expect(await settle(aws, having)).not.toEqual(never);
      expect(await settle(aws, without)).toEqual(never);
      // Also true if the load balancer was created with the annotation.
      await settle(born, having);
      expect(await settle(born, without)).toEqual(never);
    },
  );
});

describe('settings of others', () => {
  const web = { name: 'web', ports: ['http:80/TCP@30080'] };
  const annotated = (annotations: Record<string, string>): Member =>
    awsMember('nlb', { ...web, annotations: { scheme: 'internal', ...annotations } });
  const stack = stackOf(annotated({}));

  test('tags and attributes that no annotation ever named stay unchanged', async () => {
    const aws = account();
    await aws.settle(stack, [annotated({ 'additional-resource-tags': 'team=a', attributes: 'zonal_shift.config.enabled=true' })]);
    const [[arn, balancer] = ['', undefined]] = aws.world.loadBalancers;
    aws.world.setTags(arn, [{ Key: 'cost', Value: 'theirs' }]);
    balancer?.attributes.set('deletion_protection.enabled', 'true');
    await aws.settle(stack, [annotated({})]);
    expect(aws.world.tags.get(arn)?.get('cost')).toBe('theirs');
    expect(aws.world.tags.get(arn)?.has('team')).toBe(false);
    expect(balancer?.attributes.get('deletion_protection.enabled')).toBe('true');
    expect(balancer?.attributes.get('zonal_shift.config.enabled')).toBe('false');
  });

  test('an attribute returns to the value that another program gave it', async () => {
    const aws = account();
    await aws.settle(stack, [annotated({})]);
    const [balancer] = aws.world.loadBalancers.values();
    balancer?.attributes.set('load_balancing.cross_zone.enabled', 'true');
    await aws.settle(stack, [annotated({ 'cross-zone-load-balancing-enabled': 'false' })]);
    expect(balancer?.attributes.get('load_balancing.cross_zone.enabled')).toBe('false');
    await aws.settle(stack, [annotated({})]);
    expect(balancer?.attributes.get('load_balancing.cross_zone.enabled')).toBe('true');
  });

  test('an adopted NLB has its previous attributes and tags after its release', async () => {
    const aws = account();
    const { LoadBalancers } = await aws.cloud.call('elbv2:CreateLoadBalancer', {
      Name: 'mine',
      Type: 'network',
      Scheme: 'internal',
      IpAddressType: 'ipv4',
      SubnetMappings: [{ SubnetId: 'subnet-private-1' }],
      SecurityGroups: ['sg-00000aaa'],
      Tags: [
        { Key: 'made-by', Value: 'terraform' },
        { Key: 'herald.dev/cluster', Value: 'test' },
      ],
    });
    const arn = LoadBalancers[0]?.LoadBalancerArn ?? '';
    const before = worldDigest(aws.world);
    const adopted = {
      'herald.dev/aws-load-balancer': 'mine',
      attributes: 'zonal_shift.config.enabled=true',
      'additional-resource-tags': 'team=a',
    };
    await aws.settle(stack, [annotated(adopted)]);
    expect(aws.world.loadBalancers.get(arn)?.attributes.get('zonal_shift.config.enabled')).toBe('true');
    await aws.settle(stack, []);
    expect(worldDigest(aws.world)).toBe(before);
  });

  test('all of many requested tags are recognised and removed when no longer requested', async () => {
    const aws = account();
    const many = Array.from({ length: 30 }, (_, index) => `tag-${index}=${index}`).join();
    const never = await aws.settle(stack, [annotated({})]).then(() => worldDigest(aws.world));
    await aws.settle(stack, [annotated({ 'additional-resource-tags': many })]);
    await aws.settle(stack, [annotated({ 'additional-resource-tags': 'tag-3=3' })]);
    const [arn = ''] = aws.world.loadBalancers.keys();
    expect([...(aws.world.tags.get(arn)?.keys() ?? [])].filter((key) => key.startsWith('tag-'))).toEqual(['tag-3']);
    await aws.settle(stack, [annotated({})]);
    expect(worldDigest(aws.world)).toBe(never);
  });
});

test('the second of two certificates is removed when the annotation no longer names it', async () => {
  const aws = account();
  const of = (certificates: string): Member =>
    awsMember('nlb', { name: 'web', ports: ['https:443/TCP@30443'], annotations: { 'ssl-cert': certificates } });
  const stack = stackOf(of(acmCertificate));
  await aws.settle(stack, [of(acmCertificate)]);
  const never = worldDigest(aws.world);
  await aws.settle(stack, [of(`${acmCertificate},${otherCertificate}`)]);
  await aws.settle(stack, [of(acmCertificate)]);
  expect(worldDigest(aws.world)).toBe(never);
});
