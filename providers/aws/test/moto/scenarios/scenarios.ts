import { expect } from 'vitest';
import { annotationScenarios } from './annotations.ts';
import { requestedFeatureScenarios } from './requested-features.ts';
import {
  classic,
  clientRules,
  dnsTcp,
  dnsUdp,
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

const usual: readonly Scenario[] = [
  {
    name: 'an NLB for TCP has a listener, a target group with all nodes, and a hostname once active',
    async run(fixture) {
      fixture.apply(service('web', [http]));
      const results = await fixture.settle();
      const nlb = await onlyNlb(fixture);
      expect(nlb).toMatchObject({
        scheme: 'internal',
        subnets: [...fixture.account.privateSubnets].toSorted(),
        listeners: [
          {
            port: 80,
            protocol: 'TCP',
            targetGroup: {
              protocol: 'TCP',
              port: 30_080,
              targetType: 'instance',
              healthCheck: { protocol: 'TCP', port: 'traffic-port' },
              targets: nodeTargets(fixture, 30_080),
            },
          },
        ],
      });
      expect(results.get('default/web')?.servingStatus.get('default/web')?.hostname).toBe(nlb.dnsName);
      await expectStable(fixture);
    },
  },
  {
    name: 'an NLB has a TLS certificate on one of two ports',
    async run(fixture) {
      const { web } = fixture.account.certificates;
      fixture.apply(service('web', [http, https], { annotations: { 'ssl-cert': web, 'ssl-ports': 'https' } }));
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners).toMatchObject([
        { port: 80, protocol: 'TCP' },
        { port: 443, protocol: 'TLS', certificate: web, targetGroup: { protocol: 'TCP', port: 30_443 } },
      ]);
      await expectStable(fixture);
    },
  },
  {
    name: 'an NLB also encrypts to the pods',
    async run(fixture) {
      const { web } = fixture.account.certificates;
      fixture.apply(service('web', [https], { annotations: { 'ssl-cert': web, 'backend-protocol': 'ssl' } }));
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners).toMatchObject([{ protocol: 'TLS', targetGroup: { protocol: 'TLS' } }]);
      await expectStable(fixture);
    },
  },
  {
    name: 'the first of two certificates is the default, and the second is added and removed',
    async run(fixture) {
      const { web, other } = fixture.account.certificates;
      fixture.apply(service('web', [https], { annotations: { 'ssl-cert': `${web},${other}` } }));
      await fixture.settle();
      const added = async (): Promise<readonly string[]> => {
        const { Listeners } = await fixture.cloud.call('elbv2:DescribeListeners', { LoadBalancerArn: (await onlyNlb(fixture)).arn });
        const input = { ListenerArn: Listeners[0]?.ListenerArn ?? '' };
        const { Certificates } = await fixture.cloud.call('elbv2:DescribeListenerCertificates', input);
        return Certificates.filter(({ IsDefault }) => !IsDefault).map(({ CertificateArn }) => CertificateArn);
      };
      expect(await added()).toEqual([other]);
      await expectStable(fixture);
      fixture.apply(service('web', [https], { annotations: { 'ssl-cert': web } }));
      await fixture.settle();
      expect(await added()).toEqual([]);
    },
  },
  {
    name: 'policy Local checks nodes at healthCheckNodePort, and policy Cluster by TCP',
    async run(fixture) {
      const local = { externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 };
      fixture.apply(service('web', [http], { spec: local }));
      await fixture.settle();
      const [before] = (await onlyNlb(fixture)).listeners;
      expect(before?.targetGroup?.healthCheck).toEqual({ protocol: 'HTTP', port: '32000', path: '/healthz' });
      await expectStable(fixture);
      fixture.apply(service('web', [http], { spec: { externalTrafficPolicy: 'Cluster' } }));
      await fixture.settle();
      const [after] = (await onlyNlb(fixture)).listeners;
      expect(after?.targetGroup?.healthCheck).toEqual({ protocol: 'TCP', port: 'traffic-port' });
      expect((await accountState(fixture)).looseTargetGroups).toEqual([]);
      await expectStable(fixture);
    },
  },
  {
    name: 'a UDP port gets a UDP listener',
    async run(fixture) {
      fixture.apply(service('dns', [dnsUdp]));
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners).toMatchObject([
        { port: 53, protocol: 'UDP', targetGroup: { protocol: 'UDP', port: 30_053 } },
      ]);
      expect(clientRules(await accountState(fixture))).toEqual(['udp 53-53 from 0.0.0.0/0']);
      await expectStable(fixture);
    },
  },
  {
    name: 'TCP and UDP on one port share a TCP_UDP listener',
    async run(fixture) {
      fixture.apply(service('dns', [dnsUdp, dnsTcp]));
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners).toMatchObject([
        {
          port: 53,
          protocol: 'TCP_UDP',
          targetGroup: { protocol: 'TCP_UDP', port: 30_053, healthCheck: { protocol: 'TCP', port: 'traffic-port' } },
        },
      ]);
      expect(clientRules(await accountState(fixture))).toEqual(['tcp 53-53 from 0.0.0.0/0', 'udp 53-53 from 0.0.0.0/0']);
      await expectStable(fixture);
    },
  },
  {
    name: 'the rules of the security group follow the source ranges',
    async run(fixture) {
      fixture.apply(service('web', [http, https], { spec: { loadBalancerSourceRanges: ['192.0.2.0/24', '198.51.100.0/24'] } }));
      await fixture.settle();
      expect(clientRules(await accountState(fixture))).toEqual([
        'tcp 443-443 from 192.0.2.0/24',
        'tcp 443-443 from 198.51.100.0/24',
        'tcp 80-80 from 192.0.2.0/24',
        'tcp 80-80 from 198.51.100.0/24',
      ]);
      await expectStable(fixture);
      fixture.apply(service('web', [http], { spec: { loadBalancerSourceRanges: ['192.0.2.0/24'] } }));
      await fixture.settle();
      expect(clientRules(await accountState(fixture))).toEqual(['tcp 80-80 from 192.0.2.0/24']);
    },
  },
  {
    name: 'a change of scheme deletes the old load balancer only after the new one serves',
    async run(fixture) {
      fixture.apply(service('web', [http]));
      await fixture.settle();
      const before = await onlyNlb(fixture);
      fixture.takeWrites();
      fixture.apply(service('web', [http], { annotations: { scheme: 'internet-facing' } }));
      const results = await fixture.settle(async () => {
        const { LoadBalancers } = await fixture.cloud.call('elbv2:DescribeLoadBalancers', {});
        expect(LoadBalancers.filter(({ State }) => State.Code === 'active')).not.toEqual([]);
      });
      const after = await onlyNlb(fixture);
      expect(after).toMatchObject({ scheme: 'internet-facing', subnets: [...fixture.account.publicSubnets].toSorted() });
      expect(after.listeners[0]?.targetGroup?.targets).toEqual(nodeTargets(fixture, 30_080));
      expect(after.arn).not.toBe(before.arn);
      expect(results.get('default/web')?.servingStatus.get('default/web')?.hostname).toBe(after.dnsName);
      const writes = fixture.takeWrites();
      expect(writes.indexOf('elbv2:CreateLoadBalancer')).toBeGreaterThanOrEqual(0);
      expect(writes.indexOf('elbv2:DeleteLoadBalancer')).toBeGreaterThan(writes.indexOf('elbv2:CreateLoadBalancer'));
      expect((await accountState(fixture)).looseTargetGroups).toEqual([]);
    },
  },
  {
    name: 'new nodes are registered before old ones are deregistered',
    async run(fixture) {
      fixture.removeNode(2);
      fixture.apply(service('web', [http]));
      await fixture.settle();
      const { instance = '' } = fixture.account.nodes[2] ?? {};
      const registered = async (): Promise<readonly string[]> => (await onlyNlb(fixture)).listeners[0]?.targetGroup?.targets ?? [];
      expect(await registered()).not.toContain(`${instance}:30080`);
      fixture.takeWrites();
      fixture.addNode(2);
      fixture.removeNode(0);
      await fixture.pass();
      expect(await registered()).toEqual(nodeTargets(fixture, 30_080));
      await fixture.settle();
      expect(await registered()).toEqual(
        nodeTargets(fixture, 30_080).filter((one) => !one.startsWith(fixture.account.nodes[0]?.instance ?? '')),
      );
      expect(fixture.takeWrites()).toEqual(['elbv2:RegisterTargets', 'elbv2:DeregisterTargets']);
    },
  },
  {
    name: 'listeners follow added and removed ports',
    async run(fixture) {
      fixture.apply(service('web', [http]));
      await fixture.settle();
      const before = await onlyNlb(fixture);
      fixture.apply(service('web', [http, https]));
      await fixture.settle();
      const both = await onlyNlb(fixture);
      expect(both.arn).toBe(before.arn);
      expect(both.listeners.map(({ port }) => port)).toEqual([80, 443]);
      fixture.apply(service('web', [https]));
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners.map(({ port }) => port)).toEqual([443]);
      expect((await accountState(fixture)).looseTargetGroups).toEqual([]);
      await expectStable(fixture);
    },
  },
  {
    name: 'a new certificate on an NLB keeps the listener',
    async run(fixture) {
      const { web, other } = fixture.account.certificates;
      fixture.apply(service('web', [https], { annotations: { 'ssl-cert': web } }));
      await fixture.settle();
      fixture.takeWrites();
      fixture.apply(service('web', [https], { annotations: { 'ssl-cert': other } }));
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners).toMatchObject([{ protocol: 'TLS', certificate: other }]);
      expect(fixture.takeWrites()).toEqual(['elbv2:ModifyListener']);
    },
  },
  {
    name: 'a port gets its first certificate',
    async run(fixture) {
      fixture.apply(service('web', [https]));
      await fixture.settle();
      fixture.takeWrites();
      fixture.apply(service('web', [https], { annotations: { 'ssl-cert': fixture.account.certificates.web } }));
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners).toMatchObject([{ protocol: 'TLS', certificate: fixture.account.certificates.web }]);
      expect(fixture.takeWrites()).not.toContain('elbv2:DeleteListener');
    },
  },
  {
    name: 'a Classic ELB terminates HTTPS and sends HTTP to the pods',
    async run(fixture) {
      const { web } = fixture.account.certificates;
      const annotations = { 'ssl-cert': web, 'ssl-ports': '443', 'backend-protocol': 'http', scheme: 'internet-facing' };
      fixture.apply(service('web', [http, https], { annotations, spec: classic }));
      const results = await fixture.settle();
      const { classic: balancers } = await accountState(fixture);
      expect(balancers).toMatchObject([
        {
          scheme: 'internet-facing',
          listeners: [
            { port: 80, protocol: 'HTTP', instancePort: 30_080, instanceProtocol: 'HTTP' },
            { port: 443, protocol: 'HTTPS', instancePort: 30_443, instanceProtocol: 'HTTP', certificate: web },
          ],
          healthCheck: 'TCP:30080',
          instances: fixture.account.nodes.map(({ instance }) => instance).toSorted(),
        },
      ]);
      expect(results.get('default/web')?.servingStatus.get('default/web')?.hostname).toBe(balancers[0]?.dnsName);
      await expectStable(fixture);
    },
  },
  {
    name: 'a new certificate on a Classic ELB keeps the listener',
    async run(fixture) {
      const { web, iam } = fixture.account.certificates;
      fixture.apply(service('web', [https], { annotations: { 'ssl-cert': web }, spec: classic }));
      await fixture.settle();
      expect((await accountState(fixture)).classic).toMatchObject([
        { listeners: [{ protocol: 'SSL', instanceProtocol: 'TCP', certificate: web }] },
      ]);
      fixture.takeWrites();
      fixture.apply(service('web', [https], { annotations: { 'ssl-cert': iam }, spec: classic }));
      await fixture.settle();
      expect((await accountState(fixture)).classic).toMatchObject([{ listeners: [{ protocol: 'SSL', certificate: iam }] }]);
      expect(fixture.takeWrites()).toEqual(['elb:SetLoadBalancerListenerSSLCertificate']);
    },
  },
  {
    name: 'a Classic ELB supports policy Local and the PROXY protocol',
    async run(fixture) {
      const spec = { ...classic, externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 };
      fixture.apply(service('web', [http], { annotations: { 'proxy-protocol': '*' }, spec }));
      await fixture.settle();
      expect((await accountState(fixture)).classic).toMatchObject([{ healthCheck: 'HTTP:32000/healthz' }]);
      const { LoadBalancerDescriptions } = await fixture.cloud.call('elb:DescribeLoadBalancers', {});
      expect(LoadBalancerDescriptions[0]?.BackendServerDescriptions).toMatchObject([
        { InstancePort: 30_080, PolicyNames: [expect.any(String)] },
      ]);
      await expectStable(fixture);
    },
  },
  {
    name: 'a deleted Service leaves no NLB and no Classic ELB',
    async run(fixture) {
      fixture.apply(service('web', [http, https], { annotations: { 'ssl-cert': fixture.account.certificates.web } }));
      fixture.apply(service('old', [http], { spec: classic }));
      await fixture.settle();
      fixture.remove('default/web');
      fixture.remove('default/old');
      const results = await fixture.settle();
      const picture = await accountState(fixture);
      expect(picture).toMatchObject(nothing);
      // The shared security group stays for other load balancers.
      expect(Object.keys(picture.securityGroups).filter((name) => !name.startsWith('herald-backend-'))).toEqual([]);
      expect([...results.values()].map(({ gone }) => gone)).toEqual([true, true]);
    },
  },
  {
    name: 'two Services share an NLB, and a deleted one only removes its ports',
    async run(fixture) {
      const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
      fixture.apply(service('web', [http], { annotations: shared }));
      fixture.apply(service('api', [https], { annotations: shared }));
      await fixture.settle();
      const both = await onlyNlb(fixture);
      expect(both.listeners.map(({ port, targetGroup }) => [port, targetGroup?.port])).toEqual([
        [80, 30_080],
        [443, 30_443],
      ]);
      fixture.remove('default/api');
      await fixture.settle();
      const left = await onlyNlb(fixture);
      expect(left.arn).toBe(both.arn);
      expect(left.listeners.map(({ port }) => port)).toEqual([80]);
      expect((await accountState(fixture)).looseTargetGroups).toEqual([]);
      fixture.remove('default/web');
      await fixture.settle();
      expect(await accountState(fixture)).toMatchObject(nothing);
    },
  },
  {
    name: 'changes made by hand are repaired',
    async run(fixture) {
      fixture.apply(service('web', [http, https]));
      await fixture.settle();
      const before = await accountState(fixture);
      const [nlb] = before.nlbs;
      const { Listeners } = await fixture.cloud.call('elbv2:DescribeListeners', { LoadBalancerArn: nlb?.arn ?? '' });
      const gone = Listeners.find(({ Port }) => Port === 80);
      await fixture.cloud.call('elbv2:DeleteListener', { ListenerArn: gone?.ListenerArn ?? '' });
      const group = nlb?.listeners.find(({ port }) => port === 443)?.targetGroup;
      const TargetGroupArn = group?.arn ?? '';
      await fixture.cloud.call('elbv2:ModifyTargetGroup', { TargetGroupArn, HealthCheckPort: '9999' });
      await fixture.cloud.call('elbv2:DeregisterTargets', {
        TargetGroupArn,
        Targets: [{ Id: fixture.account.nodes[0]?.instance ?? '', Port: 30_443 }],
      });
      const Filters = [{ Name: 'tag:herald.dev/resource', Values: ['security-group'] }];
      const { SecurityGroups } = await fixture.cloud.call('ec2:DescribeSecurityGroups', { Filters });
      const [front] = SecurityGroups;
      const IpPermissions = (front?.IpPermissions ?? []).slice(0, 1);
      expect(IpPermissions).toHaveLength(1);
      await fixture.cloud.call('ec2:RevokeSecurityGroupIngress', { GroupId: front?.GroupId ?? '', IpPermissions });
      await fixture.settle();
      expect(await accountState(fixture)).toEqual(before);
      await expectStable(fixture);
    },
  },
  {
    name: 'an NLB is adopted by its name and stays when the Service is deleted',
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
      const [made] = LoadBalancers;
      fixture.apply(service('web', [http], { annotations: { 'herald.dev/aws-load-balancer': 'by-hand' } }));
      const results = await fixture.settle();
      const adopted = await onlyNlb(fixture);
      expect(adopted.arn).toBe(made?.LoadBalancerArn);
      expect(adopted.listeners).toMatchObject([{ port: 80, targetGroup: { port: 30_080 } }]);
      const seen = await fixture.cloud.call('elbv2:DescribeLoadBalancers', { LoadBalancerArns: [adopted.arn] });
      expect(seen.LoadBalancers[0]?.SecurityGroups).toEqual([fixture.account.nodeGroup]);
      expect(results.get('default/web')?.servingStatus.get('default/web')?.hostname).toBe(adopted.dnsName);
      await expectStable(fixture);
      fixture.remove('default/web');
      await fixture.settle();
      expect(await accountState(fixture)).toMatchObject({ ...nothing, nlbs: [{ arn: adopted.arn, listeners: [] }] });
    },
  },
  {
    name: 'an NLB without the tag of its owner is not adopted and stays unchanged',
    async run(fixture) {
      const { LoadBalancers } = await fixture.cloud.call('elbv2:CreateLoadBalancer', {
        Name: 'by-hand',
        Type: 'network',
        Scheme: 'internal',
        IpAddressType: 'ipv4',
        SubnetMappings: fixture.account.privateSubnets.map((SubnetId) => ({ SubnetId })),
        SecurityGroups: [fixture.account.nodeGroup],
        Tags: [{ Key: 'made-by', Value: 'terraform' }],
      });
      const [made] = LoadBalancers;
      fixture.apply(service('web', [http], { annotations: { 'herald.dev/aws-load-balancer': 'by-hand' } }));
      const refused = await fixture.pass();
      expect(JSON.stringify([...refused.values()].flatMap(({ errors }) => [...errors.values()]))).toContain('AwsForeignLoadBalancer');
      expect(await onlyNlb(fixture)).toMatchObject({ arn: made?.LoadBalancerArn, listeners: [] });
      fixture.remove('default/web');
      await fixture.settle();
      expect(await accountState(fixture)).toMatchObject({ ...nothing, nlbs: [{ arn: made?.LoadBalancerArn, listeners: [] }] });
    },
  },
  {
    name: 'deletion protection is respected and reported',
    async run(fixture) {
      fixture.apply(service('web', [http], { annotations: { attributes: 'deletion_protection.enabled=true' } }));
      await fixture.settle();
      const { arn } = await onlyNlb(fixture);
      fixture.remove('default/web');
      const refused = await fixture.pass();
      expect(JSON.stringify([...refused.values()].flatMap(({ errors }) => [...errors.values()]))).toContain('AwsDeletionProtected');
      expect((await onlyNlb(fixture)).arn).toBe(arn);
      const Attributes = [{ Key: 'deletion_protection.enabled', Value: 'false' }];
      await fixture.cloud.call('elbv2:ModifyLoadBalancerAttributes', { LoadBalancerArn: arn, Attributes });
      await fixture.settle();
      expect(await accountState(fixture)).toMatchObject(nothing);
    },
  },
  {
    name: 'a throttled reconcile is continued by the next one without duplicates',
    async run(fixture) {
      fixture.apply(service('web', [http, https]));
      fixture.throttle(3);
      await fixture.settle();
      fixture.throttle(1);
      fixture.apply(service('web', [http, https, { ...http, name: 'alt', port: 8080, nodePort: 30_081 }]));
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners.map(({ port }) => port)).toEqual([80, 443, 8080]);
      expect((await accountState(fixture)).looseTargetGroups).toEqual([]);
      await expectStable(fixture);
    },
  },
];

export const scenarios: readonly Scenario[] = [...usual, ...annotationScenarios, ...requestedFeatureScenarios];
