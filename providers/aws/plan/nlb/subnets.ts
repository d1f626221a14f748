import { reason } from '../../../../src/model/reasons.ts';
import type { AvailabilityZone, LoadBalancer, SubnetMapping } from '../../cloud/elbv2.ts';
import type { DesiredNlb } from '../../model/desired.ts';
import type { PlanInput } from '../steps/input.ts';
import type { ObservedLoadBalancer } from '../../model/observed.ts';
import type { Steps } from '../steps/steps.ts';
import { canLeaveZones, type ZoneChange } from './zone-readiness.ts';

/** The zones of a load balancer, grouped by the change that they need. */
interface Zones {
  /** Zones that stay, except for changes that AWS makes in place. */
  readonly staying: readonly SubnetMapping[];
  readonly added: readonly SubnetMapping[];
  /**
   * Zones with another subnet or other addresses. AWS does not change these in place, so the zone is removed and added again in a later
   * reconcile.
   */
  readonly exchanged: readonly { readonly wanted: SubnetMapping; readonly present: SubnetMapping }[];
  readonly surplus: readonly AvailabilityZone[];
  /** True if AWS must change a setting in place. */
  readonly changed: boolean;
}

/**
 * Plans subnets and addresses. A zone has one subnet with its addresses. Zones change one after the other, so that one always serves. This
 * is impossible if the load balancer has only one zone.
 */
export function planSubnets(steps: Steps, input: PlanInput<DesiredNlb>, current: ObservedLoadBalancer): void {
  const { desired, zones } = input;
  const { loadBalancer } = current;
  const { ipAddressType, enablePrefixForIpv6SourceNat: sourceNat = 'off' } = desired;
  const LoadBalancerArn = loadBalancer.LoadBalancerArn;
  const typeChanges = loadBalancer.IpAddressType !== ipAddressType;
  const setsIPv6Addresses =
    typeChanges && ipAddressType === 'dualstack' && desired.subnets.some(({ IPv6Address }) => IPv6Address !== undefined);
  const setType = (): void => {
    if (!typeChanges || setsIPv6Addresses) return;
    steps.addAction('load balancer: address type', 'elbv2:SetIpAddressType', {
      input: { LoadBalancerArn, IpAddressType: ipAddressType },
      reason: `it is ${loadBalancer.IpAddressType}`,
    });
  };
  const turnsOff = sourceNat === 'off' && loadBalancer.EnablePrefixForIpv6SourceNat === 'on';
  const natDiffers = turnsOff || (sourceNat === 'on' && loadBalancer.EnablePrefixForIpv6SourceNat !== 'on');
  const sorted = sortZones(desired.subnets, loadBalancer, zones);
  const next = nextMappings(steps, sorted, (change) => canLeaveZones(input, current, change), zones);
  // Source NAT requires dual stack. It is switched off before dual stack ends, and on after dual stack begins.
  if (!turnsOff) setType();
  if (next !== undefined && (hasOtherSubnets(next, loadBalancer) || sorted.changed || setsIPv6Addresses || natDiffers)) {
    steps.addAction('load balancer: subnets', 'elbv2:SetSubnets', {
      input: {
        LoadBalancerArn,
        SubnetMappings: next,
        ...(setsIPv6Addresses ? { IpAddressType: ipAddressType } : {}),
        ...(natDiffers ? { EnablePrefixForIpv6SourceNat: sourceNat } : {}),
      },
      reason:
        sorted.exchanged.length === 0
          ? 'its subnets or their settings differ'
          : `the zone of ${sorted.exchanged.map(({ wanted }) => wanted.SubnetId).join(', ')} must be removed before it is added with its new settings`,
    });
  }
  if (turnsOff) setType();
}

function hasOtherSubnets(next: readonly SubnetMapping[], { AvailabilityZones }: LoadBalancer): boolean {
  const ids = new Set(AvailabilityZones.map(({ SubnetId }) => SubnetId));
  return next.length !== ids.size || next.some(({ SubnetId }) => !ids.has(SubnetId));
}

function sortZones(wanted: readonly SubnetMapping[], loadBalancer: LoadBalancer, zones: ReadonlyMap<string, string>): Zones {
  const present = new Map(loadBalancer.AvailabilityZones.map((one) => [one.ZoneName, one]));
  const staying: SubnetMapping[] = [];
  const added: SubnetMapping[] = [];
  const exchanged: { wanted: SubnetMapping; present: SubnetMapping }[] = [];
  let changed = false;
  const kept = new Set<AvailabilityZone>();
  for (const mapping of wanted) {
    const same = loadBalancer.AvailabilityZones.find(({ SubnetId }) => SubnetId === mapping.SubnetId);
    const zone = same ?? present.get(zones.get(mapping.SubnetId) ?? '');
    if (zone === undefined) {
      added.push(mapping);
      continue;
    }
    kept.add(zone);
    if (zone.SubnetId !== mapping.SubnetId || hasOtherAddresses(zone, mapping, loadBalancer.IpAddressType !== 'ipv4')) {
      exchanged.push({ wanted: mapping, present: presentMapping(zone) });
      continue;
    }
    staying.push({ ...presentMapping(zone), ...mapping });
    const { SourceNatIpv6Prefix: prefix } = mapping;
    if (prefix !== undefined && prefix !== 'auto_assigned' && zone.SourceNatIpv6Prefixes?.includes(prefix) !== true) changed = true;
  }
  return { staying, added, exchanged, surplus: loadBalancer.AvailabilityZones.filter((zone) => !kept.has(zone)), changed };
}

/**
 * Compares only requested addresses, because a load balancer keeps its others. If AWS shows no addresses, they are unknown and count as
 * equal.
 */
function hasOtherAddresses({ LoadBalancerAddresses: shown }: AvailabilityZone, wanted: SubnetMapping, hasSix: boolean): boolean {
  if (shown === undefined) return false;
  const differs = (key: 'AllocationId' | 'PrivateIPv4Address' | 'IPv6Address'): boolean =>
    wanted[key] !== undefined && !shown.some((address) => address[key] === wanted[key]);
  return differs('AllocationId') || differs('PrivateIPv4Address') || (hasSix && differs('IPv6Address'));
}

function presentMapping({ SubnetId, LoadBalancerAddresses = [] }: AvailabilityZone): SubnetMapping {
  const mapping: { -readonly [K in keyof SubnetMapping]: SubnetMapping[K] } = { SubnetId };
  for (const { AllocationId, PrivateIPv4Address, IPv6Address } of LoadBalancerAddresses) {
    if (AllocationId !== undefined) mapping.AllocationId = AllocationId;
    if (PrivateIPv4Address !== undefined) mapping.PrivateIPv4Address = PrivateIPv4Address;
    if (IPv6Address !== undefined) mapping.IPv6Address = IPv6Address;
  }
  return mapping;
}

const needsFurtherZone = 'AWS allows only if the load balancer has a further zone';

/** Returns the subnets for the next step towards the desired ones. Undefined: no step is possible, and the problem is reported. */
function nextMappings(
  steps: Steps,
  { staying, added, exchanged, surplus }: Zones,
  isReady: (change: ZoneChange) => boolean,
  zones: ReadonlyMap<string, string>,
): readonly SubnetMapping[] | undefined {
  const leaving = [...surplus.map(presentMapping), ...exchanged.map(({ present }) => present)];
  const named = (mappings: readonly SubnetMapping[]): string[] => mappings.flatMap(({ SubnetId }) => zones.get(SubnetId) ?? []);
  // Zones that leave, except those whose Elastic IP one of `mappings` uses.
  const without = (mappings: readonly SubnetMapping[]): readonly SubnetMapping[] => {
    const taken = new Set(mappings.flatMap(({ AllocationId }) => AllocationId ?? []));
    return leaving.filter(({ AllocationId }) => AllocationId === undefined || !taken.has(AllocationId));
  };
  if (leaving.length === 0) return [...staying, ...added];
  const had = new Set(leaving.flatMap(({ AllocationId }) => AllocationId ?? []));
  // AWS does not move an Elastic IP from one zone to another in one call.
  const later = added.filter(({ AllocationId = '' }) => had.has(AllocationId));
  const next = [...staying, ...added.filter((one) => !later.includes(one))];
  const others = [...later, ...exchanged.map(({ wanted }) => wanted)];
  const coming = named([...added, ...others]);
  const waitForOthers = (): void => {
    if (others.length > 0) steps.wait('zones to be removed before they are added again');
  };
  if (staying.length > 0 && isReady({ leaving: named(leaving), staying: named(staying), coming })) {
    waitForOthers();
    return next;
  }
  // One zone must remain until another is ready. It must not be the last one to be exchanged, because that zone could not leave afterwards.
  const last = exchanged.length === 1 ? exchanged[0]?.present : undefined;
  const candidates = without(others).filter((one) => one !== last);
  const remaining = candidates.find((one) => {
    const gone = leaving.filter((other) => other !== one);
    return isReady({ leaving: named(gone), staying: named([...staying, one]), coming });
  });
  if (others.length > 0 && leaving.length > 1 && remaining !== undefined) {
    waitForOthers();
    return [...next, remaining];
  }
  if (next.length > 0 || candidates.length > 0) {
    steps.wait('healthy targets in the remaining zones before others are removed');
    return [...next, ...leaving];
  }
  for (const { SubnetId: subnet, AllocationId = '' } of later)
    steps.addProblem(
      reason('AwsSubnetUnusable', { subnet, why: `would take ${AllocationId} from another zone, which ${needsFurtherZone}` }),
    );
  for (const { wanted, present } of exchanged) steps.addProblem(blocked(wanted, present));
  return undefined;
}

function blocked(wanted: SubnetMapping, present: SubnetMapping): ReturnType<typeof reason> {
  const subnet = wanted.SubnetId;
  if (subnet !== present.SubnetId) {
    const why = `would replace another subnet of its zone, which ${needsFurtherZone}`;
    return reason('AwsSubnetUnusable', { subnet, why });
  }
  const text = ({ AllocationId, PrivateIPv4Address, IPv6Address }: SubnetMapping): string =>
    [AllocationId, PrivateIPv4Address, IPv6Address].filter((one) => one !== undefined).join(' and ');
  return reason('AwsAddressesFixed', { subnet, wanted: text(wanted), present: text(present) });
}
