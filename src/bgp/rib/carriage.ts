import { formatAddress, sameAddress, type Address, type Family } from '../../net/address.ts';
import { tooLong, type AttributeSet } from './interned/attribute-set.ts';
import { maximumAttributeLength, maximumExtendedAttributeLength, maximumMessageLength } from '../limits.ts';
import { noIpv6NextHop, notNegotiated, type UpdateFormat } from './update-format.ts';

/** Why a session carries no route with such a next hop. Undefined: it can. */
type Obstacle = string | undefined;

/** The routes of one family that a session can carry. Sessions with the same key share a feed. */
export interface Carriage {
  readonly key: string;
  /** The peer takes one path of each prefix: there is no path identifier. */
  readonly onePath: boolean;
  /** Largest length of the path attributes, in octets. */
  readonly limit: number;
  /** For routes with the next hop of the session. */
  readonly sessionNextHop: Obstacle;
  /** For routes with a next hop of their own, by its family. */
  readonly ownNextHop: Readonly<Record<Family, Obstacle>>;
  /** The address of the peer, if it is the next hop of some route. Such routes are not sent to it (RFC 4271 5.1.3). */
  readonly peerAddress: Address | undefined;
}

/** Derives what a session can carry. `isNextHop` tells whether an address is the next hop of some route. */
export function carriageOf(format: UpdateFormat, family: Family, isNextHop: (address: Address) => boolean): Carriage {
  const { nextHops, maximumLength, pathIds, families, extendedNextHop } = format;
  const encoding = nextHops[family];
  const onePath = !pathIds.includes(family);
  const limit = maximumLength > maximumMessageLength ? maximumExtendedAttributeLength : maximumAttributeLength;
  const sessionNextHop = encoding.kind === 'impossible' ? encoding.why : undefined;
  const always = families.includes(family) ? undefined : notNegotiated(family);
  const ownNextHop =
    family === 4
      ? { 4: always, 6: always ?? (extendedNextHop ? undefined : noIpv6NextHop) }
      : { 4: always ?? 'an IPv6 route needs an IPv6 next hop', 6: always };
  const peerAddress = format.peerAddress !== undefined && isNextHop(format.peerAddress) ? format.peerAddress : undefined;
  const obstacles = [sessionNextHop, ownNextHop[4], ownNextHop[6]].map((why) => why === undefined);
  const key = [onePath, limit, ...obstacles, peerAddress === undefined ? '' : formatAddress(peerAddress)].join(' ');
  return { key, onePath, limit, sessionNextHop, ownNextHop, peerAddress };
}

export const carriesNothing = ({ sessionNextHop, ownNextHop }: Carriage): boolean =>
  sessionNextHop !== undefined && ownNextHop[4] !== undefined && ownNextHop[6] !== undefined;

export const canCarry = (carriage: Carriage, set: AttributeSet): boolean =>
  set.length <= carriage.limit && obstacleOfNextHop(carriage, set) === undefined;

/** Returns why the session cannot carry a route with these attributes, if it cannot. */
export const obstacleOf = (carriage: Carriage, set: AttributeSet): Obstacle =>
  obstacleOfNextHop(carriage, set) ?? (set.length > carriage.limit ? tooLong(set.length, carriage.limit) : undefined);

function obstacleOfNextHop({ sessionNextHop, ownNextHop, peerAddress }: Carriage, { nextHop }: AttributeSet): Obstacle {
  if (nextHop === undefined) return sessionNextHop;
  const isPeer = peerAddress !== undefined && sameAddress(nextHop, peerAddress);
  return ownNextHop[nextHop.family] ?? (isPeer ? 'its next hop is the address of this peer (RFC 4271 5.1.3)' : undefined);
}
