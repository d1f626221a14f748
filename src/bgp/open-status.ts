import { formatAddress } from '../net/address.ts';
import { roles } from './identity.ts';
import type { Negotiated } from './negotiate.ts';
import type { Capability } from './wire/capability.ts';
import { safi } from './wire/codes.ts';
import type { OpenMessage } from './wire/open.ts';
import { familyOfAfi } from './wire/update.ts';

/** What both agreed on. */
export type NegotiatedStatus = Omit<Negotiated, 'peerRouterId'> & { readonly peerRouterId: string };

export function negotiatedStatus(negotiated: Negotiated): NegotiatedStatus {
  return { ...negotiated, peerRouterId: formatAddress({ family: 4, value: BigInt(negotiated.peerRouterId) }) };
}

/** The capabilities of an OPEN in words, in the order they came in: what an operator compares. */
export function describeOpen(open: OpenMessage | undefined): string[] {
  return open === undefined ? [] : open.capabilities.map((capability) => describeCapability(capability));
}

function describeCapability(capability: Capability): string {
  switch (capability.kind) {
    case 'multiprotocol':
      return `multiprotocol ${familyName(capability)}`;
    case 'routeRefresh':
      return 'route refresh';
    case 'extendedNextHop':
      return `extended next hop ${capability.tuples.map((tuple) => `${familyName(tuple)} over AFI ${tuple.nextHopAfi}`).join(', ')}`;
    case 'extendedMessage':
      return 'extended message';
    case 'role':
      return `role ${Object.entries(roles).find(([, code]) => code === capability.role)?.[0] ?? capability.role}`;
    case 'gracefulRestart': {
      const flags = [capability.restarted && 'restarted', capability.notification && 'notification'].filter(Boolean).join(', ');
      const families = capability.families.map((each) => `${familyName(each)}${each.forwardingPreserved ? ' (forwarding preserved)' : ''}`);
      return `graceful restart ${capability.restartTime} s${flags === '' ? '' : ` (${flags})`} ${families.join(', ')}`.trimEnd();
    }
    case 'fourOctetAsn':
      return `4-octet AS ${capability.asn}`;
    case 'addPath': {
      const direction = (receive: boolean, send: boolean): string => (receive && send ? 'both ways' : receive ? 'receive' : 'send');
      return `ADD-PATH ${capability.families.map((each) => `${familyName(each)} ${direction(each.receive, each.send)}`).join(', ')}`;
    }
    case 'enhancedRouteRefresh':
      return 'enhanced route refresh';
    case 'longLivedGracefulRestart':
      return `long-lived graceful restart ${capability.families.map((each) => `${familyName(each)} ${each.staleTime} s`).join(', ')}`;
    case 'other':
      return `capability ${capability.code}`;
  }
}

function familyName(pair: { readonly afi: number; readonly safi: number }): string {
  const family = pair.safi === safi.unicast ? familyOfAfi(pair.afi, pair.safi) : undefined;
  return family === undefined ? `AFI ${pair.afi} SAFI ${pair.safi}` : `IPv${family} unicast`;
}
