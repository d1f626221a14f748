import { reason } from '../../../../src/model/reasons.ts';
import type { AvailabilityZone, LoadBalancer, SubnetMapping } from '../../cloud/elbv2.ts';
import type { AwsErrorCode } from '../../cloud/error.ts';
import type { Input } from '../../cloud/operations.ts';
import { mappingOf, mappingText } from '../../model/addresses.ts';
import { leftZone } from './left-zone.ts';
import type { DesiredNlb } from '../../model/desired.ts';
import type { PlanInput } from '../steps/input.ts';
import type { ObservedLoadBalancer } from '../../model/observed.ts';
import type { Steps } from '../steps/steps.ts';
import { ZoneReadiness } from './zone-readiness.ts';

/** The zones of a load balancer, grouped by the change that they need. */
interface Zones {
  /** Zones that stay, except for changes that AWS makes in place. */
  readonly staying: readonly SubnetMapping[];
  /** Desired zones that the load balancer does not have. */
  readonly missing: readonly SubnetMapping[];
  /**
   * Zones with another subnet or other addresses. AWS does not change these in place, so the zone is removed and added again in a later
   * reconcile.
   */
  readonly exchanged: readonly Exchange[];
  readonly surplus: readonly SubnetMapping[];
  /** True if AWS must change a setting in place. */
  readonly changed: boolean;
}

interface Exchange {
  readonly wanted: SubnetMapping;
  readonly present: SubnetMapping;
}

/** The next change of the zones. */
export interface NextZones {
  readonly sorted: Zones;
  /** Undefined: the desired zones cannot be reached. */
  readonly step: Step | undefined;
  readonly setsIPv6Addresses: boolean;
}

/**
 * Decides the next change of subnets and addresses. A zone has one subnet with its addresses. Zones are added before others are removed. A
 * zone with other addresses is removed and added again, one zone after the other, each when all other zones serve. This is impossible if the
 * load balancer has only one zone.
 */
export function nextZones(steps: Steps, input: PlanInput<DesiredNlb>, current: ObservedLoadBalancer): NextZones {
  const { desired, zones } = input;
  const { loadBalancer } = current;
  const setsIPv6Addresses =
    loadBalancer.IpAddressType !== desired.ipAddressType &&
    desired.ipAddressType === 'dualstack' &&
    desired.subnets.some(({ IPv6Address }) => IPv6Address !== undefined);
  const sorted = sortZones(desired.subnets, loadBalancer, zones, setsIPv6Addresses);
  return {
    sorted,
    step: nextStep(steps, { ...sorted, left: leftZone(current, zones) }, new ZoneReadiness(input, current), zones),
    setsIPv6Addresses,
  };
}

/** Plans the next change of subnets and addresses. `needs`: the action that records the choice of subnets, and the zone that is left. */
export function planSubnets(
  steps: Steps,
  { desired }: PlanInput<DesiredNlb>,
  { loadBalancer }: ObservedLoadBalancer,
  { sorted, step, setsIPv6Addresses }: NextZones,
  needs: string | undefined,
): void {
  const { ipAddressType, enablePrefixForIpv6SourceNat: sourceNat = 'off' } = desired;
  const LoadBalancerArn = loadBalancer.LoadBalancerArn;
  const typeChanges = loadBalancer.IpAddressType !== ipAddressType;
  const setType = (): void => {
    if (!typeChanges || setsIPv6Addresses) return;
    steps.addAction('load balancer: address type', 'elbv2:SetIpAddressType', {
      input: { LoadBalancerArn, IpAddressType: ipAddressType },
      reason: `it is ${loadBalancer.IpAddressType}`,
    });
  };
  const turnsOff = sourceNat === 'off' && loadBalancer.EnablePrefixForIpv6SourceNat === 'on';
  const natDiffers = turnsOff || (sourceNat === 'on' && loadBalancer.EnablePrefixForIpv6SourceNat !== 'on');
  // An absent field is unknown, not different.
  const isUnknown = natDiffers && loadBalancer.EnablePrefixForIpv6SourceNat === undefined;
  // Source NAT requires dual stack. It is switched off before dual stack ends, and on after dual stack begins.
  if (!turnsOff) setType();
  const isIPv4Now = typeChanges && ipAddressType === 'ipv4' && !turnsOff;
  if (step !== undefined && (step.why !== undefined || sorted.changed || setsIPv6Addresses || natDiffers)) {
    const inputWith = (mappings: readonly SubnetMapping[]): Input<'elbv2:SetSubnets'> => ({
      LoadBalancerArn,
      SubnetMappings: isIPv4Now ? mappings.map((one) => without(one, 'IPv6Address')) : mappings,
      ...(setsIPv6Addresses ? { IpAddressType: ipAddressType } : {}),
      ...(natDiffers ? { EnablePrefixForIpv6SourceNat: sourceNat } : {}),
    });
    const changed = steps.addAction('load balancer: subnets', 'elbv2:SetSubnets', {
      input: inputWith(step.mappings),
      reason: step.why ?? 'its subnets or their settings differ',
      needs: [needs],
      ...(isUnknown && step.why === undefined && !sorted.changed && !setsIPv6Addresses ? { isUnverifiable: true } : {}),
    });
    if (step.otherwise !== undefined)
      steps.addAction('load balancer: subnets as before', 'elbv2:SetSubnets', {
        input: inputWith(step.otherwise),
        reason: 'AWS refuses the new settings of the zone that it has left',
        instead: { of: [changed], codes: refusalCodes },
      });
  }
  if (turnsOff) setType();
}

function sortZones(
  wanted: readonly SubnetMapping[],
  loadBalancer: LoadBalancer,
  zones: ReadonlyMap<string, string>,
  setsIPv6Addresses: boolean,
): Zones {
  const present = new Map(loadBalancer.AvailabilityZones.map((one) => [one.ZoneName, one]));
  const staying: SubnetMapping[] = [];
  const missing: SubnetMapping[] = [];
  const exchanged: Exchange[] = [];
  let changed = false;
  const kept = new Set<AvailabilityZone>();
  for (const mapping of wanted) {
    const same = loadBalancer.AvailabilityZones.find(({ SubnetId }) => SubnetId === mapping.SubnetId);
    const zone = same ?? present.get(zones.get(mapping.SubnetId) ?? '');
    if (zone === undefined) {
      missing.push(mapping);
      continue;
    }
    kept.add(zone);
    if (zone.SubnetId !== mapping.SubnetId || hasOtherAddresses(zone, mapping, loadBalancer.IpAddressType !== 'ipv4')) {
      const { IPv6Address } = mapping;
      const six = setsIPv6Addresses && zone.SubnetId === mapping.SubnetId && IPv6Address !== undefined ? { IPv6Address } : {};
      exchanged.push({ wanted: mapping, present: { ...mappingOf(zone), ...six } });
      continue;
    }
    staying.push({ ...mappingOf(zone), ...mapping });
    const { SourceNatIpv6Prefix: prefix } = mapping;
    if (prefix !== undefined && prefix !== 'auto_assigned' && zone.SourceNatIpv6Prefixes?.includes(prefix) !== true) changed = true;
  }
  const surplus = loadBalancer.AvailabilityZones.filter((zone) => !kept.has(zone)).map(mappingOf);
  return { staying, missing, exchanged, surplus, changed };
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

/** Refusals that do not end by themselves. */
const refusalCodes: readonly AwsErrorCode[] = ['denied', 'notFound', 'duplicate', 'quota', 'certificate', 'subnet', 'invalid', 'other'];

const needsFurtherZone = 'AWS allows only if the load balancer has a further zone';

interface Step {
  /** All zones after the step. */
  readonly mappings: readonly SubnetMapping[];
  /** Why zones change. Absent: they do not. */
  readonly why?: string;
  /** The zone that is left, and comes back with other settings. */
  readonly leaving?: SubnetMapping;
  /** The zones when AWS refuses the step: the one that was left comes back as it was. */
  readonly otherwise?: readonly SubnetMapping[];
}

/** Returns the next step towards the desired zones. Undefined: they cannot be reached, and the problem is reported. */
function nextStep(
  steps: Steps,
  { left, ...sorted }: Zones & { readonly left: SubnetMapping | undefined },
  readiness: ZoneReadiness,
  zones: ReadonlyMap<string, string>,
): Step | undefined {
  const { staying, missing, exchanged, surplus } = sorted;
  const present = [...staying, ...exchanged.map((one) => one.present), ...surplus];
  const problems = findObstacles(sorted);
  if (problems.length > 0) {
    for (const problem of problems) steps.addProblem(problem);
    return undefined;
  }
  const zoneOf = ({ SubnetId }: SubnetMapping): string => zones.get(SubnetId) ?? SubnetId;
  // An Elastic IP is in one zone at a time. A new zone waits for one that a surplus zone has, and begins without one that an exchanged
  // zone has, because that zone waits for the new one.
  const late = missing.filter((one) => hasHolder(one, surplus));
  const now = missing.filter((one) => !late.includes(one)).map((one) => (hasHolder(one, present) ? without(one, 'AllocationId') : one));
  if (now.length > 0) return { ...addition(present, now, left, zoneOf), why: `zones ${now.map(zoneOf).join(', ')} are missing` };
  if (exchanged.length + late.length + surplus.length === 0) return { mappings: present };

  const leave = (leaving: readonly SubnetMapping[], why: string): Step | undefined => {
    const rest = present.filter((one) => !leaving.includes(one));
    const isReady =
      rest.length > 0 &&
      readiness.canLeave(leaving.map(zoneOf), rest.map(zoneOf), late.concat(leaving.filter((one) => !surplus.includes(one))).map(zoneOf));
    return isReady ? { mappings: rest, why } : undefined;
  };
  const free = exchanged.filter(
    ({ wanted, present: own }) =>
      !hasHolder(
        wanted,
        present.filter((one) => one !== own),
      ),
  );
  const holders = surplus.filter((one) => [...late, ...exchanged.map(({ wanted }) => wanted)].some((wanted) => hasHolder(wanted, [one])));
  // Every Elastic IP that a zone waits for is in another such zone. One of these zones begins anew without one.
  const next = free.length + holders.length > 0 ? free : exchanged;
  const candidates = [
    ...next.map(({ wanted: { SubnetId }, present: leaving }) => {
      const step = leave([leaving], `the zone of ${SubnetId} must be removed before it is added with its new settings`);
      return step === undefined ? undefined : { ...step, leaving };
    }),
    ...holders.map((one) => leave([one], `another zone gets the Elastic IP of ${one.SubnetId}`)),
    ...(exchanged.length + late.length > 0
      ? []
      : [leave(surplus, `subnets ${surplus.map(({ SubnetId }) => SubnetId).join(', ')} are no longer wanted`)]),
  ];
  const found = candidates.find((one) => one !== undefined);
  steps.wait(
    found === undefined
      ? 'healthy targets in the remaining zones before others are removed'
      : 'zones to be removed before they are added again',
  );
  return found ?? { mappings: present };
}

/** Returns the zones with the new ones. If the only new one is the zone that was left, it comes back as it was when AWS refuses it. */
function addition(
  present: readonly SubnetMapping[],
  added: readonly SubnetMapping[],
  left: SubnetMapping | undefined,
  zoneOf: (mapping: SubnetMapping) => string,
): Step {
  const [only, ...others] = added;
  const mappings = [...present, ...added];
  if (left === undefined || only === undefined || others.length > 0 || zoneOf(left) !== zoneOf(only)) return { mappings };
  return mappingText(left) === mappingText(only) || hasHolder(left, present) ? { mappings } : { mappings, otherwise: [...present, left] };
}

function hasHolder({ AllocationId }: SubnetMapping, among: readonly SubnetMapping[]): boolean {
  return AllocationId !== undefined && among.some((one) => one.AllocationId === AllocationId);
}

function without(mapping: SubnetMapping, address: 'AllocationId' | 'IPv6Address'): SubnetMapping {
  return Object.fromEntries(Object.entries(mapping).filter(([key]) => key !== address)) as unknown as SubnetMapping;
}

/**
 * Returns why the desired zones cannot be reached: the only desired zone must leave, or an Elastic IP must leave the only present zone, and
 * no other zone could serve meanwhile.
 */
function findObstacles({ staying, missing, exchanged, surplus }: Zones): ReturnType<typeof reason>[] {
  if (staying.length + missing.length + exchanged.length > 1) return [];
  for (const { wanted, present } of exchanged) {
    const others = surplus.filter((one) => !hasHolder(wanted, [one]));
    if (others.length === 0) return [surplus.length === 0 ? blocked(wanted, present) : elsewhere(wanted)];
  }
  return surplus.length === 1 ? missing.filter((one) => hasHolder(one, surplus)).map(elsewhere) : [];
}

function elsewhere({ SubnetId: subnet, AllocationId = '' }: SubnetMapping): ReturnType<typeof reason> {
  return reason('AwsSubnetUnusable', { subnet, why: `would take ${AllocationId} from another zone, which ${needsFurtherZone}` });
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
