import type { AwsErrorCode } from '../../cloud/error.ts';
import type { SubnetMapping } from '../../cloud/elbv2.ts';
import { mappingOf, mappingText, parseMapping } from '../../model/addresses.ts';
import type { Observed, ObservedLoadBalancer } from '../../model/observed.ts';
import { tagKeys } from '../../model/tags.ts';
import type { Steps } from '../steps/steps.ts';

/** Refusals of a zone that may not concern the zone without its addresses. */
const ofAddresses: readonly AwsErrorCode[] = ['invalid', 'notFound', 'inUse', 'subnet', 'quota', 'other'];

/**
 * Returns the zone that the load balancer has left to get other settings in it, as it was before. Undefined: there is none, or the zone is
 * back. `zones`: by subnet.
 */
export function leftZone({ loadBalancer, tags }: ObservedLoadBalancer, zones: ReadonlyMap<string, string>): SubnetMapping | undefined {
  const text = tags[tagKeys.leftZone];
  const former = text === undefined ? undefined : parseMapping(text);
  const zone = former === undefined ? undefined : zones.get(former.SubnetId);
  const isBack = loadBalancer.AvailabilityZones.some(({ ZoneName }) => ZoneName === zone);
  return zone === undefined || isBack ? undefined : former;
}

/** Returns the tag of the zone that is out, or that leaves now. */
export function leftZoneTag(
  current: ObservedLoadBalancer,
  zones: ReadonlyMap<string, string>,
  leaving: SubnetMapping | undefined,
): Readonly<Record<string, string>> {
  const left = leaving ?? leftZone(current, zones);
  return left === undefined ? {} : { [tagKeys.leftZone]: mappingText(left) };
}

/** Plans that a load balancer whose desired zones are not known gets the zone back that it has left, as it was. */
export function planReturnToLeftZone(steps: Steps, { loadBalancers }: Observed, zones: ReadonlyMap<string, string>): void {
  for (const one of loadBalancers) {
    const left = leftZone(one, zones);
    if (left === undefined) continue;
    const { LoadBalancerArn, LoadBalancerName: name, AvailabilityZones } = one.loadBalancer;
    const present = AvailabilityZones.map(mappingOf);
    const { SubnetId } = left;
    const asItWas = steps.addAction(`${name}: return to ${SubnetId}`, 'elbv2:SetSubnets', {
      input: { LoadBalancerArn, SubnetMappings: [...present, left] },
      reason: 'it has left the zone to get other settings in it, and these are not valid any more',
    });
    if (mappingText(left) === SubnetId) continue;
    steps.addAction(`${name}: return to ${SubnetId} without its addresses`, 'elbv2:SetSubnets', {
      input: { LoadBalancerArn, SubnetMappings: [...present, { SubnetId }] },
      reason: 'AWS refuses its former addresses',
      instead: { of: [asItWas], codes: ofAddresses },
    });
  }
}
