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

/** Of the only NLB. */
async function loadBalancerAttributes(bench: ScenarioFixture): Promise<Record<string, string>> {
  const { Attributes } = await bench.cloud.call('elbv2:DescribeLoadBalancerAttributes', { LoadBalancerArn: (await onlyNlb(bench)).arn });
  return Object.fromEntries(Attributes.map(({ Key, Value }) => [Key, Value]));
}

/** Of the target group behind its first listener. */
async function targetGroupAttributes(bench: ScenarioFixture): Promise<Record<string, string>> {
  const TargetGroupArn = (await onlyNlb(bench)).listeners[0]?.targetGroup?.arn ?? '';
  const { Attributes } = await bench.cloud.call('elbv2:DescribeTargetGroupAttributes', { TargetGroupArn });
  return Object.fromEntries(Attributes.map(({ Key, Value }) => [Key, Value]));
}

async function tags(bench: ScenarioFixture): Promise<Record<string, string>> {
  const { TagDescriptions } = await bench.cloud.call('elbv2:DescribeTags', { ResourceArns: [(await onlyNlb(bench)).arn] });
  return Object.fromEntries(TagDescriptions.flatMap(({ Tags }) => Tags.map(({ Key, Value }) => [Key, Value])));
}

/** What annotations and fields make of a load balancer, and what becomes of it when they change or go. */
export const annotationScenarios: readonly Scenario[] = [
  {
    name: 'targets of type ip: pods come before others leave, by their own ports',
    async run(bench) {
      bench.setPods('web', { name: 'http', port: 8080 }, ['10.0.100.5', '10.0.100.6']);
      bench.apply(service('web', [http], { annotations: { 'nlb-target-type': 'ip' } }));
      await bench.settle();
      const targets = async (): Promise<unknown> => (await onlyNlb(bench)).listeners[0]?.targetGroup;
      expect(await targets()).toMatchObject({ targetType: 'ip', port: 8080, targets: ['10.0.100.5:8080', '10.0.100.6:8080'] });
      await expectStable(bench);
      bench.setPods('web', { name: 'http', port: 8080 }, ['10.0.100.6', '10.0.100.7']);
      await bench.settle();
      expect(await targets()).toMatchObject({ targets: ['10.0.100.6:8080', '10.0.100.7:8080'] });
      expect(bench.takeWrites()).toEqual(['elbv2:RegisterTargets', 'elbv2:DeregisterTargets']);
    },
  },
  {
    name: 'a certificate and a backend protocol of one port',
    async run(bench) {
      const { web, other } = bench.account.certificates;
      const annotations = {
        'ssl-cert': web,
        'ssl-ports': '443',
        'herald.dev/aws-ssl-cert.alt': other,
        'herald.dev/aws-backend-protocol.alt': 'ssl',
      };
      bench.apply(service('web', [http, https, { ...https, name: 'alt', port: 8443, nodePort: 30_843 }], { annotations }));
      await bench.settle();
      expect((await onlyNlb(bench)).listeners).toMatchObject([
        { port: 80, protocol: 'TCP' },
        { port: 443, protocol: 'TLS', certificate: web, targetGroup: { protocol: 'TCP' } },
        { port: 8443, protocol: 'TLS', certificate: other, targetGroup: { protocol: 'TLS' } },
      ]);
      await expectStable(bench);
    },
  },
  {
    name: 'a certificate is found by its host name',
    async run(bench) {
      const { web } = bench.account.certificates;
      const { Certificate } = await bench.cloud.call('acm:DescribeCertificate', { CertificateArn: web });
      bench.settings = { ...bench.settings, certificateDiscovery: true };
      bench.apply(service('web', [https], { annotations: { 'herald.dev/aws-certificate-hosts': Certificate.DomainName } }));
      await bench.settle();
      expect((await onlyNlb(bench)).listeners).toMatchObject([{ protocol: 'TLS', certificate: web }]);
      await expectStable(bench);
    },
  },
  {
    name: 'attributes, access logs and tags come with their annotations, and go with them',
    async run(bench) {
      bench.apply(service('web', [http], { annotations: { 'access-log-enabled': 'false' } }));
      await bench.settle();
      const [balancer, group] = [await loadBalancerAttributes(bench), await targetGroupAttributes(bench)];
      const before = await tags(bench);
      const annotations = {
        'access-log-enabled': 'true',
        'access-log-s3-bucket-name': bench.account.logBucket,
        'access-log-s3-bucket-prefix': 'web',
        'cross-zone-load-balancing-enabled': 'true',
        'target-group-attributes': 'deregistration_delay.timeout_seconds=30,stickiness.enabled=true',
        'proxy-protocol': '*',
        'additional-resource-tags': 'team=a,cost=b',
      };
      bench.apply(service('web', [http], { annotations }));
      await bench.settle();
      expect(await loadBalancerAttributes(bench)).toMatchObject({
        'access_logs.s3.enabled': 'true',
        'access_logs.s3.bucket': bench.account.logBucket,
        'access_logs.s3.prefix': 'web',
        'load_balancing.cross_zone.enabled': 'true',
      });
      expect(await targetGroupAttributes(bench)).toMatchObject({
        'deregistration_delay.timeout_seconds': '30',
        'stickiness.enabled': 'true',
        'proxy_protocol_v2.enabled': 'true',
      });
      expect(await tags(bench)).toMatchObject({ team: 'a', cost: 'b' });
      await expectStable(bench);
      bench.apply(service('web', [http], { annotations: { 'access-log-enabled': 'false' } }));
      await bench.settle();
      const name = 'access_logs.s3.bucket';
      expect({ ...(await loadBalancerAttributes(bench)), [name]: '' }).toEqual({ ...balancer, [name]: '' });
      expect(await targetGroupAttributes(bench)).toMatchObject(group);
      expect(await targetGroupAttributes(bench)).toMatchObject({ 'proxy_protocol_v2.enabled': 'false' });
      expect(await tags(bench)).toEqual(before);
      await expectStable(bench);
    },
  },
  {
    name: 'Elastic IPs are given to an internet-facing NLB when it is made',
    async run(bench) {
      const { publicSubnets, elasticIps } = bench.account;
      const annotations = {
        scheme: 'internet-facing',
        subnets: publicSubnets.join(),
        'eip-allocations': elasticIps.slice(0, publicSubnets.length).join(),
      };
      bench.apply(service('web', [http], { annotations }));
      await bench.settle();
      const made = bench.writes.find(({ operation }) => operation === 'elbv2:CreateLoadBalancer')?.input;
      const SubnetMappings = publicSubnets.map((SubnetId, index) => ({ SubnetId, AllocationId: elasticIps[index] }));
      expect(made).toMatchObject({ SubnetMappings });
      await expectStable(bench);
    },
  },
  {
    name: 'the health check that is annotated, and again the usual one',
    async run(bench) {
      const annotations = { 'healthcheck-protocol': 'http', 'healthcheck-port': 'https', 'healthcheck-path': '/ready' };
      const check = async (): Promise<unknown> => (await onlyNlb(bench)).listeners[0]?.targetGroup?.healthCheck;
      bench.apply(service('web', [http, https], { annotations }));
      await bench.settle();
      expect(await check()).toMatchObject({ protocol: 'HTTP', port: '30443', path: '/ready' });
      bench.apply(service('web', [http, https]));
      await bench.settle();
      expect(await check()).toMatchObject({ protocol: 'TCP', port: 'traffic-port' });
      await expectStable(bench);
    },
  },
  {
    name: 'an NLB becomes a Classic ELB, which takes over before the NLB goes; and back',
    async run(bench) {
      bench.apply(service('web', [http]));
      await bench.settle();
      const both = async (): Promise<void> => {
        const { nlbs, classic: balancers } = await accountState(bench);
        expect(nlbs.length + balancers.length).toBeGreaterThan(0);
      };
      bench.apply(service('web', [http], { spec: classic }));
      const results = await bench.settle(both);
      const after = await accountState(bench);
      expect([after.nlbs, after.looseTargetGroups, after.classic.length]).toEqual([[], [], 1]);
      expect(results.get('default/web')?.servingStatus.get('default/web')?.hostname).toBe(after.classic[0]?.dnsName);
      bench.apply(service('web', [http]));
      await bench.settle(both);
      expect((await accountState(bench)).classic).toEqual([]);
      expect((await onlyNlb(bench)).listeners[0]?.targetGroup?.targets).toEqual(nodeTargets(bench, 30_080));
      await expectStable(bench);
    },
  },
  {
    name: 'an NLB is adopted by its ARN',
    async run(bench) {
      const { LoadBalancers } = await bench.cloud.call('elbv2:CreateLoadBalancer', {
        Name: 'by-hand',
        Type: 'network',
        Scheme: 'internal',
        IpAddressType: 'ipv4',
        SubnetMappings: bench.account.privateSubnets.map((SubnetId) => ({ SubnetId })),
        SecurityGroups: [bench.account.nodeGroup],
        Tags: [{ Key: 'herald.dev/cluster', Value: bench.settings.clusterName }],
      });
      const arn = LoadBalancers[0]?.LoadBalancerArn ?? '';
      bench.apply(service('web', [http], { annotations: { 'herald.dev/aws-load-balancer': arn } }));
      await bench.settle();
      expect(await onlyNlb(bench)).toMatchObject({ arn, listeners: [{ port: 80 }] });
      await expectStable(bench);
      bench.remove('default/web');
      await bench.settle();
      expect(await accountState(bench)).toMatchObject({ ...nothing, nlbs: [{ arn, listeners: [] }] });
      await bench.cloud.call('elbv2:DeleteLoadBalancer', { LoadBalancerArn: arn });
    },
  },
  {
    name: 'what is disowned stays as it is, without our tags, an NLB and a Classic ELB alike',
    async run(bench) {
      bench.apply(service('web', [http]));
      bench.apply(service('old', [http], { spec: classic }));
      await bench.settle();
      const before = await accountState(bench);
      bench.disown('default/web');
      bench.disown('default/old');
      await bench.settle();
      expect(await accountState(bench)).toEqual(before);
      expect(Object.keys(await tags(bench)).filter((key) => key.startsWith('herald.dev/'))).toEqual([]);
      const [balancer] = before.classic;
      const { TagDescriptions } = await bench.cloud.call('elb:DescribeTags', { LoadBalancerNames: [balancer?.name ?? ''] });
      expect(TagDescriptions.flatMap(({ Tags }) => Tags)).toEqual([]);
      await bench.cloud.call('elbv2:DeleteLoadBalancer', { LoadBalancerArn: before.nlbs[0]?.arn ?? '' });
      await bench.cloud.call('elb:DeleteLoadBalancer', { LoadBalancerName: balancer?.name ?? '' });
    },
  },
  {
    name: 'attributes, an SSL policy and source ranges of a Classic ELB come and go with what asks for them',
    async run(bench) {
      const { web } = bench.account.certificates;
      const attributes = async (): Promise<unknown> => {
        const LoadBalancerName = (await accountState(bench)).classic[0]?.name ?? '';
        return (await bench.cloud.call('elb:DescribeLoadBalancerAttributes', { LoadBalancerName })).LoadBalancerAttributes;
      };
      const annotations = {
        'ssl-cert': web,
        'ssl-negotiation-policy': 'ELBSecurityPolicy-TLS-1-2-2017-01',
        'connection-draining-enabled': 'true',
        'connection-draining-timeout': '20',
        'connection-idle-timeout': '120',
        'cross-zone-load-balancing-enabled': 'true',
      };
      bench.apply(service('web', [https], { annotations, spec: { ...classic, loadBalancerSourceRanges: ['192.0.2.0/24'] } }));
      await bench.settle();
      expect(await attributes()).toMatchObject({
        CrossZoneLoadBalancing: { Enabled: true },
        ConnectionDraining: { Enabled: true, Timeout: 20 },
        ConnectionSettings: { IdleTimeout: 120 },
      });
      expect(clientRules(await accountState(bench))).toContain('tcp 443-443 from 192.0.2.0/24');
      await expectStable(bench);
      bench.apply(service('web', [https], { annotations: { 'ssl-cert': web }, spec: classic }));
      await bench.settle();
      expect(await attributes()).toMatchObject({
        CrossZoneLoadBalancing: { Enabled: false },
        ConnectionDraining: { Enabled: false },
        ConnectionSettings: { IdleTimeout: 60 },
      });
      expect(clientRules(await accountState(bench))).toContain('tcp 443-443 from 0.0.0.0/0');
      await expectStable(bench);
    },
  },
];
