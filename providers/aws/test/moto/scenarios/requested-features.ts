import { expect } from 'vitest';
import { accountState, expectStable, http, https, nothing, onlyNlb, service, type Scenario } from './scenario.ts';

/** Features of NLBs that users of other controllers ask for. */
export const requestedFeatureScenarios: readonly Scenario[] = [
  {
    name: 'reserved capacity follows its annotation',
    async run(fixture) {
      const reserved = async (): Promise<number | undefined> => {
        const { arn: LoadBalancerArn } = await onlyNlb(fixture);
        const answer = await fixture.cloud.call('elbv2:DescribeCapacityReservation', { LoadBalancerArn });
        return answer.MinimumLoadBalancerCapacity?.CapacityUnits;
      };
      fixture.apply(service('web', [http], { annotations: { 'minimum-load-balancer-capacity': 'CapacityUnits=3000' } }));
      await fixture.settle();
      expect(await reserved()).toBe(3000);
      await expectStable(fixture);
      fixture.apply(service('web', [http]));
      await fixture.settle();
      expect(await reserved()).toBeUndefined();
      await expectStable(fixture);
    },
  },
  {
    name: 'an NLB has a PrivateLink endpoint service as its annotations say, which is deleted before it',
    async run(fixture) {
      const name = 'herald.dev/aws-endpoint-service';
      const accounts = ['arn:aws:iam::111111111111:root', 'arn:aws:iam::222222222222:root'];
      const observed = async () => {
        const { ServiceConfigurations } = await fixture.cloud.call('ec2:DescribeVpcEndpointServiceConfigurations', { Filters: [] });
        const own = ServiceConfigurations.filter(({ Tags }) =>
          Tags.some(({ Key, Value }) => Key === 'herald.dev/stack' && Value === 'default/link'),
        );
        return Promise.all(
          own.map(async ({ ServiceId, AcceptanceRequired, PrivateDnsName, NetworkLoadBalancerArns }) => {
            const { AllowedPrincipals } = await fixture.cloud.call('ec2:DescribeVpcEndpointServicePermissions', { ServiceId });
            const principals = AllowedPrincipals.map(({ Principal }) => Principal).toSorted();
            return { ServiceId, AcceptanceRequired, PrivateDnsName, NetworkLoadBalancerArns, principals };
          }),
        );
      };
      const annotations = { [name]: 'true', [`${name}-allowed-principals`]: accounts.join(','), [`${name}-acceptance-required`]: 'false' };
      fixture.apply(service('link', [http], { annotations }));
      const results = await fixture.settle();
      const { arn } = await onlyNlb(fixture);
      const [first, ...more] = await observed();
      expect([first, more]).toEqual([
        {
          ServiceId: first?.ServiceId,
          AcceptanceRequired: false,
          PrivateDnsName: undefined,
          NetworkLoadBalancerArns: [arn],
          principals: accounts,
        },
        [],
      ]);
      expect(results.get('default/link')?.endpointService).toMatch(new RegExp(String.raw`^com\.amazonaws\.vpce\..+\.${first?.ServiceId}$`));
      await expectStable(fixture);

      const changed = {
        [name]: 'true',
        [`${name}-allowed-principals`]: accounts[1] ?? '',
        [`${name}-private-dns-name`]: 'shop.example.com',
      };
      fixture.apply(service('link', [http], { annotations: changed }));
      await fixture.settle();
      expect(await observed()).toMatchObject([
        { ServiceId: first?.ServiceId, AcceptanceRequired: true, PrivateDnsName: 'shop.example.com', principals: [accounts[1]] },
      ]);
      await expectStable(fixture);

      // Another program changes it.
      const ServiceId = first?.ServiceId ?? '';
      await fixture.cloud.call('ec2:ModifyVpcEndpointServiceConfiguration', { ServiceId, AcceptanceRequired: false });
      await fixture.cloud.call('ec2:ModifyVpcEndpointServicePermissions', { ServiceId, AddAllowedPrincipals: ['*'] });
      await fixture.settle();
      expect(await observed()).toMatchObject([{ AcceptanceRequired: true, principals: [accounts[1]] }]);

      fixture.apply(service('link', [http]));
      await fixture.settle();
      expect(await observed()).toEqual([]);
      await expectStable(fixture);
      fixture.apply(service('link', [http], { annotations: { [name]: 'true' } }));
      await fixture.settle();
      expect(await observed()).toMatchObject([{ principals: [] }]);
      fixture.takeWrites();
      fixture.remove('default/link');
      await fixture.settle();
      expect(await observed()).toEqual([]);
      expect(await accountState(fixture)).toMatchObject(nothing);
      const deletions = fixture.takeWrites().filter((operation) => /DeleteVpcEndpointService|DeleteLoadBalancer/.test(operation));
      expect(deletions).toEqual(['ec2:DeleteVpcEndpointServiceConfigurations', 'elbv2:DeleteLoadBalancer']);
    },
  },
  {
    name: 'a listener divides its connections between two Services',
    async run(fixture) {
      const shares = async (): Promise<readonly string[]> => {
        const [listener] = (await onlyNlb(fixture)).listeners;
        return (listener?.weights ?? []).map(({ weight, targets }) => `${weight}: ${targets.join(' ')}`);
      };
      const web = (...weights: readonly number[]) => {
        const [baseServiceWeight, weight] = weights;
        const targetGroups = [{ serviceName: 'canary', servicePort: 'http', weight }];
        const json = JSON.stringify({ type: 'forward', forwardConfig: { baseServiceWeight, targetGroups } });
        const annotations = {
          'nlb-target-type': 'ip',
          ...(weights.length === 0 ? {} : { 'service.beta.kubernetes.io/actions.TCP-80': json }),
        };
        return service('web', [http], { annotations });
      };
      fixture.setPods('web', { name: 'http', port: 8080 }, ['10.0.100.5']);
      fixture.setPods('canary', { name: 'http', port: 8080 }, ['10.0.100.6']);
      fixture.apply(web());
      const { name, port, targetPort, protocol } = http;
      const canary = service('canary', [http]);
      fixture.apply({ ...canary, spec: { type: 'ClusterIP', ports: [{ name, port, targetPort, protocol }] } });
      await fixture.settle();
      expect(await shares()).toEqual(['1: 10.0.100.5:8080']);
      fixture.apply(web(90, 10));
      await fixture.settle();
      expect(await shares()).toEqual(['90: 10.0.100.5:8080', '10: 10.0.100.6:8080']);
      await expectStable(fixture);
      fixture.apply(web(10, 90));
      await fixture.settle();
      expect(fixture.takeWrites()).toEqual(['elbv2:ModifyListener']);
      expect(await shares()).toEqual(['10: 10.0.100.5:8080', '90: 10.0.100.6:8080']);
      fixture.setPods('canary', { name: 'http', port: 8080 }, ['10.0.100.7']);
      await fixture.settle();
      expect(await shares()).toEqual(['10: 10.0.100.5:8080', '90: 10.0.100.7:8080']);
      fixture.apply(web());
      await fixture.settle();
      expect(await shares()).toEqual(['1: 10.0.100.5:8080']);
      fixture.remove('default/web');
      await fixture.settle();
      expect(await accountState(fixture)).toMatchObject(nothing);
    },
  },
  {
    name: 'Services of two namespaces share an NLB if both agree',
    async run(fixture) {
      const name = 'herald.dev/aws-shared-load-balancer';
      const guest = service('api', [https], { annotations: { [name]: 'default/edge' } });
      fixture.apply(service('web', [http], { annotations: { [name]: 'edge' } }));
      fixture.apply({ ...guest, metadata: { ...guest.metadata, namespace: 'payments' } });
      const refused = await fixture.settle();
      expect(JSON.stringify([...(refused.get('shared:default/edge')?.errors ?? [])])).toContain('AwsSharedNotAdmitted');
      expect((await onlyNlb(fixture)).listeners.map(({ port }) => port)).toEqual([80]);
      fixture.apply(service('web', [http], { annotations: { [name]: 'edge', [`${name}-namespaces`]: 'payments' } }));
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners.map(({ port }) => port)).toEqual([80, 443]);
      await expectStable(fixture);
      fixture.remove('payments/api');
      await fixture.settle();
      expect((await onlyNlb(fixture)).listeners.map(({ port }) => port)).toEqual([80]);
      fixture.remove('default/web');
      await fixture.settle();
      expect(await accountState(fixture)).toMatchObject(nothing);
    },
  },
];
