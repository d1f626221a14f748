import { expect } from 'vitest';
import { annotationScenarios } from './annotations.ts';
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
    name: 'an NLB for TCP: one listener, one target group, all nodes, and its name once it is usable',
    async run(bench) {
      bench.apply(service('web', [http]));
      const results = await bench.settle();
      const nlb = await onlyNlb(bench);
      expect(nlb).toMatchObject({
        scheme: 'internal',
        subnets: [...bench.account.privateSubnets].toSorted(),
        listeners: [
          {
            port: 80,
            protocol: 'TCP',
            targetGroup: {
              protocol: 'TCP',
              port: 30_080,
              targetType: 'instance',
              healthCheck: { protocol: 'TCP', port: 'traffic-port' },
              targets: nodeTargets(bench, 30_080),
            },
          },
        ],
      });
      expect(results.get('default/web')?.servingStatus.get('default/web')?.hostname).toBe(nlb.dnsName);
      await expectStable(bench);
    },
  },
  {
    name: 'an NLB with a TLS certificate on one of two ports',
    async run(bench) {
      const { web } = bench.account.certificates;
      bench.apply(service('web', [http, https], { annotations: { 'ssl-cert': web, 'ssl-ports': 'https' } }));
      await bench.settle();
      expect((await onlyNlb(bench)).listeners).toMatchObject([
        { port: 80, protocol: 'TCP' },
        { port: 443, protocol: 'TLS', certificate: web, targetGroup: { protocol: 'TCP', port: 30_443 } },
      ]);
      await expectStable(bench);
    },
  },
  {
    name: 'an NLB that encrypts to the pods as well',
    async run(bench) {
      const { web } = bench.account.certificates;
      bench.apply(service('web', [https], { annotations: { 'ssl-cert': web, 'backend-protocol': 'ssl' } }));
      await bench.settle();
      expect((await onlyNlb(bench)).listeners).toMatchObject([{ protocol: 'TLS', targetGroup: { protocol: 'TLS' } }]);
      await expectStable(bench);
    },
  },
  {
    name: 'two certificates: the first is the default, the second is added, and goes when it is no longer wanted',
    async run(bench) {
      const { web, other } = bench.account.certificates;
      bench.apply(service('web', [https], { annotations: { 'ssl-cert': `${web},${other}` } }));
      await bench.settle();
      const added = async (): Promise<readonly string[]> => {
        const { Listeners } = await bench.cloud.call('elbv2:DescribeListeners', { LoadBalancerArn: (await onlyNlb(bench)).arn });
        const input = { ListenerArn: Listeners[0]?.ListenerArn ?? '' };
        const { Certificates } = await bench.cloud.call('elbv2:DescribeListenerCertificates', input);
        return Certificates.filter(({ IsDefault }) => !IsDefault).map(({ CertificateArn }) => CertificateArn);
      };
      expect(await added()).toEqual([other]);
      await expectStable(bench);
      bench.apply(service('web', [https], { annotations: { 'ssl-cert': web } }));
      await bench.settle();
      expect(await added()).toEqual([]);
    },
  },
  {
    name: 'externalTrafficPolicy Local: nodes are checked by healthCheckNodePort, and by TCP again after a change to Cluster',
    async run(bench) {
      const local = { externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 };
      bench.apply(service('web', [http], { spec: local }));
      await bench.settle();
      const [before] = (await onlyNlb(bench)).listeners;
      expect(before?.targetGroup?.healthCheck).toEqual({ protocol: 'HTTP', port: '32000', path: '/healthz' });
      await expectStable(bench);
      bench.apply(service('web', [http], { spec: { externalTrafficPolicy: 'Cluster' } }));
      await bench.settle();
      const [after] = (await onlyNlb(bench)).listeners;
      expect(after?.targetGroup?.healthCheck).toEqual({ protocol: 'TCP', port: 'traffic-port' });
      expect((await accountState(bench)).looseTargetGroups).toEqual([]);
      await expectStable(bench);
    },
  },
  {
    name: 'UDP',
    async run(bench) {
      bench.apply(service('dns', [dnsUdp]));
      await bench.settle();
      expect((await onlyNlb(bench)).listeners).toMatchObject([
        { port: 53, protocol: 'UDP', targetGroup: { protocol: 'UDP', port: 30_053 } },
      ]);
      expect(clientRules(await accountState(bench))).toEqual(['udp 53-53 from 0.0.0.0/0']);
      await expectStable(bench);
    },
  },
  {
    name: 'TCP and UDP on one port are one TCP_UDP listener',
    async run(bench) {
      bench.apply(service('dns', [dnsUdp, dnsTcp]));
      await bench.settle();
      expect((await onlyNlb(bench)).listeners).toMatchObject([
        {
          port: 53,
          protocol: 'TCP_UDP',
          targetGroup: { protocol: 'TCP_UDP', port: 30_053, healthCheck: { protocol: 'TCP', port: 'traffic-port' } },
        },
      ]);
      expect(clientRules(await accountState(bench))).toEqual(['tcp 53-53 from 0.0.0.0/0', 'udp 53-53 from 0.0.0.0/0']);
      await expectStable(bench);
    },
  },
  {
    name: 'source ranges are the rules of its security group, and change with them',
    async run(bench) {
      bench.apply(service('web', [http, https], { spec: { loadBalancerSourceRanges: ['192.0.2.0/24', '198.51.100.0/24'] } }));
      await bench.settle();
      expect(clientRules(await accountState(bench))).toEqual([
        'tcp 443-443 from 192.0.2.0/24',
        'tcp 443-443 from 198.51.100.0/24',
        'tcp 80-80 from 192.0.2.0/24',
        'tcp 80-80 from 198.51.100.0/24',
      ]);
      await expectStable(bench);
      bench.apply(service('web', [http], { spec: { loadBalancerSourceRanges: ['192.0.2.0/24'] } }));
      await bench.settle();
      expect(clientRules(await accountState(bench))).toEqual(['tcp 80-80 from 192.0.2.0/24']);
    },
  },
  {
    name: 'a change of scheme makes the new load balancer, hands over, and only then removes the old one',
    async run(bench) {
      bench.apply(service('web', [http]));
      await bench.settle();
      const before = await onlyNlb(bench);
      bench.takeWrites();
      bench.apply(service('web', [http], { annotations: { scheme: 'internet-facing' } }));
      const results = await bench.settle(async () => {
        const { LoadBalancers } = await bench.cloud.call('elbv2:DescribeLoadBalancers', {});
        expect(LoadBalancers.filter(({ State }) => State.Code === 'active')).not.toEqual([]);
      });
      const after = await onlyNlb(bench);
      expect(after).toMatchObject({ scheme: 'internet-facing', subnets: [...bench.account.publicSubnets].toSorted() });
      expect(after.listeners[0]?.targetGroup?.targets).toEqual(nodeTargets(bench, 30_080));
      expect(after.arn).not.toBe(before.arn);
      expect(results.get('default/web')?.servingStatus.get('default/web')?.hostname).toBe(after.dnsName);
      const writes = bench.takeWrites();
      expect(writes.indexOf('elbv2:CreateLoadBalancer')).toBeGreaterThanOrEqual(0);
      expect(writes.indexOf('elbv2:DeleteLoadBalancer')).toBeGreaterThan(writes.indexOf('elbv2:CreateLoadBalancer'));
      expect((await accountState(bench)).looseTargetGroups).toEqual([]);
    },
  },
  {
    name: 'when nodes change, new ones are registered before old ones are deregistered',
    async run(bench) {
      bench.removeNode(2);
      bench.apply(service('web', [http]));
      await bench.settle();
      const { instance = '' } = bench.account.nodes[2] ?? {};
      const registered = async (): Promise<readonly string[]> => (await onlyNlb(bench)).listeners[0]?.targetGroup?.targets ?? [];
      expect(await registered()).not.toContain(`${instance}:30080`);
      bench.takeWrites();
      bench.addNode(2);
      bench.removeNode(0);
      await bench.pass();
      expect(await registered()).toEqual(nodeTargets(bench, 30_080));
      await bench.settle();
      expect(await registered()).toEqual(
        nodeTargets(bench, 30_080).filter((one) => !one.startsWith(bench.account.nodes[0]?.instance ?? '')),
      );
      expect(bench.takeWrites()).toEqual(['elbv2:RegisterTargets', 'elbv2:DeregisterTargets']);
    },
  },
  {
    name: 'a port that is added, and one that goes',
    async run(bench) {
      bench.apply(service('web', [http]));
      await bench.settle();
      const before = await onlyNlb(bench);
      bench.apply(service('web', [http, https]));
      await bench.settle();
      const both = await onlyNlb(bench);
      expect(both.arn).toBe(before.arn);
      expect(both.listeners.map(({ port }) => port)).toEqual([80, 443]);
      bench.apply(service('web', [https]));
      await bench.settle();
      expect((await onlyNlb(bench)).listeners.map(({ port }) => port)).toEqual([443]);
      expect((await accountState(bench)).looseTargetGroups).toEqual([]);
      await expectStable(bench);
    },
  },
  {
    name: 'another certificate on an NLB, without its listener being made anew',
    async run(bench) {
      const { web, other } = bench.account.certificates;
      bench.apply(service('web', [https], { annotations: { 'ssl-cert': web } }));
      await bench.settle();
      bench.takeWrites();
      bench.apply(service('web', [https], { annotations: { 'ssl-cert': other } }));
      await bench.settle();
      expect((await onlyNlb(bench)).listeners).toMatchObject([{ protocol: 'TLS', certificate: other }]);
      expect(bench.takeWrites()).toEqual(['elbv2:ModifyListener']);
    },
  },
  {
    name: 'a port that begins to have a certificate',
    async run(bench) {
      bench.apply(service('web', [https]));
      await bench.settle();
      bench.takeWrites();
      bench.apply(service('web', [https], { annotations: { 'ssl-cert': bench.account.certificates.web } }));
      await bench.settle();
      expect((await onlyNlb(bench)).listeners).toMatchObject([{ protocol: 'TLS', certificate: bench.account.certificates.web }]);
      expect(bench.takeWrites()).not.toContain('elbv2:DeleteListener');
    },
  },
  {
    name: 'a Classic ELB with HTTPS that speaks http to the pods',
    async run(bench) {
      const { web } = bench.account.certificates;
      const annotations = { 'ssl-cert': web, 'ssl-ports': '443', 'backend-protocol': 'http', scheme: 'internet-facing' };
      bench.apply(service('web', [http, https], { annotations, spec: classic }));
      const results = await bench.settle();
      const { classic: balancers } = await accountState(bench);
      expect(balancers).toMatchObject([
        {
          scheme: 'internet-facing',
          listeners: [
            { port: 80, protocol: 'HTTP', instancePort: 30_080, instanceProtocol: 'HTTP' },
            { port: 443, protocol: 'HTTPS', instancePort: 30_443, instanceProtocol: 'HTTP', certificate: web },
          ],
          healthCheck: 'TCP:30080',
          instances: bench.account.nodes.map(({ instance }) => instance).toSorted(),
        },
      ]);
      expect(results.get('default/web')?.servingStatus.get('default/web')?.hostname).toBe(balancers[0]?.dnsName);
      await expectStable(bench);
    },
  },
  {
    name: 'another certificate on a Classic ELB, without its listener being deleted',
    async run(bench) {
      const { web, iam } = bench.account.certificates;
      bench.apply(service('web', [https], { annotations: { 'ssl-cert': web }, spec: classic }));
      await bench.settle();
      expect((await accountState(bench)).classic).toMatchObject([
        { listeners: [{ protocol: 'SSL', instanceProtocol: 'TCP', certificate: web }] },
      ]);
      bench.takeWrites();
      bench.apply(service('web', [https], { annotations: { 'ssl-cert': iam }, spec: classic }));
      await bench.settle();
      expect((await accountState(bench)).classic).toMatchObject([{ listeners: [{ protocol: 'SSL', certificate: iam }] }]);
      expect(bench.takeWrites()).toEqual(['elb:SetLoadBalancerListenerSSLCertificate']);
    },
  },
  {
    name: 'a Classic ELB with policy Local and the PROXY protocol',
    async run(bench) {
      const spec = { ...classic, externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 };
      bench.apply(service('web', [http], { annotations: { 'proxy-protocol': '*' }, spec }));
      await bench.settle();
      expect((await accountState(bench)).classic).toMatchObject([{ healthCheck: 'HTTP:32000/healthz' }]);
      const { LoadBalancerDescriptions } = await bench.cloud.call('elb:DescribeLoadBalancers', {});
      expect(LoadBalancerDescriptions[0]?.BackendServerDescriptions).toMatchObject([
        { InstancePort: 30_080, PolicyNames: [expect.any(String)] },
      ]);
      await expectStable(bench);
    },
  },
  {
    name: 'a Service that goes leaves nothing, an NLB and a Classic ELB alike',
    async run(bench) {
      bench.apply(service('web', [http, https], { annotations: { 'ssl-cert': bench.account.certificates.web } }));
      bench.apply(service('old', [http], { spec: classic }));
      await bench.settle();
      bench.remove('default/web');
      bench.remove('default/old');
      const results = await bench.settle();
      const picture = await accountState(bench);
      expect(picture).toMatchObject(nothing);
      // That of the cluster stays for other load balancers.
      expect(Object.keys(picture.securityGroups).filter((name) => !name.startsWith('herald-backend-'))).toEqual([]);
      expect([...results.values()].map(({ gone }) => gone)).toEqual([true, true]);
    },
  },
  {
    name: 'two Services share an NLB; the one that goes takes only its ports along',
    async run(bench) {
      const shared = { 'herald.dev/aws-shared-load-balancer': 'edge' };
      bench.apply(service('web', [http], { annotations: shared }));
      bench.apply(service('api', [https], { annotations: shared }));
      await bench.settle();
      const both = await onlyNlb(bench);
      expect(both.listeners.map(({ port, targetGroup }) => [port, targetGroup?.port])).toEqual([
        [80, 30_080],
        [443, 30_443],
      ]);
      bench.remove('default/api');
      await bench.settle();
      const left = await onlyNlb(bench);
      expect(left.arn).toBe(both.arn);
      expect(left.listeners.map(({ port }) => port)).toEqual([80]);
      expect((await accountState(bench)).looseTargetGroups).toEqual([]);
      bench.remove('default/web');
      await bench.settle();
      expect(await accountState(bench)).toMatchObject(nothing);
    },
  },
  {
    name: 'what somebody changes by hand is put right again',
    async run(bench) {
      bench.apply(service('web', [http, https]));
      await bench.settle();
      const before = await accountState(bench);
      const [nlb] = before.nlbs;
      const { Listeners } = await bench.cloud.call('elbv2:DescribeListeners', { LoadBalancerArn: nlb?.arn ?? '' });
      const gone = Listeners.find(({ Port }) => Port === 80);
      await bench.cloud.call('elbv2:DeleteListener', { ListenerArn: gone?.ListenerArn ?? '' });
      const group = nlb?.listeners.find(({ port }) => port === 443)?.targetGroup;
      const TargetGroupArn = group?.arn ?? '';
      await bench.cloud.call('elbv2:ModifyTargetGroup', { TargetGroupArn, HealthCheckPort: '9999' });
      await bench.cloud.call('elbv2:DeregisterTargets', {
        TargetGroupArn,
        Targets: [{ Id: bench.account.nodes[0]?.instance ?? '', Port: 30_443 }],
      });
      const Filters = [{ Name: 'tag:herald.dev/resource', Values: ['security-group'] }];
      const { SecurityGroups } = await bench.cloud.call('ec2:DescribeSecurityGroups', { Filters });
      const [front] = SecurityGroups;
      const IpPermissions = (front?.IpPermissions ?? []).slice(0, 1);
      expect(IpPermissions).toHaveLength(1);
      await bench.cloud.call('ec2:RevokeSecurityGroupIngress', { GroupId: front?.GroupId ?? '', IpPermissions });
      await bench.settle();
      expect(await accountState(bench)).toEqual(before);
      await expectStable(bench);
    },
  },
  {
    name: 'an NLB that somebody has made is adopted by its name, and stays when the Service goes',
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
      const [made] = LoadBalancers;
      bench.apply(service('web', [http], { annotations: { 'herald.dev/aws-load-balancer': 'by-hand' } }));
      const results = await bench.settle();
      const adopted = await onlyNlb(bench);
      expect(adopted.arn).toBe(made?.LoadBalancerArn);
      expect(adopted.listeners).toMatchObject([{ port: 80, targetGroup: { port: 30_080 } }]);
      const seen = await bench.cloud.call('elbv2:DescribeLoadBalancers', { LoadBalancerArns: [adopted.arn] });
      expect(seen.LoadBalancers[0]?.SecurityGroups).toEqual([bench.account.nodeGroup]);
      expect(results.get('default/web')?.servingStatus.get('default/web')?.hostname).toBe(adopted.dnsName);
      await expectStable(bench);
      bench.remove('default/web');
      await bench.settle();
      expect(await accountState(bench)).toMatchObject({ ...nothing, nlbs: [{ arn: adopted.arn, listeners: [] }] });
    },
  },
  {
    name: 'an NLB that its owner has not tagged for the cluster is not adopted, and stays as it is',
    async run(bench) {
      const { LoadBalancers } = await bench.cloud.call('elbv2:CreateLoadBalancer', {
        Name: 'by-hand',
        Type: 'network',
        Scheme: 'internal',
        IpAddressType: 'ipv4',
        SubnetMappings: bench.account.privateSubnets.map((SubnetId) => ({ SubnetId })),
        SecurityGroups: [bench.account.nodeGroup],
        Tags: [{ Key: 'made-by', Value: 'terraform' }],
      });
      const [made] = LoadBalancers;
      bench.apply(service('web', [http], { annotations: { 'herald.dev/aws-load-balancer': 'by-hand' } }));
      const refused = await bench.pass();
      expect(JSON.stringify([...refused.values()].flatMap(({ errors }) => [...errors.values()]))).toContain('AwsForeignLoadBalancer');
      expect(await onlyNlb(bench)).toMatchObject({ arn: made?.LoadBalancerArn, listeners: [] });
      bench.remove('default/web');
      await bench.settle();
      expect(await accountState(bench)).toMatchObject({ ...nothing, nlbs: [{ arn: made?.LoadBalancerArn, listeners: [] }] });
    },
  },
  {
    name: 'deletion protection is respected, and said',
    async run(bench) {
      bench.apply(service('web', [http], { annotations: { attributes: 'deletion_protection.enabled=true' } }));
      await bench.settle();
      const { arn } = await onlyNlb(bench);
      bench.remove('default/web');
      const refused = await bench.pass();
      expect(JSON.stringify([...refused.values()].flatMap(({ errors }) => [...errors.values()]))).toContain('AwsDeletionProtected');
      expect((await onlyNlb(bench)).arn).toBe(arn);
      const Attributes = [{ Key: 'deletion_protection.enabled', Value: 'false' }];
      await bench.cloud.call('elbv2:ModifyLoadBalancerAttributes', { LoadBalancerArn: arn, Attributes });
      await bench.settle();
      expect(await accountState(bench)).toMatchObject(nothing);
    },
  },
  {
    name: 'AWS throttles in the middle: the next pass goes on where this one ended, and nothing is there twice',
    async run(bench) {
      bench.apply(service('web', [http, https]));
      bench.throttle(3);
      await bench.settle();
      bench.throttle(1);
      bench.apply(service('web', [http, https, { ...http, name: 'alt', port: 8080, nodePort: 30_081 }]));
      await bench.settle();
      expect((await onlyNlb(bench)).listeners.map(({ port }) => port)).toEqual([80, 443, 8080]);
      expect((await accountState(bench)).looseTargetGroups).toEqual([]);
      await expectStable(bench);
    },
  },
];

export const scenarios: readonly Scenario[] = [...usual, ...annotationScenarios];
