import { reason } from '../../../../src/model/reasons.ts';
import { capacityBefore } from '../../model/tags.ts';
import type { ObservedLoadBalancer, Tags } from '../../model/observed.ts';
import { planAttributes } from './attributes.ts';
import type { Steps } from './steps.ts';

/** Treated like an attribute, although AWS does not list it as one, because it also returns to its previous value. */
const key = 'capacity_units';
const defaults: Tags = { [key]: '0' };

/** Returns the capacity as an attribute, for tags at creation. */
export function capacityAttribute(units: number | undefined): { readonly desired: Tags; readonly defaults: Tags } {
  return { desired: units === undefined ? {} : { [key]: `${units}` }, defaults };
}

/**
 * Plans the reserved capacity. AWS changes it only on an active load balancer, and only after it has finished the previous change, so
 * neither the reservation nor the tag with the previous one changes before. `units`: undefined if no annotation asks for capacity.
 */
export function planCapacity(steps: Steps, { loadBalancer, tags, capacity }: ObservedLoadBalancer, units: number | undefined): void {
  const { LoadBalancerArn: arn, LoadBalancerName: name, State } = loadBalancer;
  if (capacity === undefined || State.Code === 'provisioning') return;
  const states = capacity.CapacityReservationState;
  if (states.some(({ State }) => State.Code === 'pending')) {
    steps.wait('AWS to reserve the capacity of the load balancer');
    return;
  }
  const before = tags[capacityBefore];
  const { desired } = capacityAttribute(units);
  const actual = capacity.MinimumLoadBalancerCapacity?.CapacityUnits ?? 0;
  for (const { AvailabilityZone: zone = 'its zones', State } of states) {
    if (State.Code !== 'failed' || units !== actual) continue;
    steps.addProblem(reason('AwsCapacityFailed', { name, units, zone, why: State.Reason ?? 'AWS does not say why' }));
  }
  planAttributes(steps, {
    what: 'load balancer: reserved capacity',
    arn,
    actual: [{ Key: key, Value: `${actual}` }],
    tags: before === undefined ? {} : { [capacityBefore]: before },
    desired,
    defaults,
    write: (_, { [key]: value }, __, needs) => [
      steps.addAction('load balancer: reserved capacity', 'elbv2:ModifyCapacityReservation', {
        input: { LoadBalancerArn: arn, ...reservationOf(Number(value)) },
        reason: `${value} capacity units are wanted, and ${actual} are reserved`,
        needs,
        mayBeInUse: true,
      }),
    ],
  });
}

/** Plans the return to the previous reservation, for a load balancer that stays. Returns the ids of the actions. */
export function planCapacityRestored(steps: Steps, { loadBalancer, tags, capacity }: ObservedLoadBalancer): string[] {
  const before = tags[capacityBefore];
  const actual = capacity?.MinimumLoadBalancerCapacity?.CapacityUnits ?? 0;
  if (before === undefined || Number(before) === actual) return [];
  const { LoadBalancerArn: arn, LoadBalancerName: name } = loadBalancer;
  return [
    steps.addAction(`${name}: reserved capacity`, 'elbv2:ModifyCapacityReservation', {
      input: { LoadBalancerArn: arn, ...reservationOf(Number(before)) },
      reason: 'its previous reservation is restored',
      mayBeInUse: true,
    }),
  ];
}

function reservationOf(units: number): { MinimumLoadBalancerCapacity?: { CapacityUnits: number }; ResetCapacityReservation?: boolean } {
  return units === 0 ? { ResetCapacityReservation: true } : { MinimumLoadBalancerCapacity: { CapacityUnits: units } };
}
