import { formatAddress, isLinkLocal, type Address, type Family } from '../net/address.ts';
import { maximumPassword } from './limits.ts';
import type { NextHops } from './outbound.ts';

/** All times in seconds. */
export interface PeerOptions {
  /** Unique in a speaker. */
  readonly name: string;
  readonly address: Address;
  /** Default 179. */
  readonly port?: number;
  readonly localAsn: number;
  /** A number, or whatever the peer says as long as it is ours (internal) or not ours (external). */
  readonly peerAsn: number | 'internal' | 'external';
  /** Default: the kernel chooses. */
  readonly sourceAddress?: Address;
  /** An IPv4 address other than 0.0.0.0, unique in the AS. */
  readonly routerId: Address;
  /** 0 (none) or 3 to 65535. Default 90. */
  readonly holdTime?: number;
  /** Default, and at most, a third of the negotiated hold time. */
  readonly keepaliveTime?: number;
  /** Default 5. */
  readonly connectRetryTime?: number;
  /** Default: the family of `address`. */
  readonly families?: readonly Family[];
  /** Default: the local address of the session, for its own family. */
  readonly nextHop?: NextHops;
  /** TCP MD5 key (RFC 2385), 1 to 80 octets of UTF-8. */
  readonly password?: string;
  /** The external peer is more than one hop away. Internal peers always may be. */
  readonly ebgpMultiHop?: boolean;
  /** Only wait for the peer to connect: refused, this speaker does not listen. */
  readonly passive?: boolean;
  /** Keep the session closed, and tell the peer so. */
  readonly adminDown?: boolean;
  /** RFC 9003: told to the peer when the session is shut down. At most 255 octets of UTF-8 are sent. */
  readonly shutdownMessage?: string;
}

/** Options with all defaults filled in. */
export interface ResolvedOptions extends PeerOptions {
  readonly port: number;
  readonly holdTime: number;
  readonly connectRetryTime: number;
  readonly families: readonly Family[];
  readonly nextHop: NextHops;
  readonly ebgpMultiHop: boolean;
  readonly adminDown: boolean;
}

/** Options that cannot work. `field` is the name of the option at fault; the message says what to write, and never a password. */
export class PeerOptionsError extends Error {
  readonly code: 'ERR_BGP_PEER_OPTIONS' | 'ERR_BGP_PASSIVE_UNSUPPORTED';
  readonly field: keyof PeerOptions;

  constructor(field: keyof PeerOptions, message: string, code: PeerOptionsError['code'] = 'ERR_BGP_PEER_OPTIONS') {
    super(`${field}: ${message}`);
    this.name = 'PeerOptionsError';
    this.field = field;
    this.code = code;
  }
}

/**
 * What a change of each field costs.
 * live: nothing. soft: the routes are sent again. reset: the session closes (Cease 6/6) and comes back. start: closes or opens it.
 */
export const fieldClass: { readonly [F in keyof Required<PeerOptions>]: 'identity' | 'live' | 'soft' | 'reset' | 'start' } = {
  name: 'identity',
  address: 'reset',
  port: 'reset',
  localAsn: 'reset',
  peerAsn: 'reset',
  sourceAddress: 'reset',
  routerId: 'reset',
  holdTime: 'reset',
  keepaliveTime: 'live',
  connectRetryTime: 'live',
  families: 'reset',
  nextHop: 'soft',
  password: 'reset',
  ebgpMultiHop: 'reset',
  passive: 'reset',
  adminDown: 'start',
  shutdownMessage: 'live',
};

/** Fills in defaults. Throws PeerOptionsError. */
export function resolveOptions(options: PeerOptions): ResolvedOptions {
  const resolved: ResolvedOptions = {
    ...options,
    port: options.port ?? 179,
    holdTime: options.holdTime ?? 90,
    connectRetryTime: options.connectRetryTime ?? 5,
    families: [...new Set(options.families ?? [options.address.family])].sort((a, b) => a - b),
    nextHop: options.nextHop ?? {},
    ebgpMultiHop: options.ebgpMultiHop ?? false,
    adminDown: options.adminDown ?? false,
  };
  check(resolved);
  return resolved;
}

/** The fields in which two sets of options differ. */
export function changedFields(before: ResolvedOptions, after: ResolvedOptions): (keyof PeerOptions)[] {
  const fields = Object.keys(fieldClass) as (keyof PeerOptions)[];
  return fields.filter((field) => canonical(before[field]) !== canonical(after[field]));
}

const wholeNumber = (value: number, least: number, most: number): boolean => Number.isInteger(value) && value >= least && value <= most;

function check(options: ResolvedOptions): void {
  const demand = (field: keyof PeerOptions, holds: boolean, message: string): void => {
    if (!holds) throw new PeerOptionsError(field, message);
  };
  const { address, peerAsn, sourceAddress, routerId, holdTime, keepaliveTime, password, nextHop } = options;
  if (options.passive === true) {
    throw new PeerOptionsError('passive', 'this speaker only connects, it does not listen: leave it out', 'ERR_BGP_PASSIVE_UNSUPPORTED');
  }
  demand('name', options.name !== '', 'a peer needs a name');
  demand('address', !isLinkLocal(address), 'a link-local address needs an interface, which is not supported: use a global address');
  demand('port', wholeNumber(options.port, 1, 65535), 'a port is a number from 1 to 65535');
  demand('localAsn', isAsn(options.localAsn), 'an AS number is from 1 to 4294967295, but not 23456 (AS_TRANS)');
  demand('peerAsn', typeof peerAsn === 'string' || isAsn(peerAsn), 'an AS number is from 1 to 4294967295, but not 23456 (AS_TRANS)');
  demand('sourceAddress', sourceAddress === undefined || sourceAddress.family === address.family, 'is not of the family of address');
  demand('routerId', routerId.family === 4 && routerId.value !== 0n, 'a router ID is an IPv4 address other than 0.0.0.0');
  demand('holdTime', holdTime === 0 || wholeNumber(holdTime, 3, 65535), 'a hold time is 0 or from 3 to 65535 seconds');
  demand('keepaliveTime', keepaliveTime === undefined || keepaliveTime > 0, 'a keepalive time is above 0 seconds: for none use holdTime 0');
  demand('connectRetryTime', options.connectRetryTime >= 0.1 && options.connectRetryTime <= 65535, 'is from 0.1 to 65535 seconds');
  demand('families', options.families.length > 0, 'a session carries at least one address family');
  demand('nextHop', nextHop.ipv6 === undefined || nextHop.ipv6.family === 6, 'the next hop of IPv6 routes is an IPv6 address');
  const octets = password === undefined ? 1 : new TextEncoder().encode(password).length;
  demand('password', octets >= 1 && octets <= maximumPassword, `a password has 1 to ${maximumPassword} octets`);
}

const isAsn = (asn: number): boolean => wholeNumber(asn, 1, 0xffff_ffff) && asn !== 23456;

/** Text that is equal for equal values of a field. */
function canonical(value: PeerOptions[keyof PeerOptions]): string {
  return JSON.stringify(value, (_, part: unknown) => (isAddress(part) ? formatAddress(part) : part)) ?? '';
}

const isAddress = (value: unknown): value is Address =>
  typeof value === 'object' && value !== null && 'family' in value && 'value' in value;
