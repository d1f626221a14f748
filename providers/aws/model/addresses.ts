import type { AvailabilityZone, SubnetMapping } from '../cloud/elbv2.ts';

/** The state of the addresses that Services name. */
export interface AddressFacts {
  /** Elastic IPs that do not exist in the account. */
  readonly missing: ReadonlySet<string>;
  /** By Elastic IP, private or IPv6 address: the description of the network interface that has it. */
  readonly holders: ReadonlyMap<string, string>;
}

/** True if the description is that of a network interface of the NLB. Such an interface stays for a while after its zone was removed. */
export function isInterfaceOf(name: string | undefined, description: string): boolean {
  return name !== undefined && description.includes(`net/${name}/`);
}

/** A zone of a load balancer with its addresses, as it is requested. */
export function mappingOf({ SubnetId, LoadBalancerAddresses = [] }: AvailabilityZone): SubnetMapping {
  const mapping: { -readonly [K in keyof SubnetMapping]: SubnetMapping[K] } = { SubnetId };
  for (const { AllocationId, PrivateIPv4Address, IPv6Address } of LoadBalancerAddresses) {
    if (AllocationId !== undefined) mapping.AllocationId = AllocationId;
    if (PrivateIPv4Address !== undefined) mapping.PrivateIPv4Address = PrivateIPv4Address;
    if (IPv6Address !== undefined) mapping.IPv6Address = IPv6Address;
  }
  return mapping;
}

/** Returns the name of the load balancer whose network interface has this description. Undefined: it is of something else. */
export function balancerOf(description: string): string | undefined {
  return /^ELB net\/([^/]+)\//.exec(description)?.[1];
}

/** Returns the mapping as text, for a tag: "subnet-1 eipalloc-2". */
export function mappingText({ SubnetId, AllocationId, PrivateIPv4Address, IPv6Address }: SubnetMapping): string {
  return [SubnetId, AllocationId, PrivateIPv4Address, IPv6Address].filter((one) => one !== undefined).join(' ');
}

/** Returns the mapping that has the text. */
export function parseMapping(text: string): SubnetMapping {
  const [SubnetId = '', ...addresses] = text.split(' ');
  const mapping: { -readonly [K in keyof SubnetMapping]: SubnetMapping[K] } = { SubnetId };
  for (const address of addresses) {
    if (address.startsWith('eipalloc-')) mapping.AllocationId = address;
    else if (address.includes(':')) mapping.IPv6Address = address;
    else mapping.PrivateIPv4Address = address;
  }
  return mapping;
}
