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
