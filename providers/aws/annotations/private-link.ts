import { invalid, parsed } from '../../../src/net/parsed.ts';
import type { IpType } from '../cloud/endpoint-services.ts';
import { own, type AnnotationEntry } from './entry.ts';
import { boolean, list, matching } from './value-types.ts';

const principals = list('ARNs of accounts, roles and users, or `*`', (text) =>
  text === '*' || /^arn:aws[a-z-]*:iam::\d{12}:(?:root|(?:user|role)\/[\w+=,.@/-]+)$/.test(text)
    ? parsed(text)
    : invalid('is neither * nor the ARN of an account (arn:aws:iam::123456789012:root), a role or a user'),
);

const ipTypes = list('`ipv4` and `ipv6`', (text) =>
  text === 'ipv4' || text === 'ipv6' ? parsed<IpType>(text) : invalid('is neither ipv4 nor ipv6'),
);

const domain = matching(
  'domain name',
  /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/,
  'is not a domain name in lower case, such as shop.example.com',
);

/** Annotations about the PrivateLink endpoint service of an NLB. Of Services that share the NLB the oldest decides. */
export const privateLinkAnnotations = {
  endpointService: own('endpoint-service', boolean, {
    default: '`false`',
    description:
      'Herald makes a [PrivateLink endpoint service](aws.md#privatelink-endpoint-services) for the NLB, by which clients in other VPCs and accounts reach it, and deletes it before the NLB.',
  }),
  acceptanceRequired: own('endpoint-service-acceptance-required', boolean, {
    default: '`true`',
    description: 'With `endpoint-service`: the owner of the account accepts each connection before it works.',
  }),
  allowedPrincipals: own('endpoint-service-allowed-principals', principals, {
    default: 'none',
    description: 'With `endpoint-service`: the accounts, roles and users that may connect. Herald removes all others. `*` is everybody.',
  }),
  privateDnsName: own('endpoint-service-private-dns-name', domain, {
    default: '-',
    description:
      'With `endpoint-service`: the name that clients may use in their VPCs. AWS checks by a TXT record that you own the domain.',
  }),
  endpointIpTypes: own('endpoint-service-ip-address-types', ipTypes, {
    default: '`ipv4`',
    description: 'With `endpoint-service`: the address families of endpoints. `ipv6` needs a dual stack NLB.',
  }),
} as const satisfies Record<string, AnnotationEntry<never> | AnnotationEntry<unknown>>;
