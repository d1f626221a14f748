import { defined } from '../../../src/lang/defined.ts';
import { reason } from '../../../src/model/reasons.ts';
import { formatAddress, type Address } from '../../../src/net/address.ts';
import { parsePrefixLeniently, prefixContains } from '../../../src/net/prefix.ts';
import { annotationTable, type AnnotationName, type AnnotationValues } from '../annotations/table.ts';
import type { IpAddressType, Scheme, SubnetMapping } from '../cloud/elbv2.ts';
import type { Existing, Facts, SubnetFact } from '../model/facts.ts';
import type { Issues } from '../model/issues.ts';

/** AWS requires this many free addresses in each subnet. */
const neededAddresses = 8;

const roleTag = (scheme: Scheme): string => (scheme === 'internet-facing' ? 'kubernetes.io/role/elb' : 'kubernetes.io/role/internal-elb');

/**
 * Chooses the subnets of a load balancer. Subnets named by annotation come first. Otherwise an existing load balancer keeps its subnets,
 * because new subnets are no reason to move it. Otherwise one subnet per zone is chosen by role tag. If no subnet has the tag, subnets are
 * chosen by their route to the internet.
 */
export function chooseSubnets(
  values: AnnotationValues,
  scheme: Scheme,
  ipAddressType: IpAddressType,
  clusterName: string,
  facts: Facts,
  existing: Existing | undefined,
  issues: Issues,
): SubnetFact[] {
  if (values.subnets !== undefined) return namedSubnets(values.subnets, ipAddressType, facts, issues);
  const kept =
    existing?.scheme === scheme ? existing.subnets.flatMap(({ SubnetId }) => facts.subnets.find(({ id }) => id === SubnetId) ?? []) : [];
  if (kept.length > 0 && !(ipAddressType === 'dualstack' && kept.some(({ ipv6Cidr }) => ipv6Cidr === undefined))) return kept;
  const chosen = discoverSubnets(scheme, ipAddressType, clusterName, facts.subnets);
  if (chosen.length === 0) issues.error(reason('AwsNoSubnets', { scheme, tag: roleTag(scheme) }));
  return chosen;
}

function discoverSubnets(scheme: Scheme, ipAddressType: IpAddressType, clusterName: string, subnets: readonly SubnetFact[]): SubnetFact[] {
  const role = roleTag(scheme);
  const tagged = subnets.filter(({ tags }) => tags[role] === '' || tags[role] === '1');
  const reachable = subnets.filter((subnet) => subnet.public === (scheme === 'internet-facing'));
  const usable = (tagged.length > 0 ? tagged : reachable).filter(
    (subnet) =>
      !isOthers(subnet, clusterName) &&
      subnet.availableAddresses >= neededAddresses &&
      (ipAddressType === 'ipv4' || subnet.ipv6Cidr !== undefined),
  );
  const preferred = (subnet: SubnetFact): number => (subnet.tags[`kubernetes.io/cluster/${clusterName}`] === undefined ? 1 : 0);
  const sorted = usable.toSorted((a, b) => preferred(a) - preferred(b) || (a.id < b.id ? -1 : 1));
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
  for (const name of names) {
    const found = subnets.find(({ id, tags }) => (name.startsWith('subnet-') ? id === name : tags['Name'] === name));
    const twin = chosen.find(({ zone }) => zone === found?.zone);
    if (found === undefined) refuse(name, 'does not exist in the VPC');
    else if (twin !== undefined) refuse(name, `is in zone ${found.zone}, like ${twin.id}; only one per zone is possible`);
    else if (ipAddressType === 'dualstack' && found.ipv6Cidr === undefined) refuse(name, 'has no IPv6 CIDR, but dual stack requires one');
    else chosen.push(found);
  }
  return chosen;
}

/** Combines subnets with the addresses that annotations request for each of them. */
export function mapSubnets(
  subnets: readonly SubnetFact[],
  values: AnnotationValues,
  scheme: Scheme,
  ipAddressType: IpAddressType,
  issues: Issues,
): SubnetMapping[] {
  const refuse = (name: AnnotationName, why: string): void =>
    issues.error(reason('AwsAddressesDoNotFit', { key: annotationTable[name].key, why }));
  const counted = (name: AnnotationName, count: number | undefined): boolean => {
    if (count === undefined) return false;
    if (count === subnets.length) return true;
    refuse(name, `names ${count} for ${subnets.length} subnets`);
    return false;
  };
  const { eipAllocations, privateIPv4, ipv6Addresses, sourceNatPrefixes } = values;
  if (eipAllocations !== undefined && scheme !== 'internet-facing')
    refuse('eipAllocations', 'Elastic IPs are for internet-facing load balancers');
  if (privateIPv4 !== undefined && scheme !== 'internal') refuse('privateIPv4', 'private addresses are for internal load balancers');
  if (ipv6Addresses !== undefined && ipAddressType !== 'dualstack') refuse('ipv6Addresses', 'the load balancer is not dual stack');
  if (values.ipv6SourceNat === 'on' && ipAddressType !== 'dualstack') refuse('ipv6SourceNat', 'the load balancer is not dual stack');
  if (sourceNatPrefixes !== undefined && values.ipv6SourceNat !== 'on')
    refuse('sourceNatPrefixes', 'enable-prefix-for-ipv6-source-nat is not on');
  const eips = counted('eipAllocations', eipAllocations?.length) ? eipAllocations : undefined;
  const privates = counted('privateIPv4', privateIPv4?.length) ? privateIPv4 : undefined;
  const sixes = counted('ipv6Addresses', ipv6Addresses?.length) ? ipv6Addresses : undefined;
  const prefixes = counted('sourceNatPrefixes', sourceNatPrefixes?.length) ? sourceNatPrefixes : undefined;
  return subnets.map((subnet, index) => {
    const private4 = privates === undefined ? undefined : only(privates, subnet.cidr);
    const six = sixes === undefined ? undefined : only(sixes, subnet.ipv6Cidr ?? '');
    if (privates !== undefined && private4 === undefined) refuse('privateIPv4', `not exactly one is in ${subnet.cidr} of ${subnet.id}`);
    if (sixes !== undefined && six === undefined)
      refuse('ipv6Addresses', `not exactly one is in ${subnet.ipv6Cidr ?? 'no CIDR'} of ${subnet.id}`);
    const eip = eips?.[index];
    const prefix = prefixes?.[index];
    return {
      SubnetId: subnet.id,
      ...defined({ AllocationId: eip, PrivateIPv4Address: private4, IPv6Address: six, SourceNatIpv6Prefix: prefix }),
    };
  });
}

function only(addresses: readonly Address[], cidr: string): string | undefined {
  const prefix = parsePrefixLeniently(cidr);
  const inside = prefix.ok ? addresses.filter((address) => prefixContains(prefix.value, address)) : [];
  const [address] = inside;
  return inside.length === 1 && address !== undefined ? formatAddress(address) : undefined;
}
