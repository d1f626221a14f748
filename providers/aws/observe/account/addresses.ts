import { formatAddress } from '../../../../src/net/address.ts';
import type { AnnotationValues } from '../../annotations/table.ts';
import type { ReadOnlyCloud } from '../../cloud/cloud.ts';
import type { NetworkInterface } from '../../cloud/ec2.ts';
import { unlessFailed } from '../../cloud/error.ts';
import type { AddressFacts } from '../../model/addresses.ts';
import type { AwsSettings } from '../../model/settings.ts';

/** The addresses that Services name. */
export interface NamedAddresses {
  readonly elasticIps: readonly string[];
  readonly private: readonly string[];
  readonly six: readonly string[];
}

export function namedAddresses(members: readonly { readonly values: AnnotationValues }[]): NamedAddresses {
  return {
    elasticIps: members.flatMap(({ values }) => values.eipAllocations ?? []),
    private: members.flatMap(({ values }) => (values.privateIPv4 ?? []).map(formatAddress)),
    six: members.flatMap(({ values }) => (values.ipv6Addresses ?? []).map(formatAddress)),
  };
}

/** Reads who has the addresses. Resolves to undefined without a call if none is named, and if AWS does not permit the calls. */
export async function observeAddresses(
  cloud: ReadOnlyCloud,
  { vpcId }: AwsSettings,
  named: NamedAddresses,
): Promise<AddressFacts | undefined> {
  if (named.elasticIps.length + named.private.length + named.six.length === 0) return undefined;
  const holders = new Map<string, string>();
  const observe = async (): Promise<AddressFacts> => {
    const missing = await observeElasticIps(cloud, named.elasticIps, holders);
    for (const one of await interfacesWith(cloud, vpcId, 'addresses.private-ip-address', named.private))
      for (const { PrivateIpAddress } of one.PrivateIpAddresses) holders.set(PrivateIpAddress, descriptionOf(one));
    for (const one of await interfacesWith(cloud, vpcId, 'ipv6-addresses.ipv6-address', named.six))
      for (const { Ipv6Address } of one.Ipv6Addresses) holders.set(Ipv6Address, descriptionOf(one));
    return { missing, holders };
  };
  return unlessFailed(observe, ({ code }) => code === 'denied');
}

/** Adds the holders of Elastic IPs. Resolves to those that do not exist. */
async function observeElasticIps(cloud: ReadOnlyCloud, ids: readonly string[], holders: Map<string, string>): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const { Addresses } = await cloud.call('ec2:DescribeAddresses', { Filters: [{ Name: 'allocation-id', Values: [...new Set(ids)] }] });
  const used = new Map(Addresses.flatMap(({ AllocationId, NetworkInterfaceId: id }) => (id === undefined ? [] : [[AllocationId, id]])));
  const descriptions = new Map<string, string>();
  if (used.size > 0) {
    const Filters = [{ Name: 'network-interface-id', Values: [...used.values()] }];
    const { NetworkInterfaces } = await cloud.call('ec2:DescribeNetworkInterfaces', { Filters });
    for (const one of NetworkInterfaces) descriptions.set(one.NetworkInterfaceId, descriptionOf(one));
  }
  for (const [allocation, id] of used) holders.set(allocation, descriptions.get(id) ?? id);
  const known = new Set(Addresses.map(({ AllocationId }) => AllocationId));
  return new Set(ids.filter((id) => !known.has(id)));
}

async function interfacesWith(
  cloud: ReadOnlyCloud,
  vpcId: string,
  Name: string,
  Values: readonly string[],
): Promise<readonly NetworkInterface[]> {
  if (Values.length === 0) return [];
  const Filters = [
    { Name: 'vpc-id', Values: [vpcId] },
    { Name, Values: [...new Set(Values)] },
  ];
  return (await cloud.call('ec2:DescribeNetworkInterfaces', { Filters })).NetworkInterfaces;
}

function descriptionOf({ NetworkInterfaceId, Description = '' }: NetworkInterface): string {
  return Description === '' ? NetworkInterfaceId : Description;
}
