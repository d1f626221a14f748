import type { Family } from '../../net/address.ts';
import { maximumMessageLength } from '../limits.ts';
import { attributeFlags, decodeAttributes, encodeAttribute, type AttributeSession, type PathAttributes } from './attributes.ts';
import { afi, attributeType, errorCode, messageType, safi, updateError } from './codes.ts';
import { decoded, failed, fault, type Decoded, type Fault } from './fault.ts';
import { withHeader } from './message.ts';
import { countNlri } from './nlri.ts';
import { Reader } from './reader.ts';
import { octets, u16 } from './writer.ts';

/**
 * UPDATE, RFC 4271 4.3:
 *   withdrawn length (2) | withdrawn | attributes' length (2) | attributes | NLRI
 * Prefixes stay in their bytes: a speaker that only counts them allocates nothing for them. `readNlri` reads them.
 */
export interface UpdateMessage {
  readonly withdrawn: readonly Nlri[];
  readonly announced: readonly Nlri[];
  readonly attributes: PathAttributes;
  /** The announced prefixes are to be treated as withdrawn (RFC 7606 2). */
  readonly treatAsWithdraw: boolean;
  /** End-of-RIB, RFC 4724 2. */
  readonly endOfRib?: Family;
  /** What was wrong and could be tolerated. */
  readonly faults: readonly Fault[];
}

export interface Nlri {
  readonly family: Family;
  readonly bytes: Uint8Array;
  readonly count: number;
  /** Announced prefixes: 4 octets, 16, or 32 (global and link-local). */
  readonly nextHop?: Uint8Array;
}

export interface UpdateSession extends AttributeSession {
  readonly families: readonly Family[];
}

export const afiOf = (family: Family): number => (family === 4 ? afi.ipv4 : afi.ipv6);

/** The family of an AFI/SAFI pair, where it is one of the two this speaker knows. */
export function familyOfAfi(afiNumber: number, safiNumber: number): Family | undefined {
  if (safiNumber !== safi.unicast) return undefined;
  return afiNumber === afi.ipv4 ? 4 : afiNumber === afi.ipv6 ? 6 : undefined;
}

/** Fails only with faults that reset the session; milder ones are in the message. */
export function decodeUpdate(body: Uint8Array, session: UpdateSession): Decoded<UpdateMessage> {
  const reader = new Reader(body);
  const withdrawnBytes = reader.take(reader.u16());
  if (reader.overrun) return malformed('the withdrawn routes are longer than the message');
  const attributeBytes = reader.take(reader.u16());
  if (reader.overrun) return malformed('the path attributes are longer than the message');
  const nlriBytes = reader.rest();
  const { attributes, faults } = decodeAttributes(attributeBytes, session);
  const fatal = faults.find(({ disposition }) => disposition === 'reset');
  if (fatal !== undefined) return failed(fatal);

  const withdrawn: Nlri[] = [];
  const announced: Nlri[] = [];
  for (const [bytes, into] of [
    [withdrawnBytes, withdrawn],
    [nlriBytes, announced],
  ] as const) {
    if (bytes.length === 0) continue;
    const count = countNlri(4, bytes);
    if (count === undefined) return invalidNetwork();
    into.push({
      family: 4,
      bytes,
      count,
      ...(into === announced && attributes.nextHop !== undefined ? { nextHop: attributes.nextHop } : {}),
    });
  }
  const multiprotocol = [readMpUnreach(attributes.mpUnreach, session, withdrawn), readMpReach(attributes.mpReach, session, announced)];
  for (const problem of multiprotocol) if (problem !== undefined) return failed(problem);

  const carriesRoutes = announced.length > 0;
  const tolerated = carriesRoutes ? [...faults, ...missing(attributes, nlriBytes.length > 0)] : faults;
  const treatAsWithdraw = tolerated.some(({ disposition }) => disposition === 'withdraw');
  if (treatAsWithdraw && nlriBytes.length === 0 && attributes.mpReach === undefined) {
    // Without reachable routes there is no telling what the sender meant (RFC 7606 5.2).
    return malformed(`there are no routes, and ${tolerated[0]?.problem ?? ''}`);
  }
  const family = endOfRib(body, attributes, session);
  return decoded({
    withdrawn,
    announced,
    attributes,
    treatAsWithdraw,
    faults: tolerated,
    ...(family === undefined ? {} : { endOfRib: family }),
  });
}

/** The whole message, of at most `maximum` octets. */
export function encodeUpdate(
  withdrawn: Uint8Array,
  attributes: Uint8Array,
  nlri: Uint8Array,
  maximum: number = maximumMessageLength,
): Uint8Array {
  return withHeader(messageType.update, octets(u16(withdrawn.length), withdrawn, u16(attributes.length), attributes, nlri), maximum);
}

/** RFC 4724 2: an empty UPDATE for IPv4 unicast, an MP_UNREACH_NLRI without prefixes for others. */
export function encodeEndOfRib(family: Family): Uint8Array {
  const nothing = new Uint8Array(0);
  if (family === 4) return encodeUpdate(nothing, nothing, nothing);
  const value = octets(u16(afiOf(family)), safi.unicast);
  return encodeUpdate(nothing, encodeAttribute(attributeFlags.optionalNonTransitive, attributeType.mpUnreach, value), nothing);
}

/** MP_REACH_NLRI, RFC 4760 3: AFI (2) | SAFI (1) | next hop length (1) | next hop | reserved (1) | NLRI. */
function readMpReach(value: Uint8Array | undefined, session: UpdateSession, into: Nlri[]): Fault | undefined {
  if (value === undefined) return undefined;
  const reader = new Reader(value);
  const family = familyOfAfi(reader.u16(), reader.u8());
  // A family that was not negotiated is ignored (RFC 4760 6 leaves that open; daemons agree).
  if (family === undefined || !session.families.includes(family)) return undefined;
  const nextHop = reader.take(reader.u8());
  reader.u8();
  // 4 octets only for IPv4; 16 and 32 also for IPv4, by RFC 8950.
  const lengths = family === 4 ? [4, 16, 32] : [16, 32];
  if (reader.overrun || !lengths.includes(nextHop.length)) {
    return fault('reset', errorCode.update, updateError.optionalAttribute, 'the next hop of MP_REACH_NLRI has a wrong length');
  }
  const bytes = reader.rest();
  const count = countNlri(family, bytes);
  if (count === undefined) return networkFault();
  into.push({ family, bytes, count, nextHop });
  return undefined;
}

/** MP_UNREACH_NLRI, RFC 4760 4: AFI (2) | SAFI (1) | withdrawn routes. */
function readMpUnreach(value: Uint8Array | undefined, session: UpdateSession, into: Nlri[]): Fault | undefined {
  if (value === undefined) return undefined;
  const reader = new Reader(value);
  const family = familyOfAfi(reader.u16(), reader.u8());
  if (family === undefined || !session.families.includes(family)) return undefined;
  const bytes = reader.rest();
  const count = countNlri(family, bytes);
  if (count === undefined) return fault('reset', errorCode.update, updateError.optionalAttribute, 'MP_UNREACH_NLRI is cut off');
  if (count > 0) into.push({ family, bytes, count });
  return undefined;
}

/** RFC 7606 3 d. */
function missing(attributes: PathAttributes, plainNlri: boolean): Fault[] {
  const absent = [
    attributes.origin === undefined && 'ORIGIN',
    attributes.asPath === undefined && 'AS_PATH',
    plainNlri && attributes.nextHop === undefined && 'NEXT_HOP',
  ].filter((name) => name !== false);
  return absent.map((name) => fault('withdraw', errorCode.update, 3, `${name} is missing`));
}

function endOfRib(body: Uint8Array, attributes: PathAttributes, session: UpdateSession): Family | undefined {
  if (body.length === 4) return 4;
  // Nothing but one MP_UNREACH_NLRI of three octets: 4 + 3 + 3, or one more with the extended length.
  if (attributes.mpUnreach?.length !== 3 || body.length > 11) return undefined;
  const reader = new Reader(attributes.mpUnreach);
  const family = familyOfAfi(reader.u16(), reader.u8());
  return family !== undefined && session.families.includes(family) ? family : undefined;
}

function malformed(detail: string): Decoded<never> {
  return failed(fault('reset', errorCode.update, updateError.malformedAttributes, `malformed UPDATE: ${detail}`));
}

const networkFault = (): Fault =>
  fault('reset', errorCode.update, updateError.network, 'malformed UPDATE: a prefix is too long or cut off');

const invalidNetwork = (): Decoded<never> => failed(networkFault());
