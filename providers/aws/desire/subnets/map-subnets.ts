import { defined } from '../../../../src/lang/defined.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { formatAddress, type Address } from '../../../../src/net/address.ts';
import { formatPrefix, parsePrefixLeniently, prefixContains, type Prefix } from '../../../../src/net/prefix.ts';
import { annotationTable, type AnnotationName, type AnnotationValues } from '../../annotations/table.ts';
import type { IpAddressType, Scheme, SubnetMapping } from '../../cloud/elbv2.ts';
import type { SubnetFact } from '../../model/facts.ts';
import type { Issues } from '../../model/issues.ts';

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
    const names = subnets.map(({ id, zone }) => `${id} in ${zone}`).join(', ');
    refuse(name, `names ${count} for ${subnets.length} subnets (${names})`);
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
  const twice = eipAllocations?.find((eip, index) => eipAllocations.indexOf(eip) < index);
  if (twice !== undefined) refuse('eipAllocations', `names ${twice} twice`);
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
    if (prefix !== undefined && prefix !== 'auto_assigned' && !isInside(prefix, subnet.ipv6Cidr))
      refuse('sourceNatPrefixes', `${formatPrefix(prefix)} is not in ${subnet.ipv6Cidr ?? 'an IPv6 CIDR'} of ${subnet.id}`);
    const SourceNatIpv6Prefix = prefix === undefined || prefix === 'auto_assigned' ? prefix : formatPrefix(prefix);
    return {
      SubnetId: subnet.id,
      ...defined({ AllocationId: eip, PrivateIPv4Address: private4, IPv6Address: six, SourceNatIpv6Prefix }),
    };
  });
}

function isInside(inner: Prefix, cidr: string | undefined): boolean {
  const outer = parsePrefixLeniently(cidr ?? '');
  return outer.ok && outer.value.length <= inner.length && prefixContains(outer.value, inner.address);
}

function only(addresses: readonly Address[], cidr: string): string | undefined {
  const prefix = parsePrefixLeniently(cidr);
  const inside = prefix.ok ? addresses.filter((address) => prefixContains(prefix.value, address)) : [];
  const [address] = inside;
  return inside.length === 1 && address !== undefined ? formatAddress(address) : undefined;
}
