import { formatAddress } from '../../net/address.ts';
import { roles } from './local-open.ts';
import type { Negotiated } from './negotiate.ts';
import type { Capability } from '../wire/capability.ts';
import { familyName } from '../wire/codes.ts';
import type { OpenMessage } from '../wire/open.ts';

/** The negotiated values, for status and events. */
export type NegotiatedStatus = Omit<Negotiated, 'peerRouterId'> & { readonly peerRouterId: string };

export function negotiatedStatus(negotiated: Negotiated): NegotiatedStatus {
  return { ...negotiated, peerRouterId: formatAddress({ family: 4, value: BigInt(negotiated.peerRouterId) }) };
}

/** Describes the capabilities of an OPEN in words, in the order of the message. An operator compares those of both sides. */
export function describeOpen(open: OpenMessage | undefined): string[] {
  return open === undefined ? [] : open.capabilities.map((capability) => describeCapability(capability));
}

export function describeCapability(capability: Capability): string {
  switch (capability.kind) {
    case 'multiprotocol':
      return `multiprotocol ${nameOf(capability)}`;
    case 'routeRefresh':
      return 'route refresh';
    case 'extendedNextHop':
      return `extended next hop ${capability.tuples.map((tuple) => `${nameOf(tuple)} over AFI ${tuple.nextHopAfi}`).join(', ')}`;
    case 'extendedMessage':
      return 'extended message';
    case 'role':
      return `role ${Object.entries(roles).find(([, code]) => code === capability.role)?.[0] ?? capability.role}`;
    case 'gracefulRestart': {
      const flags = [capability.restarted && 'restarted', capability.notification && 'notification'].filter(Boolean).join(', ');
      const families = capability.families.map((each) => `${nameOf(each)}${each.forwardingPreserved ? ' (forwarding preserved)' : ''}`);
      return `graceful restart ${capability.restartTime} s${flags === '' ? '' : ` (${flags})`} ${families.join(', ')}`.trimEnd();
    }
    case 'fourOctetAsn':
      return `4-octet AS ${capability.asn}`;
    case 'addPath': {
      const direction = (receive: boolean, send: boolean): string => (receive && send ? 'both ways' : receive ? 'receive' : 'send');
      return `ADD-PATH ${capability.families.map((each) => `${nameOf(each)} ${direction(each.receive, each.send)}`).join(', ')}`;
    }
    case 'enhancedRouteRefresh':
      return 'enhanced route refresh';
    case 'longLivedGracefulRestart':
      return `long-lived graceful restart ${capability.families.map((each) => `${nameOf(each)} ${each.staleTime} s`).join(', ')}`;
    case 'fqdn':
      return `host name ${[capability.hostName, capability.domainName].filter((part) => part !== '').join('.')}`;
    case 'softwareVersion':
      return `software ${capability.version}`;
    case 'other':
      return `capability ${capability.code}`;
  }
}

const nameOf = ({ afi, safi }: { readonly afi: number; readonly safi: number }): string => familyName(afi, safi);

/** Returns the AS number in an OPEN: that of the capability, which may need four octets (RFC 6793), else that of the field. */
export function saidAsn(open: OpenMessage | undefined): number | undefined {
  const capability = open?.capabilities.findLast(({ kind }) => kind === 'fourOctetAsn');
  return capability?.kind === 'fourOctetAsn' ? capability.asn : open?.asn;
}
