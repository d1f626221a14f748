import { expect } from 'vitest';
import type { ScenarioFixture } from './scenario-fixture.ts';
import {
  classic,
  clientRules,
  expectStable,
  http,
  https,
  accountState,
  nodeTargets,
  nothing,
  onlyNlb,
  service,
  type Scenario,
} from './scenario.ts';

/** The attributes of the only NLB. */
async function loadBalancerAttributes(fixture: ScenarioFixture): Promise<Record<string, string>> {
  const { Attributes } = await fixture.cloud.call('elbv2:DescribeLoadBalancerAttributes', {
    LoadBalancerArn: (await onlyNlb(fixture)).arn,
  });
  return Object.fromEntries(Attributes.map(({ Key, Value }) => [Key, Value]));
}

/** The attributes of the target group behind its first listener. */
async function targetGroupAttributes(fixture: ScenarioFixture): Promise<Record<string, string>> {
  const TargetGroupArn = (await onlyNlb(fixture)).listeners[0]?.targetGroup?.arn ?? '';
  const { Attributes } = await fixture.cloud.call('elbv2:DescribeTargetGroupAttributes', { TargetGroupArn });
  return Object.fromEntries(Attributes.map(({ Key, Value }) => [Key, Value]));
}

async function tags(fixture: ScenarioFixture): Promise<Record<string, string>> {
  const { TagDescriptions } = await fixture.cloud.call('elbv2:DescribeTags', { ResourceArns: [(await onlyNlb(fixture)).arn] });
  return Object.fromEntries(TagDescriptions.flatMap(({ Tags }) => Tags.map(({ Key, Value }) => [Key, Value])));
}

/** The effects of annotations and fields on a load balancer, and of their change or removal. */
export const annotationScenarios: readonly Scenario[] = [
  {
    name: 'new pods are registered by their own ports before old ones leave',
    async run(fixture) {
      fixture.setPods('web', { name: 'http', port: 8080 }, ['10.0.100.5', '10.0.100.6']);
      fixture.apply(service('web', [http], { annotations: { 'nlb-target-type': 'ip' } }));
      await fixture.settle();
      const targets = async (): Promise<unknown> => (await onlyNlb(fixture)).listeners[0]?.targetGroup;
      expect(await targets()).toMatchObject({ targetType: 'ip', port: 8080, targets: ['10.0.100.5:8080', '10.0.100.6:8080'] });
      await expectStable(fixture);
      fixture.setPods('web', { name: 'http', port: 8080 }, ['10.0.100.6', '10.0.100.7']);
      await fixture.settle();
      expect(await targets()).toMatchObject({ targets: ['10.0.100.6:8080', '10.0.100.7:8080'] });
      expect(fixture.takeWrites()).toEqual(['elbv2:RegisterTargets', 'elbv2:DeregisterTargets']);
    },
  },
  {
    name: 'one port has its own certificate and backend protocol',
    async run(fixture) {
      const { web, other } = fixture.account.certificates;
      const annotations = {
        'ssl-cert': web,
        'ssl-ports': '443',
        'herald.dev/aws-ssl-cert.alt': other,
        'herald.dev/aws-backend-protocol.alt': 'ssl',
      };
      fixture.apply(service('web', [http, https, { ...https, name: 'alt', port: 8443, nodePort: 30_843 }], { annotations }));
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners).toMatchObject([
        { port: 80, protocol: 'TCP' },
        { port: 443, protocol: 'TLS', certificate: web, targetGroup: { protocol: 'TCP' } },
        { port: 8443, protocol: 'TLS', certificate: other, targetGroup: { protocol: 'TLS' } },
      ]);
      await expectStable(fixture);
    },
  },
  {
    name: 'a certificate is found by its host name',
    async run(fixture) {
      const { web } = fixture.account.certificates;
      const { Certificate } = await fixture.cloud.call('acm:DescribeCertificate', { CertificateArn: web });
      fixture.settings = { ...fixture.settings, certificateDiscovery: true };
      fixture.apply(service('web', [https], { annotations: { 'herald.dev/aws-certificate-hosts': Certificate.DomainName } }));
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners).toMatchObject([{ protocol: 'TLS', certificate: web }]);
      await expectStable(fixture);
    },
  },
  {
    name: 'attributes, access logs and tags follow their annotations',
    async run(fixture) {
      fixture.apply(service('web', [http], { annotations: { 'access-log-enabled': 'false' } }));
      await fixture.settle();
      const [balancer, group] = [await loadBalancerAttributes(fixture), await targetGroupAttributes(fixture)];
      const before = await tags(fixture);
      const annotations = {
        'access-log-enabled': 'true',
        'access-log-s3-bucket-name': fixture.account.logBucket,
        'access-log-s3-bucket-prefix': 'web',
        'cross-zone-load-balancing-enabled': 'true',
        'target-group-attributes': 'deregistration_delay.timeout_seconds=30,stickiness.enabled=true',
        'proxy-protocol': '*',
        'additional-resource-tags': 'team=a,cost=b',
      };
      fixture.apply(service('web', [http], { annotations }));
      await fixture.settle();
      expect(await loadBalancerAttributes(fixture)).toMatchObject({
        'access_logs.s3.enabled': 'true',
        'access_logs.s3.bucket': fixture.account.logBucket,
        'access_logs.s3.prefix': 'web',
        'load_balancing.cross_zone.enabled': 'true',
      });
      expect(await targetGroupAttributes(fixture)).toMatchObject({
        'deregistration_delay.timeout_seconds': '30',
        'stickiness.enabled': 'true',
        'proxy_protocol_v2.enabled': 'true',
      });
      expect(await tags(fixture)).toMatchObject({ team: 'a', cost: 'b' });
      await expectStable(fixture);
      fixture.apply(service('web', [http], { annotations: { 'access-log-enabled': 'false' } }));
      await fixture.settle();
      const name = 'access_logs.s3.bucket';
      expect({ ...(await loadBalancerAttributes(fixture)), [name]: '' }).toEqual({ ...balancer, [name]: '' });
      expect(await targetGroupAttributes(fixture)).toMatchObject(group);
      expect(await targetGroupAttributes(fixture)).toMatchObject({ 'proxy_protocol_v2.enabled': 'false' });
      expect(await tags(fixture)).toEqual(before);
      await expectStable(fixture);
    },
  },
  {
    name: 'an internet-facing NLB is created with Elastic IPs',
    async run(fixture) {
      const { publicSubnets, elasticIps } = fixture.account;
      const annotations = {
        scheme: 'internet-facing',
        subnets: publicSubnets.join(),
        'eip-allocations': elasticIps.slice(0, publicSubnets.length).join(),
      };
      fixture.apply(service('web', [http], { annotations }));
      await fixture.settle();
      const made = fixture.writes.find(({ operation }) => operation === 'elbv2:CreateLoadBalancer')?.input;
      const SubnetMappings = publicSubnets.map((SubnetId, index) => ({ SubnetId, AllocationId: elasticIps[index] }));
      expect(made).toMatchObject({ SubnetMappings });
      await expectStable(fixture);
    },
  },
  {
    name: 'a health check follows its annotations and returns to the default',
    async run(fixture) {
      const annotations = { 'healthcheck-protocol': 'http', 'healthcheck-port': 'https', 'healthcheck-path': '/ready' };
      const check = async (): Promise<unknown> => (await onlyNlb(fixture)).listeners[0]?.targetGroup?.healthCheck;
      fixture.apply(service('web', [http, https], { annotations }));
      await fixture.settle();
      expect(await check()).toMatchObject({ protocol: 'HTTP', port: '30443', path: '/ready' });
      fixture.apply(service('web', [http, https]));
      await fixture.settle();
      expect(await check()).toMatchObject({ protocol: 'TCP', port: 'traffic-port' });
      await expectStable(fixture);
    },
  },
  {
    name: 'a change between NLB and Classic ELB deletes the old one after the new one serves',
    async run(fixture) {
      fixture.apply(service('web', [http]));
      await fixture.settle();
      const both = async (): Promise<void> => {
        const { nlbs, classic: balancers } = await accountState(fixture);
        expect(nlbs.length + balancers.length).toBeGreaterThan(0);
      };
      fixture.apply(service('web', [http], { spec: classic }));
      const results = await fixture.settle(both);
      const after = await accountState(fixture);
      expect([after.nlbs, after.looseTargetGroups, after.classic.length]).toEqual([[], [], 1]);
      expect(results.get('default/web')?.servingStatus.get('default/web')?.hostname).toBe(after.classic[0]?.dnsName);
      fixture.apply(service('web', [http]));
      await fixture.settle(both);
      expect((await accountState(fixture)).classic).toEqual([]);
      expect((await onlyNlb(fixture)).listeners[0]?.targetGroup?.targets).toEqual(nodeTargets(fixture, 30_080));
      await expectStable(fixture);
    },
  },
  {
    name: 'an NLB is adopted by its ARN',
    async run(fixture) {
      const { LoadBalancers } = await fixture.cloud.call('elbv2:CreateLoadBalancer', {
        Name: 'by-hand',
        Type: 'network',
        Scheme: 'internal',
        IpAddressType: 'ipv4',
        SubnetMappings: fixture.account.privateSubnets.map((SubnetId) => ({ SubnetId })),
        SecurityGroups: [fixture.account.nodeGroup],
        Tags: [{ Key: 'herald.dev/cluster', Value: fixture.settings.clusterName }],
      });
      const arn = LoadBalancers[0]?.LoadBalancerArn ?? '';
      fixture.apply(service('web', [http], { annotations: { 'herald.dev/aws-load-balancer': arn } }));
      await fixture.settle();
      expect(await onlyNlb(fixture)).toMatchObject({ arn, listeners: [{ port: 80 }] });
      await expectStable(fixture);
      fixture.remove('default/web');
      await fixture.settle();
      expect(await accountState(fixture)).toMatchObject({ ...nothing, nlbs: [{ arn, listeners: [] }] });
      await fixture.cloud.call('elbv2:DeleteLoadBalancer', { LoadBalancerArn: arn });
    },
  },
  {
    name: 'a disowned NLB or Classic ELB stays unchanged without our tags',
    async run(fixture) {
      fixture.apply(service('web', [http]));
      fixture.apply(service('old', [http], { spec: classic }));
      await fixture.settle();
      const before = await accountState(fixture);
      fixture.disown('default/web');
      fixture.disown('default/old');
      await fixture.settle();
      expect(await accountState(fixture)).toEqual(before);
      expect(Object.keys(await tags(fixture)).filter((key) => key.startsWith('herald.dev/'))).toEqual([]);
      const [balancer] = before.classic;
      const { TagDescriptions } = await fixture.cloud.call('elb:DescribeTags', { LoadBalancerNames: [balancer?.name ?? ''] });
      expect(TagDescriptions.flatMap(({ Tags }) => Tags)).toEqual([]);
      await fixture.cloud.call('elbv2:DeleteLoadBalancer', { LoadBalancerArn: before.nlbs[0]?.arn ?? '' });
      await fixture.cloud.call('elb:DeleteLoadBalancer', { LoadBalancerName: balancer?.name ?? '' });
    },
  },
  {
    name: 'attributes, SSL policy and source ranges of a Classic ELB follow their annotations',
    async run(fixture) {
      const { web } = fixture.account.certificates;
      const attributes = async (): Promise<unknown> => {
        const LoadBalancerName = (await accountState(fixture)).classic[0]?.name ?? '';
        return (await fixture.cloud.call('elb:DescribeLoadBalancerAttributes', { LoadBalancerName })).LoadBalancerAttributes;
      };
      const annotations = {
        'ssl-cert': web,
        'ssl-negotiation-policy': 'ELBSecurityPolicy-TLS-1-2-2017-01',
        'connection-draining-enabled': 'true',
        'connection-draining-timeout': '20',
        'connection-idle-timeout': '120',
        'cross-zone-load-balancing-enabled': 'true',
      };
      fixture.apply(service('web', [https], { annotations, spec: { ...classic, loadBalancerSourceRanges: ['192.0.2.0/24'] } }));
      await fixture.settle();
      expect(await attributes()).toMatchObject({
        CrossZoneLoadBalancing: { Enabled: true },
        ConnectionDraining: { Enabled: true, Timeout: 20 },
        ConnectionSettings: { IdleTimeout: 120 },
      });
      expect(clientRules(await accountState(fixture))).toContain('tcp 443-443 from 192.0.2.0/24');
      await expectStable(fixture);
      fixture.apply(service('web', [https], { annotations: { 'ssl-cert': web }, spec: classic }));
      await fixture.settle();
      expect(await attributes()).toMatchObject({
        CrossZoneLoadBalancing: { Enabled: false },
        ConnectionDraining: { Enabled: false },
        ConnectionSettings: { IdleTimeout: 60 },
      });
      expect(clientRules(await accountState(fixture))).toContain('tcp 443-443 from 0.0.0.0/0');
      await expectStable(fixture);
    },
  },
];
