import { expect } from 'vitest';
import { expectStable, http, onlyNlb, service, type Scenario } from './scenario.ts';

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
];
