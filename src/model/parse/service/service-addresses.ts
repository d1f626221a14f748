import { formatAddress, parseAddressLeniently, sameAddress, type Address, type Family } from '../../../net/address.ts';
import { parsed, invalid, type Parsed } from '../../../net/parsed.ts';
import type { Service } from '../../objects/service.ts';
import type { FieldReader } from '../../reading/fields.ts';
import type { ParseOptions } from '../../reading/result.ts';

type ClusterAddresses = Pick<Service, 'headless' | 'clusterIPs' | 'ipFamilies' | 'ipFamilyPolicy'>;

/**
 * Reads clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy. Derives a missing field from the others. `unchosen` says whether clusterIPs
 * may be absent because the API server has not chosen them yet.
 */
export function readClusterAddresses(spec: FieldReader, type: Service['type'], { unchosen }: ParseOptions): ClusterAddresses {
  const single = spec.parsed('clusterIP', parseClusterIP);
  const list = spec.parsedList('clusterIPs', 2, parseClusterIP);
  const families = spec.parsedList('ipFamilies', 2, parseFamily);
  const policy = spec.oneOf('ipFamilyPolicy', ['SingleStack', 'PreferDualStack', 'RequireDualStack']);
  if (type === 'ExternalName') return { headless: false, clusterIPs: [], ipFamilies: [], ipFamilyPolicy: 'SingleStack' };
  if (families.length === 2 && families[0] === families[1]) spec.problem('ipFamilies', 'names one family twice', 'remove one');

  if (single === 'None' || list.includes('None')) {
    if (list.length > 1 || (single !== undefined && single !== 'None') || list.some((item) => item !== 'None')) {
      spec.problem('clusterIPs', 'None cannot be combined with an address', 'write clusterIP: None only');
    }
    if (type !== 'ClusterIP') spec.problem('clusterIP', `None is not for type ${type}`, 'give the Service a clusterIP');
    const ipFamilies: Family[] = families.length > 0 ? families : [4];
    return {
      headless: true,
      clusterIPs: [],
      ipFamilies,
      ipFamilyPolicy: policy ?? (families.length === 2 ? 'RequireDualStack' : 'SingleStack'),
    };
  }

  const listed = list.filter((item) => item !== 'None');
  const clusterIPs: Address[] = listed.length > 0 ? listed : single === undefined ? [] : [single];
  if (clusterIPs.length === 0 && unchosen === 'left open') return unchosenAddresses(families, policy);
  const [first] = clusterIPs;
  if (first !== undefined && clusterIPs.length === 1 && policy === 'RequireDualStack' && unchosen === 'left open') {
    // The API server adds the second address when a Service becomes dual-stack.
    return { headless: false, clusterIPs, ipFamilies: [first.family, first.family === 4 ? 6 : 4], ipFamilyPolicy: policy };
  }
  checkAddresses(spec, clusterIPs, single, families);
  checkPolicy(spec, clusterIPs.length, policy);
  return {
    headless: false,
    clusterIPs,
    ipFamilies: clusterIPs.length > 0 ? clusterIPs.map(({ family }) => family) : families,
    ipFamilyPolicy: policy ?? (clusterIPs.length === 2 ? 'RequireDualStack' : 'SingleStack'),
  };
}

/**
 * Returns the families of a Service whose addresses the API server has not chosen yet. PreferDualStack counts as both families, because the
 * manifest does not say which families the cluster has.
 */
function unchosenAddresses(families: readonly Family[], policy: Service['ipFamilyPolicy'] | undefined): ClusterAddresses {
  const [first = 4] = families;
  const both = families.length === 2 || (policy !== undefined && policy !== 'SingleStack');
  const ipFamilies: Family[] = both ? [first, first === 4 ? 6 : 4] : [first];
  return { headless: false, clusterIPs: [], ipFamilies, ipFamilyPolicy: policy ?? (both ? 'RequireDualStack' : 'SingleStack') };
}

function checkAddresses(spec: FieldReader, clusterIPs: readonly Address[], single: Address | undefined, families: readonly Family[]): void {
  const [first, second] = clusterIPs;
  if (first === undefined) {
    if (spec.has('clusterIP') || spec.has('clusterIPs')) return;
    spec.problem('clusterIP', 'is required: there is no API server that chooses one', 'write a free address of the service CIDR, or None');
    return;
  }
  if (single !== undefined && !sameAddress(single, first)) {
    spec.problem('clusterIP', `differs from clusterIPs[0], ${formatAddress(first)}`, 'make them equal, or remove one');
  }
  if (second !== undefined && first.family === second.family) {
    spec.problem(['clusterIPs', 1], 'is of the same family as clusterIPs[0]', 'write one IPv4 and one IPv6 address');
  }
  for (const [index, family] of families.entries()) {
    const address = clusterIPs[index];
    if (address === undefined) {
      spec.problem('clusterIPs', `has no address for ipFamilies[${index}], IPv${family}`, `add an IPv${family} address to clusterIPs`);
    } else if (address.family !== family) {
      spec.problem(
        ['ipFamilies', index],
        `is IPv${family}, but clusterIPs[${index}] is ${formatAddress(address)}`,
        'use the same order in both',
      );
    }
  }
}

function checkPolicy(spec: FieldReader, addresses: number, policy: Service['ipFamilyPolicy'] | undefined): void {
  if (policy === 'SingleStack' && addresses === 2) {
    spec.problem('ipFamilyPolicy', 'is SingleStack, but there are two clusterIPs', 'write PreferDualStack or RequireDualStack');
  }
  if (policy === 'RequireDualStack' && addresses === 1) {
    spec.problem('clusterIPs', 'has one address, but ipFamilyPolicy is RequireDualStack', 'add an address of the other family');
  }
}

function parseClusterIP(text: string): Parsed<Address | 'None'> {
  return text === 'None' ? parsed('None') : parseAddressLeniently(text);
}

function parseFamily(text: string): Parsed<Family> {
  if (text === 'IPv4') return parsed(4);
  if (text === 'IPv6') return parsed(6);
  return invalid('write IPv4 or IPv6');
}
