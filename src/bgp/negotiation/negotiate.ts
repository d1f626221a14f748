import type { Family } from '../../net/address.ts';
import { advertisesExtendedNextHop, roles, type AsnRange, type LocalOpen, type Role } from './local-open.ts';
import { encodeCapability, type Capability } from '../wire/capability.ts';
import { afi, asTrans, errorCode, openError, safi } from '../wire/codes.ts';
import { decoded, failed, fault, type Decoded, type Fault } from '../wire/fault.ts';
import type { OpenMessage } from '../wire/open.ts';
import { afiOf, familyOfAfi } from '../wire/update.ts';
import { octets, u16 } from '../wire/writer.ts';

/** The values that both sides agreed on. */
export interface Negotiated {
  readonly peerAsn: number;
  readonly peerRouterId: number;
  readonly internal: boolean;
  /** In seconds: the smaller of both hold times. 0: no hold timer. */
  readonly holdTime: number;
  readonly families: readonly Family[];
  readonly fourOctetAsn: boolean;
  readonly routeRefresh: boolean;
  readonly enhancedRouteRefresh: boolean;
  /** Messages may have up to 65535 octets instead of 4096 (RFC 8654). */
  readonly extendedMessages: boolean;
  /** The peer accepts IPv4 routes with an IPv6 next hop. */
  readonly extendedNextHop: boolean;
  /** Absent when one of the sides does not offer it. */
  readonly gracefulRestart?: NegotiatedRestart;
  /** The peer's role. Absent unless both sides sent one. */
  readonly peerRole?: Role;
  /** Families in which the peer sends path identifiers (RFC 7911). */
  readonly addPathReceive: readonly Family[];
  /** Families in which we send path identifiers. */
  readonly addPathSend: readonly Family[];
  /** Families whose routes the peer keeps as stale after the restart time (RFC 9494). */
  readonly longLivedFamilies: readonly Family[];
}

export interface NegotiatedRestart {
  /** Seconds that a restart of the peer may take. */
  readonly peerRestartTime: number;
  /** The peer has restarted and does not wait for our End-of-RIB. */
  readonly peerRestarted: boolean;
  /** The peer keeps routes after a NOTIFICATION, unless it is a Hard Reset (RFC 8538). */
  readonly notification: boolean;
}

/** Checks the peer's OPEN (RFC 4271 6.2) and intersects the capabilities of both sides. */
export function negotiate(open: OpenMessage, localOpen: LocalOpen): Decoded<Negotiated> {
  const plain = localOpen.withoutOptionalParameters === true;
  const theirs = summarize(open.capabilities);
  const peerAsn = theirs.asn ?? open.asn;
  const holdTime = Math.min(open.holdTime, localOpen.holdTime);
  const wrong =
    checkAsn(open, peerAsn, theirs.asn !== undefined, localOpen) ??
    checkRouterId(open, peerAsn, localOpen) ??
    checkHoldTime(open, holdTime, localOpen) ??
    checkRole(theirs.roles, localOpen);
  if (wrong !== undefined) return failed(wrong);
  // A peer without a multiprotocol capability speaks IPv4 unicast (RFC 4760 8).
  const offered = theirs.multiprotocol && !plain ? theirs.families : new Set<Family>([4]);
  const families = localOpen.families.filter((family) => offered.has(family));
  if (families.length === 0) return failed(noCommonFamily(offered, localOpen));
  const { gracefulRestart } = theirs;
  const [peerRole] = theirs.roles;
  return decoded({
    peerAsn,
    peerRouterId: open.routerId,
    internal: peerAsn === localOpen.localAsn,
    holdTime,
    families,
    fourOctetAsn: theirs.asn !== undefined && !plain,
    routeRefresh: theirs.routeRefresh && !plain,
    enhancedRouteRefresh: theirs.enhancedRouteRefresh && !plain,
    extendedMessages: theirs.extendedMessages && !plain,
    extendedNextHop: theirs.extendedNextHop && advertisesExtendedNextHop(localOpen),
    ...(gracefulRestart === undefined || localOpen.gracefulRestart === undefined || plain
      ? {}
      : {
          gracefulRestart: {
            peerRestartTime: gracefulRestart.restartTime,
            peerRestarted: gracefulRestart.restarted,
            notification: gracefulRestart.notification,
          },
        }),
    ...(localOpen.role === undefined || peerRole === undefined ? {} : { peerRole: roleName(peerRole) }),
    addPathReceive: plain ? [] : (localOpen.addPathReceive ?? []).filter((family) => theirs.addPathSend.has(family)),
    addPathSend: plain ? [] : (localOpen.addPathSend ?? []).filter((family) => theirs.addPathReceive.has(family)),
    // The capability has no meaning without graceful restart (RFC 9494 4.1).
    longLivedFamilies:
      localOpen.longLivedStaleTime === undefined || gracefulRestart === undefined || plain
        ? []
        : families.filter((family) => theirs.longLived.has(family)),
  });
}

/** The peer's capabilities, as far as negotiation uses them. */
class Offer {
  readonly families = new Set<Family>();
  readonly roles = new Set<number>();
  readonly addPathReceive = new Set<Family>();
  readonly addPathSend = new Set<Family>();
  readonly longLived = new Set<Family>();
  multiprotocol = false;
  routeRefresh = false;
  enhancedRouteRefresh = false;
  extendedMessages = false;
  extendedNextHop = false;
  asn: number | undefined;
  gracefulRestart: (Capability & { readonly kind: 'gracefulRestart' }) | undefined;
}

/** Collects the capabilities. Duplicates are allowed (RFC 5492 4); the last AS number and the last restart time count. */
function summarize(capabilities: readonly Capability[]): Offer {
  const offer = new Offer();
  for (const capability of capabilities) {
    switch (capability.kind) {
      case 'multiprotocol':
        offer.multiprotocol = true;
        addFamily(offer.families, capability);
        break;
      case 'routeRefresh':
        offer.routeRefresh = true;
        break;
      case 'enhancedRouteRefresh':
        offer.enhancedRouteRefresh = true;
        break;
      case 'extendedMessage':
        offer.extendedMessages = true;
        break;
      case 'extendedNextHop':
        offer.extendedNextHop ||= capability.tuples.some(
          (tuple) => familyOfAfi(tuple.afi, tuple.safi) === 4 && tuple.nextHopAfi === afi.ipv6,
        );
        break;
      case 'fourOctetAsn':
        offer.asn = capability.asn;
        break;
      case 'gracefulRestart':
        offer.gracefulRestart = capability;
        break;
      case 'role':
        offer.roles.add(capability.role);
        break;
      case 'addPath':
        for (const family of capability.families) {
          if (family.receive) addFamily(offer.addPathReceive, family);
          if (family.send) addFamily(offer.addPathSend, family);
        }
        break;
      case 'longLivedGracefulRestart':
        for (const family of capability.families) addFamily(offer.longLived, family);
        break;
      case 'fqdn':
      case 'softwareVersion':
      case 'other':
        break;
    }
  }
  return offer;
}

function addFamily(into: Set<Family>, { afi, safi }: { readonly afi: number; readonly safi: number }): void {
  const family = familyOfAfi(afi, safi);
  if (family !== undefined) into.add(family);
}

/** Checks the peer's AS number. AS 0 is reserved (RFC 7607). AS_TRANS without the four-octet capability hides the real number. */
function checkAsn(open: OpenMessage, asn: number, fourOctets: boolean, { localAsn, peerAsn, peerAsns }: LocalOpen): Fault | undefined {
  const refuse = (problem: string): Fault => fault('reset', errorCode.open, openError.peerAs, problem);
  if (open.asn === 0 || asn === 0) return refuse('peer says AS 0, which is reserved');
  if (asn === asTrans && !fourOctets) return refuse(`peer says AS ${asTrans} (AS_TRANS) without its real AS number`);
  if (peerAsn === 'internal' && asn !== localAsn) return refuse(`peer says AS ${asn}, configured internal (our AS ${localAsn})`);
  if (peerAsn === 'external' && asn === localAsn) return refuse(`peer says AS ${asn}, configured external, but that is our AS`);
  if (typeof peerAsn === 'number' && asn !== peerAsn) return refuse(`peer says AS ${asn}, configured ${peerAsn}`);
  const isIn = (each: number | AsnRange): boolean => (typeof each === 'number' ? asn === each : asn >= each.from && asn <= each.to);
  if (peerAsns !== undefined && !peerAsns.some(isIn)) {
    const allowed = peerAsns.map((each) => (typeof each === 'number' ? each : `${each.from}-${each.to}`));
    return refuse(`peer says AS ${asn}, configured ${allowed.join(', ') || 'none'}`);
  }
  return undefined;
}

/** Checks the peer's BGP identifier: not 0, and different from the local one when both are in one AS (RFC 6286 2.2). */
function checkRouterId(open: OpenMessage, asn: number, { routerId, localAsn }: LocalOpen): Fault | undefined {
  if (open.routerId === 0) return fault('reset', errorCode.open, openError.routerId, 'peer says router ID 0.0.0.0');
  if (open.routerId !== routerId || asn !== localAsn) return undefined;
  return fault(
    'reset',
    errorCode.open,
    openError.routerId,
    'peer has the same router ID as this speaker, and both are in one AS: give each its own',
  );
}

function checkHoldTime(open: OpenMessage, agreed: number, { minimumHoldTime = 0 }: LocalOpen): Fault | undefined {
  const refuse = (problem: string): Fault => fault('reset', errorCode.open, openError.holdTime, problem, octets(u16(open.holdTime)));
  if (open.holdTime === 1 || open.holdTime === 2) return refuse(`peer says hold time ${open.holdTime} s, which is too short`);
  if (minimumHoldTime > 0 && agreed === 0) return refuse(`peer wants no hold time, configured at least ${minimumHoldTime} s`);
  if (agreed < minimumHoldTime) return refuse(`peer says hold time ${open.holdTime} s, configured at least ${minimumHoldTime} s`);
  return undefined;
}

/** The role that the peer must have, for each local role (RFC 9234 4.2). */
const counterpart: Readonly<Record<Role, Role>> = {
  provider: 'customer',
  customer: 'provider',
  routeServer: 'routeServerClient',
  routeServerClient: 'routeServer',
  peer: 'peer',
};

const roleNames = Object.keys(roles) as Role[];
const roleName = (code: number): Role => roleNames.find((name) => roles[name] === code) ?? 'peer';

function checkRole(theirs: ReadonlySet<number>, { role, strictRole, withoutOptionalParameters }: LocalOpen): Fault | undefined {
  if (role === undefined || withoutOptionalParameters === true) return undefined;
  const refuse = (problem: string): Fault => fault('reset', errorCode.open, openError.roleMismatch, problem);
  const expected = counterpart[role];
  if (theirs.size === 0) return strictRole === true ? refuse(`peer says no BGP role, and ours (${role}) demands ${expected}`) : undefined;
  if (theirs.size === 1 && theirs.has(roles[expected])) return undefined;
  const said = [...theirs].map((code) => roleNames.find((name) => roles[name] === code) ?? String(code)).join(' and ');
  return refuse(`peer says BGP role ${said}, and ours (${role}) demands ${expected}`);
}

function noCommonFamily(offered: ReadonlySet<Family>, localOpen: LocalOpen): Fault {
  const wanted = localOpen.families.map((family) => encodeCapability({ kind: 'multiprotocol', afi: afiOf(family), safi: safi.unicast }));
  const names = (families: Iterable<Family>): string => [...families].map((family) => `IPv${family} unicast`).join(' and ') || 'neither';
  const problem = `peer offers ${names(offered)}, configured ${names(localOpen.families)}`;
  return fault('reset', errorCode.open, openError.capability, problem, octets(...wanted));
}
