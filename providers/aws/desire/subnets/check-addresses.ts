import { reason } from '../../../../src/model/reasons.ts';
import { annotationTable, type AnnotationName } from '../../annotations/table.ts';
import type { SubnetMapping } from '../../cloud/elbv2.ts';
import { isInterfaceOf } from '../../model/addresses.ts';
import type { Existing, Facts } from '../../model/facts.ts';
import type { Issues } from '../../model/issues.ts';
import { parseAddress } from '../../../../src/net/address.ts';
import { lastAddress, maskedPrefix, parsePrefixLeniently } from '../../../../src/net/prefix.ts';
import { neededAddresses } from './choose-subnets.ts';

const annotations = { AllocationId: 'eipAllocations', PrivateIPv4Address: 'privateIPv4', IPv6Address: 'ipv6Addresses' } as const;

/**
 * Reports addresses and subnets that AWS would refuse. AWS removes a zone before it gets other addresses, so a refusal afterwards would
 * leave the load balancer without the zone. For a new load balancer only Elastic IPs that do not exist are reported, because AWS refuses the
 * rest at once, and an address may become free soon.
 */
export function checkAddresses(
  mappings: readonly SubnetMapping[],
  { addresses, subnets }: Facts,
  existing: Existing | undefined,
  issues: Issues,
): void {
  const refuse = (name: AnnotationName, why: string): void =>
    issues.error(reason('AwsAddressesDoNotFit', { key: annotationTable[name].key, why }));
  const present = existing?.subnets ?? [];
  for (const mapping of mappings) {
    for (const [field, annotation] of Object.entries(annotations) as [keyof typeof annotations, AnnotationName][]) {
      const address = mapping[field];
      if (address === undefined || addresses === undefined) continue;
      if (addresses.missing.has(address)) refuse(annotation, `${address} does not exist in the account`);
      const holder = addresses.holders.get(address);
      const isOwn = holder === undefined || isInterfaceOf(existing?.name, holder) || present.some((one) => one[field] === address);
      if (existing !== undefined && !isOwn) refuse(annotation, `${address} is in use by another network interface (${holder})`);
    }
    const subnet = subnets.find(({ id }) => id === mapping.SubnetId);
    for (const [field, cidr] of [
      ['PrivateIPv4Address', subnet?.cidr],
      ['IPv6Address', subnet?.ipv6Cidr],
    ] as const) {
      const address = mapping[field] ?? '';
      if (existing !== undefined && isReserved(address, cidr))
        refuse(annotations[field], `${address} is not available: AWS keeps the first four addresses and the last one of ${cidr}`);
    }
    const inZone = present.find(({ SubnetId }) => subnets.find(({ id }) => id === SubnetId)?.zone === subnet?.zone);
    if (subnet === undefined || inZone === undefined || !isExchanged(mapping, inZone)) continue;
    // The load balancer returns the address that it has in the subnet.
    const free = subnet.availableAddresses + (inZone.SubnetId === subnet.id ? 1 : 0);
    if (free < neededAddresses)
      issues.error(reason('AwsSubnetUnusable', { subnet: subnet.id, why: `has ${free} free addresses, and AWS needs ${neededAddresses}` }));
  }
}

/** True for the addresses that AWS keeps for itself in each CIDR of a subnet (Amazon VPC user guide, "Subnet CIDR blocks"). */
function isReserved(address: string, cidr = ''): boolean {
  const [own, range] = [parseAddress(address), parsePrefixLeniently(cidr)];
  if (!own.ok || !range.ok) return false;
  const first = maskedPrefix(range.value.address, range.value.length).address.value;
  return own.value.value < first + 4n || own.value.value === lastAddress(range.value).value;
}

/** True if the zone must be removed and added again. */
function isExchanged(wanted: SubnetMapping, present: SubnetMapping): boolean {
  const differs = (field: keyof typeof annotations): boolean => wanted[field] !== undefined && wanted[field] !== present[field];
  return wanted.SubnetId !== present.SubnetId || (Object.keys(annotations) as (keyof typeof annotations)[]).some(differs);
}
