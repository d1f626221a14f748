import { reason } from '../../../../src/model/reasons.ts';
import type { AnnotationValues } from '../../annotations/table.ts';
import type { IpAddressType, Scheme } from '../../cloud/elbv2.ts';
import type { Circumstances } from '../../model/circumstances.ts';
import type { Existing, Facts, SubnetFact } from '../../model/facts.ts';
import type { Issues } from '../../model/issues.ts';

/** AWS requires this many free addresses in each subnet. */
export const neededAddresses = 8;

const roleTag = (scheme: Scheme): string => (scheme === 'internet-facing' ? 'kubernetes.io/role/elb' : 'kubernetes.io/role/internal-elb');

/** The subnets of a load balancer, and the tag that records them. */
interface ChosenSubnets {
  readonly subnets: readonly SubnetFact[];
  /** Absent: AWS would not accept it as a tag. */
  readonly record?: string;
}

/** The load balancer that gets the subnets. */
interface SubnetUser {
  readonly scheme: Scheme;
  readonly ipAddressType: IpAddressType;
  readonly existing: Pick<Existing, 'subnets' | 'recordedSubnets'> | undefined;
}

const named = 'named';
/** AWS allows 256 characters in a tag. */
const longestRecord = 256;

/**
 * Chooses the subnets of a load balancer. Subnets named by annotation come first. Otherwise the recorded choice stays, because new subnets
 * are no reason to move a load balancer. The choice does not depend on the zones that the load balancer has at present, because these
 * change one after the other. Without a record, an existing load balancer keeps its subnets. Otherwise one subnet per zone is discovered by
 * role tag. If no subnet has the tag, subnets are discovered by their route to the internet.
 */
export function chooseSubnets(
  values: AnnotationValues,
  { scheme, ipAddressType, existing }: SubnetUser,
  { facts, settings }: Pick<Circumstances, 'facts' | 'settings'>,
  issues: Issues,
): ChosenSubnets {
  if (values.subnets !== undefined) return { subnets: namedSubnets(values.subnets, ipAddressType, facts, issues), record: named };
  const present = existing?.subnets.map(({ SubnetId }) => SubnetId) ?? [];
  const kept = keptSubnets(existing?.recordedSubnets, present, ipAddressType, facts);
  const discover = (type: IpAddressType): SubnetFact[] =>
    discoverSubnets(scheme, type, settings.clusterName, facts.subnets, new Set(present));
  const subnets = kept ?? discover(ipAddressType);
  if (kept === undefined && ipAddressType === 'dualstack' && subnets.length > 0) refuseWithoutIPv6(subnets, discover('ipv4'), issues);
  if (subnets.length === 0) issues.error(reason('AwsNoSubnets', { scheme, tag: roleTag(scheme) }));
  const record = [ipAddressType, ...subnets.map(({ id }) => id)].join(' ');
  return { subnets, ...(record.length > longestRecord ? {} : { record }) };
}

/** Refuses the subnets of zones that a dual-stack load balancer would silently not serve. `all`: the subnets without regard to IPv6. */
function refuseWithoutIPv6(subnets: readonly SubnetFact[], all: readonly SubnetFact[], issues: Issues): void {
  const served = new Set(subnets.map(({ zone }) => zone));
  for (const { id, zone } of all)
    if (!served.has(zone)) issues.error(reason('AwsSubnetUnusable', { subnet: id, why: `of zone ${zone} ${withoutIPv6}` }));
}

const withoutIPv6 = 'has no IPv6 CIDR, but dual stack requires one';

/**
 * Returns the subnets of the record, or those that an existing load balancer without a record has. Undefined: they must be discovered. A
 * record for the other address type does not count, because dual stack needs subnets with an IPv6 CIDR.
 */
function keptSubnets(
  record: string | undefined,
  present: readonly string[],
  ipAddressType: IpAddressType,
  facts: Facts,
): readonly SubnetFact[] | undefined {
  const [type, ...ids] = record?.split(' ') ?? [ipAddressType, ...present];
  if (type !== ipAddressType) return undefined;
  const kept = ids.flatMap((id) => facts.subnets.find((subnet) => subnet.id === id) ?? []);
  const fits = ipAddressType === 'ipv4' || kept.every(({ ipv6Cidr }) => ipv6Cidr !== undefined);
  return kept.length > 0 && fits ? kept : undefined;
}

/**
 * The name of an Availability Zone, such as us-west-2a. Names of Local Zones and Wavelength Zones are longer, such as us-west-2-lax-1a. AWS
 * allows their subnets only in load balancers without other zones, so they must be tagged or named.
 */
const availabilityZone = /^[a-z]+(?:-[a-z]+)+-\d+[a-z]$/;

/**
 * Subnets in `present` are preferred in their zones and may be full, because the load balancer has its addresses there. Subnets that a policy
 * refuses are left out. If there are no others, they are returned, so that the policy is reported.
 */
function discoverSubnets(
  scheme: Scheme,
  ipAddressType: IpAddressType,
  clusterName: string,
  subnets: readonly SubnetFact[],
  present: ReadonlySet<string>,
): SubnetFact[] {
  const role = roleTag(scheme);
  const tagged = subnets.filter(({ tags }) => tags[role] === '' || tags[role] === '1');
  const reachable = subnets.filter((subnet) => subnet.public === (scheme === 'internet-facing') && availabilityZone.test(subnet.zone));
  const usable = (tagged.length > 0 ? tagged : reachable).filter(
    (subnet) =>
      !isOthers(subnet, clusterName) &&
      (present.has(subnet.id) || subnet.availableAddresses >= neededAddresses) &&
      (ipAddressType === 'ipv4' || subnet.ipv6Cidr !== undefined),
  );
  const allowed = usable.filter(({ id, isRefused }) => isRefused !== true || present.has(id));
  const preferred = ({ id, tags }: SubnetFact): number =>
    present.has(id) ? 0 : tags[`kubernetes.io/cluster/${clusterName}`] === undefined ? 2 : 1;
  const sorted = (allowed.length > 0 ? allowed : usable).toSorted((a, b) => preferred(a) - preferred(b) || (a.id < b.id ? -1 : 1));
  const byZone = new Map<string, SubnetFact>();
  for (const subnet of sorted) if (!byZone.has(subnet.zone)) byZone.set(subnet.zone, subnet);
  return [...byZone.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** True if the subnet is tagged for other clusters only. */
function isOthers({ tags }: SubnetFact, clusterName: string): boolean {
  const clusters = Object.keys(tags).filter((key) => key.startsWith('kubernetes.io/cluster/'));
  return clusters.length > 0 && !clusters.includes(`kubernetes.io/cluster/${clusterName}`);
}

function namedSubnets(names: readonly string[], ipAddressType: IpAddressType, { subnets }: Facts, issues: Issues): SubnetFact[] {
  const chosen: SubnetFact[] = [];
  const refuse = (subnet: string, why: string): void => issues.error(reason('AwsSubnetUnusable', { subnet, why }));
  const byId = Map.groupBy(subnets, ({ id }) => id);
  const byName = Map.groupBy(subnets, ({ tags }) => tags['Name']);
  for (const name of names) {
    const [found] = (name.startsWith('subnet-') ? byId : byName).get(name) ?? [];
    const twin = chosen.find(({ zone }) => zone === found?.zone);
    if (found === undefined) refuse(name, 'does not exist in the VPC');
    else if (twin !== undefined) refuse(name, `is in zone ${found.zone}, like ${twin.id}; only one per zone is possible`);
    else if (ipAddressType === 'dualstack' && found.ipv6Cidr === undefined) refuse(name, withoutIPv6);
    else chosen.push(found);
  }
  return chosen;
}
