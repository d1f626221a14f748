import { defined } from '../../lang/defined.ts';
import assert from 'node:assert';
import type { Family } from '../../net/address.ts';
import { maximumMessageLength } from '../limits.ts';
import { attributeName } from './attributes/attribute-rules.ts';
import {
  attributeFlags,
  decodeAttributes,
  encodeAttribute,
  type AttributeSession,
  type PathAttributes,
} from './attributes/decode-attributes.ts';
import { afi, attributeType, errorCode, familyName, messageType, safi, updateError } from './codes.ts';
import { decoded, failed, fault, type Decoded, type Fault } from './fault.ts';
import { withHeader } from './header.ts';
import { countNlri, type Nlri } from './nlri.ts';
import { encodePathAttributes } from './attributes/encode-attributes.ts';
import { Reader } from './reader.ts';
import { UpdateFaults } from './attributes/update-faults.ts';
import { octets, u16 } from './writer.ts';

export type { Nlri } from './nlri.ts';

/**
 * UPDATE (RFC 4271 4.3):
 *   length of withdrawn (2) | withdrawn | length of attributes (2) | attributes | NLRI
 * Prefixes stay encoded, so a speaker that only counts them allocates nothing. `readPaths` decodes them.
 */
export interface UpdateMessage {
  readonly withdrawn: readonly Nlri[];
  readonly announced: readonly Nlri[];
  readonly attributes: PathAttributes;
  /** The announced prefixes count as withdrawn (RFC 7606 2). */
  readonly treatAsWithdraw: boolean;
  /** Family of an End-of-RIB (RFC 4724 2). */
  readonly endOfRib?: Family;
  /** Tolerated errors, at most `maximumFaults`. */
  readonly faults: readonly Fault[];
}

export interface UpdateSession extends AttributeSession {
  readonly families: readonly Family[];
  /** Families whose prefixes come with path identifiers (RFC 7911). Absent: none. */
  readonly addPathReceive?: readonly Family[];
}

export const afiOf = (family: Family): number => (family === 4 ? afi.ipv4 : afi.ipv6);

/** Returns the family of AFI and SAFI, or undefined if the speaker does not support it. */
export function familyOfAfi(afiNumber: number, safiNumber: number): Family | undefined {
  if (safiNumber !== safi.unicast) return undefined;
  return afiNumber === afi.ipv4 ? 4 : afiNumber === afi.ipv6 ? 6 : undefined;
}

/**
 * Decodes an UPDATE. Fails only with faults that reset the session; milder faults are in the message. Accepts any octets, in time linear in
 * their number.
 */
export function decodeUpdate(body: Uint8Array, session: UpdateSession): Decoded<UpdateMessage> {
  const reader = new Reader(body);
  const withdrawnBytes = reader.take(reader.u16());
  if (reader.overrun) return malformed('the withdrawn routes are longer than the message');
  const attributeBytes = reader.take(reader.u16());
  if (reader.overrun) return malformed('the path attributes are longer than the message');
  const nlriBytes = reader.rest();
  const faults = new UpdateFaults();
  const { attributes, mpReach, mpUnreach, has } = decodeAttributes(attributeBytes, session, faults);
  const routes: Routes = { withdrawn: [], announced: [], ignored: false };
  if (faults.strongest?.disposition !== 'reset') {
    readPlain({ into: 'withdrawn', bytes: withdrawnBytes, nextHop: undefined }, session, faults, routes);
    if (mpUnreach !== undefined) readMpUnreach(mpUnreach.value, session, faults, routes);
    if (mpReach !== undefined) readMpReach(mpReach.value, session, faults, routes);
    readPlain({ into: 'announced', bytes: nlriBytes, nextHop: attributes.nextHop }, session, faults, routes);
    const carriesRoutes = routes.announced.some(({ count }) => count > 0);
    if (carriesRoutes) addMissing(has, nlriBytes.length > 0, faults);
    if (faults.strongest?.disposition === 'withdraw' && !carriesRoutes && !routes.ignored) {
      // Without reachable routes the intention of the sender is unknown (RFC 7606 5.2).
      const { problem, ...rest } = faults.strongest;
      return failed({ ...rest, disposition: 'reset', problem: `malformed UPDATE: there are no routes, and ${problem}` });
    }
  }
  if (faults.strongest?.disposition === 'reset') return failed(faults.strongest);
  const family = body.length - attributeBytes.length === 4 ? endOfRib(attributeBytes.length, mpUnreach?.value, session) : undefined;
  return decoded({
    withdrawn: routes.withdrawn,
    announced: routes.announced,
    attributes,
    treatAsWithdraw: faults.strongest?.disposition === 'withdraw',
    faults: faults.list,
    ...defined({ endOfRib: family }),
  });
}

/** Encodes the whole message, of at most `maximum` octets. */
export function encodeUpdate(
  withdrawn: Uint8Array,
  attributes: Uint8Array,
  nlri: Uint8Array,
  maximum: number = maximumMessageLength,
): Uint8Array {
  return withHeader(messageType.update, octets(u16(withdrawn.length), withdrawn, u16(attributes.length), attributes, nlri), maximum);
}

/** Encodes End-of-RIB (RFC 4724 2): an empty UPDATE for IPv4 unicast, an MP_UNREACH_NLRI without prefixes for other families. */
export function encodeEndOfRib(family: Family): Uint8Array {
  const nothing = new Uint8Array(0);
  if (family === 4) return encodeUpdate(nothing, nothing, nothing);
  const value = octets(u16(afiOf(family)), safi.unicast);
  return encodeUpdate(nothing, encodeAttribute(attributeFlags.optionalNonTransitive, attributeType.mpUnreach, value), nothing);
}

/** The content of an UPDATE to encode. */
export type UpdateContent = Pick<UpdateMessage, 'withdrawn' | 'announced' | 'attributes' | 'endOfRib'>;

/**
 * Encodes an UPDATE that was decoded, or built with `nlriOf`. There may be one `Nlri` for each of the four places for prefixes. The caller
 * must not pass more, or a message of more than `maximum` octets.
 */
export function encodeUpdateMessage(
  update: UpdateContent,
  session: Pick<AttributeSession, 'fourOctetAsn'>,
  maximum: number = maximumMessageLength,
): Uint8Array {
  const { withdrawn, announced, attributes, endOfRib } = update;
  if (endOfRib !== undefined) return encodeEndOfRib(endOfRib);
  const reach = onlyOne(announced, true);
  const unreach = onlyOne(withdrawn, true);
  const nothing = new Uint8Array(0);
  const blocks = [
    // MP_REACH_NLRI goes first, so that a receiver finds the prefixes even if a later attribute is malformed (RFC 7606 5.1).
    reach === undefined ? nothing : encodeMpReach(reach),
    unreach === undefined ? nothing : encodeMpUnreach(unreach),
    encodePathAttributes(attributes, session),
  ];
  const plain = { withdrawn: onlyOne(withdrawn, false)?.bytes ?? nothing, announced: onlyOne(announced, false)?.bytes ?? nothing };
  return encodeUpdate(plain.withdrawn, octets(...blocks), plain.announced, maximum);
}

interface Routes {
  readonly withdrawn: Nlri[];
  readonly announced: Nlri[];
  /** The message has reachable prefixes of a family that was not negotiated. */
  ignored: boolean;
}

function onlyOne(list: readonly Nlri[], multiprotocol: boolean): Nlri | undefined {
  const [first, second] = list.filter((nlri) => nlri.multiprotocol === multiprotocol);
  assert(second === undefined, 'an UPDATE has one place for each kind of prefixes');
  assert(first === undefined || multiprotocol || first.family === 4, 'the fields of RFC 4271 carry IPv4 only');
  return first;
}

function encodeMpReach({ family, nextHop, bytes }: Nlri): Uint8Array {
  assert(nextHop !== undefined, 'announced prefixes in MP_REACH_NLRI have a next hop');
  const value = octets(u16(afiOf(family)), safi.unicast, nextHop.length, nextHop, 0, bytes);
  return encodeAttribute(attributeFlags.optionalNonTransitive, attributeType.mpReach, value);
}

function encodeMpUnreach({ family, bytes }: Nlri): Uint8Array {
  return encodeAttribute(attributeFlags.optionalNonTransitive, attributeType.mpUnreach, octets(u16(afiOf(family)), safi.unicast, bytes));
}

/** One of the two fields of RFC 4271, which carry IPv4 only. */
interface PlainField {
  readonly into: 'withdrawn' | 'announced';
  readonly bytes: Uint8Array;
  readonly nextHop: Uint8Array | undefined;
}

function readPlain({ into, bytes, nextHop }: PlainField, session: UpdateSession, faults: UpdateFaults, routes: Routes): void {
  if (bytes.length === 0) return;
  const pathIds = session.addPathReceive?.includes(4) ?? false;
  const count = countNlri(4, bytes, pathIds);
  if (typeof count === 'string') {
    addNetworkFault(count, faults);
  } else if (!session.families.includes(4)) {
    ignoreFamily(familyName(afi.ipv4, safi.unicast), into === 'announced', faults, routes);
  } else {
    routes[into].push({ family: 4, bytes, count, multiprotocol: false, pathIds, ...(nextHop === undefined ? {} : { nextHop }) });
    if (nextHop !== undefined && !isUsableNextHop(nextHop)) {
      const data = encodeAttribute(attributeFlags.wellKnown, attributeType.nextHop, nextHop);
      faults.add('withdraw', updateError.nextHop, () => `NEXT_HOP ${nextHop.join('.')} is not the address of a router`, data);
    }
  }
}

/** MP_REACH_NLRI (RFC 4760 3): AFI (2) | SAFI (1) | next hop length (1) | next hop | reserved (1) | NLRI. */
function readMpReach(value: Uint8Array, session: UpdateSession, faults: UpdateFaults, routes: Routes): void {
  const reader = new Reader(value);
  const [afiNumber, safiNumber] = [reader.u16(), reader.u8()];
  const family = familyOfAfi(afiNumber, safiNumber);
  // RFC 4760 6 does not define the treatment of a family that was not negotiated. Other daemons ignore its routes too.
  if (family === undefined || !session.families.includes(family)) {
    ignoreFamily(familyName(afiNumber, safiNumber), true, faults, routes);
    return;
  }
  const nextHop = reader.take(reader.u8());
  reader.u8(); // reserved
  // 4 octets only for IPv4; 16 and 32 for both families (RFC 8950).
  const lengths = family === 4 ? [4, 16, 32] : [16, 32];
  if (reader.overrun || !lengths.includes(nextHop.length)) {
    const data = encodeAttribute(attributeFlags.optionalNonTransitive, attributeType.mpReach, value);
    faults.add('reset', updateError.optionalAttribute, () => 'the next hop of MP_REACH_NLRI has a wrong length', data);
    return;
  }
  const bytes = reader.rest();
  const pathIds = session.addPathReceive?.includes(family) ?? false;
  const count = countNlri(family, bytes, pathIds);
  if (typeof count === 'string') addNetworkFault(count, faults);
  else routes.announced.push({ family, bytes, count, multiprotocol: true, pathIds, nextHop });
}

/** MP_UNREACH_NLRI (RFC 4760 4): AFI (2) | SAFI (1) | withdrawn routes. */
function readMpUnreach(value: Uint8Array, session: UpdateSession, faults: UpdateFaults, routes: Routes): void {
  const reader = new Reader(value);
  const [afiNumber, safiNumber] = [reader.u16(), reader.u8()];
  const family = familyOfAfi(afiNumber, safiNumber);
  if (family === undefined || !session.families.includes(family)) {
    ignoreFamily(familyName(afiNumber, safiNumber), false, faults, routes);
    return;
  }
  const bytes = reader.rest();
  const pathIds = session.addPathReceive?.includes(family) ?? false;
  const count = countNlri(family, bytes, pathIds);
  if (count === 'cutOff') {
    const data = encodeAttribute(attributeFlags.optionalNonTransitive, attributeType.mpUnreach, value);
    faults.add('reset', updateError.optionalAttribute, () => 'MP_UNREACH_NLRI is cut off', data);
  } else if (count === 'tooLong') {
    addNetworkFault(count, faults);
  } else if (count > 0) {
    routes.withdrawn.push({ family, bytes, count, multiprotocol: true, pathIds });
  }
}

function ignoreFamily(name: string, reachable: boolean, faults: UpdateFaults, routes: Routes): void {
  routes.ignored ||= reachable;
  faults.add('discard', updateError.optionalAttribute, () => `routes of ${name}, which was not negotiated`);
}

function addNetworkFault(what: 'tooLong' | 'cutOff', faults: UpdateFaults): void {
  const problem = what === 'tooLong' ? 'has more bits than an address of its family' : 'is cut off';
  faults.add('reset', updateError.network, () => `malformed UPDATE: a prefix ${problem}`);
}

/** Reports missing well-known attributes (RFC 7606 3 d). The data is the type of the attribute (RFC 4271 6.3). */
function addMissing(has: (type: number) => boolean, plainNlri: boolean, faults: UpdateFaults): void {
  const { origin, asPath, nextHop } = attributeType;
  for (const type of plainNlri ? [origin, asPath, nextHop] : [origin, asPath]) {
    if (!has(type)) faults.add('withdraw', updateError.missingWellKnown, () => `${attributeName(type)} is missing`, octets(type));
  }
}

/** Tells whether the address is none of 0/8, 127/8, multicast and reserved. */
function isUsableNextHop(value: Uint8Array): boolean {
  const first = value[0] ?? 0;
  return first !== 0 && first !== 127 && first < 224;
}

/**
 * Returns the family of an End-of-RIB in a message that has prefixes only in its attributes. `length` is the length of these attributes in
 * octets.
 */
function endOfRib(length: number, mpUnreach: Uint8Array | undefined, session: UpdateSession): Family | undefined {
  const negotiated = (family: Family | undefined): Family | undefined =>
    family !== undefined && session.families.includes(family) ? family : undefined;
  if (length === 0) return negotiated(4);
  // The only attribute must be an MP_UNREACH_NLRI of three octets, after a header of three octets, or four with extended length.
  if (mpUnreach?.length !== 3 || length > 7) return undefined;
  const reader = new Reader(mpUnreach);
  return negotiated(familyOfAfi(reader.u16(), reader.u8()));
}

function malformed(detail: string): Decoded<never> {
  return failed(fault('reset', errorCode.update, updateError.malformedAttributes, `malformed UPDATE: ${detail}`));
}
