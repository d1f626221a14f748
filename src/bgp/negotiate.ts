import type { Family } from '../net/address.ts';
import type { Capability } from './wire/capability.ts';
import { encodeCapability } from './wire/capability.ts';
import { afi, asTrans, errorCode, openError, safi } from './wire/codes.ts';
import { decoded, failed, fault, type Decoded, type Fault } from './wire/fault.ts';
import type { OpenMessage } from './wire/open.ts';
import { afiOf, familyOfAfi } from './wire/update.ts';
import { octets, u16 } from './wire/writer.ts';

/** What we say in OPEN and what we expect of the peer's. */
export interface Identity {
  readonly localAsn: number;
  readonly peerAsn: number | 'internal' | 'external';
  readonly routerId: number;
  /** Seconds. */
  readonly holdTime: number;
  readonly families: readonly Family[];
  /** The session runs over IPv6: IPv4 routes need RFC 8950. */
  readonly overIpv6: boolean;
}

/** What both sides agreed on. */
export interface Negotiated {
  readonly peerAsn: number;
  readonly peerRouterId: number;
  readonly internal: boolean;
  /** Seconds: the smaller of both, 0 for none. */
  readonly holdTime: number;
  readonly families: readonly Family[];
  readonly fourOctetAsn: boolean;
  readonly routeRefresh: boolean;
  /** The peer takes IPv4 routes with an IPv6 next hop. */
  readonly extendedNextHop: boolean;
  /** Both sides take messages of up to 65535 octets (RFC 8654). */
  readonly extendedMessages: boolean;
}

export function openOf(identity: Identity): OpenMessage {
  const { localAsn, holdTime, routerId } = identity;
  return { version: 4, asn: localAsn > 0xffff ? asTrans : localAsn, holdTime, routerId, capabilities: capabilitiesOf(identity) };
}

/** Judges the peer's OPEN (RFC 4271 6.2) and intersects the capabilities. */
export function negotiate(open: OpenMessage, identity: Identity): Decoded<Negotiated> {
  const theirs = summarize(open.capabilities);
  const peerAsn = theirs.asn ?? open.asn;
  const wrong =
    checkAsn(open, peerAsn, theirs.asn !== undefined, identity) ?? checkRouterId(open, peerAsn, identity) ?? checkHoldTime(open);
  if (wrong !== undefined) return failed(wrong);
  // Without any multiprotocol capability a peer speaks IPv4 unicast (RFC 4760 8).
  const offered = theirs.multiprotocol ? theirs.families : new Set<Family>([4]);
  const families = identity.families.filter((family) => offered.has(family));
  if (families.length === 0) return failed(noCommonFamily(offered, identity));
  return decoded({
    peerAsn,
    peerRouterId: open.routerId,
    internal: peerAsn === identity.localAsn,
    holdTime: Math.min(open.holdTime, identity.holdTime),
    families,
    fourOctetAsn: theirs.asn !== undefined,
    routeRefresh: theirs.routeRefresh,
    extendedNextHop: theirs.extendedNextHop && advertisesExtendedNextHop(identity),
    extendedMessages: false,
  });
}

function capabilitiesOf(identity: Identity): Capability[] {
  const capabilities: Capability[] = identity.families.map((family) => ({ kind: 'multiprotocol', afi: afiOf(family), safi: safi.unicast }));
  capabilities.push({ kind: 'routeRefresh' });
  if (advertisesExtendedNextHop(identity)) {
    capabilities.push({ kind: 'extendedNextHop', tuples: [{ afi: afi.ipv4, safi: safi.unicast, nextHopAfi: afi.ipv6 }] });
  }
  capabilities.push({ kind: 'fourOctetAsn', asn: identity.localAsn });
  return capabilities;
}

const advertisesExtendedNextHop = (identity: Identity): boolean => identity.overIpv6 && identity.families.includes(4);

/** Duplicates are allowed (RFC 5492 4); of AS numbers the last one counts. */
function summarize(capabilities: readonly Capability[]) {
  const families = new Set<Family>();
  let multiprotocol = false;
  let routeRefresh = false;
  let extendedNextHop = false;
  let asn: number | undefined;
  for (const capability of capabilities) {
    switch (capability.kind) {
      case 'multiprotocol': {
        multiprotocol = true;
        const family = familyOfAfi(capability.afi, capability.safi);
        if (family !== undefined) families.add(family);
        break;
      }
      case 'routeRefresh':
        routeRefresh = true;
        break;
      case 'extendedNextHop':
        extendedNextHop ||= capability.tuples.some((tuple) => familyOfAfi(tuple.afi, tuple.safi) === 4 && tuple.nextHopAfi === afi.ipv6);
        break;
      case 'fourOctetAsn':
        asn = capability.asn;
        break;
      case 'other':
        break;
    }
  }
  return { families, multiprotocol, routeRefresh, extendedNextHop, asn };
}

/** RFC 7607: AS 0 is no AS. AS_TRANS without the capability hides the real number. */
function checkAsn(open: OpenMessage, asn: number, fourOctets: boolean, { localAsn, peerAsn }: Identity): Fault | undefined {
  const refuse = (problem: string): Fault => fault('reset', errorCode.open, openError.peerAs, problem);
  if (open.asn === 0 || asn === 0) return refuse('peer says AS 0, which is reserved');
  if (asn === asTrans && !fourOctets) return refuse(`peer says AS ${asTrans} (AS_TRANS) without its real AS number`);
  if (peerAsn === 'internal' && asn !== localAsn) return refuse(`peer says AS ${asn}, configured internal (our AS ${localAsn})`);
  if (peerAsn === 'external' && asn === localAsn) return refuse(`peer says AS ${asn}, configured external, but that is our AS`);
  if (typeof peerAsn === 'number' && asn !== peerAsn) return refuse(`peer says AS ${asn}, configured ${peerAsn}`);
  return undefined;
}

/** RFC 6286 2.2: not zero, and different from ours where both are in one AS. */
function checkRouterId(open: OpenMessage, asn: number, { routerId, localAsn }: Identity): Fault | undefined {
  if (open.routerId === 0) return fault('reset', errorCode.open, openError.routerId, 'peer says router ID 0.0.0.0');
  if (open.routerId !== routerId || asn !== localAsn) return undefined;
  return fault('reset', errorCode.open, openError.routerId, 'peer has the same router ID as we, and both are in one AS: give each its own');
}

function checkHoldTime({ holdTime }: OpenMessage): Fault | undefined {
  if (holdTime !== 1 && holdTime !== 2) return undefined;
  return fault('reset', errorCode.open, openError.holdTime, `peer says hold time ${holdTime} s, which is too short`, octets(u16(holdTime)));
}

function noCommonFamily(offered: ReadonlySet<Family>, identity: Identity): Fault {
  const wanted = identity.families.map((family) => encodeCapability({ kind: 'multiprotocol', afi: afiOf(family), safi: safi.unicast }));
  const names = (families: Iterable<Family>): string => [...families].map((family) => `IPv${family} unicast`).join(' and ') || 'neither';
  const problem = `no address family in common: peer offers ${names(offered)}, configured ${names(identity.families)}`;
  return fault('reset', errorCode.open, openError.capability, problem, octets(...wanted));
}
