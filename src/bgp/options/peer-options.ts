import { defined } from '../../lang/defined.ts';
import { formatAddress, isLinkLocal, parseAddress, type Address, type Family } from '../../net/address.ts';
import { roles, type Role } from '../negotiation/local-open.ts';
import { maximumPassword, maximumRestartTime, maximumStaleTime, openHoldTime } from '../limits.ts';
import type { NextHops } from '../rib/update-format.ts';
import type { MaximumPrefixes } from '../rib/adj-rib-in.ts';

/** An address, or its text as `parseAddress` takes it. */
export type AddressInput = Address | string;

/** All times in seconds. */
export interface PeerOptions {
  /** Unique in a speaker. Default: the address, or the interface where there is none. */
  readonly name?: string;
  /** Absent: the one router on `interface` that advertises itself (unnumbered peering). */
  readonly address?: AddressInput;
  /** The session uses this network interface only. A link-local address needs it. */
  readonly interface?: string;
  /** Default 179. */
  readonly port?: number;
  /** Default: `asn` of the speaker. */
  readonly localAsn?: number;
  /** A number, or whatever the peer says as long as it is ours (internal) or not ours (external), or either (auto). */
  readonly peerAsn: number | 'internal' | 'external' | 'auto';
  /** Default: the kernel chooses. */
  readonly sourceAddress?: AddressInput;
  /** An IPv4 address other than 0.0.0.0, unique in the AS. Default: that of the speaker. */
  readonly routerId?: AddressInput;
  /** 0 (none) or 3 to 65535. Default 90. */
  readonly holdTime?: number;
  /** A peer that insists on less is refused. Default 0: whatever RFC 4271 allows. */
  readonly minimumHoldTime?: number;
  /** Default, and at most, a third of the negotiated hold time. */
  readonly keepaliveTime?: number;
  /** Default 5. */
  readonly connectRetryTime?: number;
  /** How long a peer that has taken the connection may take for its OPEN (RFC 4271 8.2.2 suggests the default). Default 240. */
  readonly openHoldTime?: number;
  /** The pause after the peer said that it was shut down or that there were too many prefixes. It may connect before. Default 10. */
  readonly shutdownRetryTime?: number;
  /** Default: the family of `address`; both without an address. */
  readonly families?: readonly Family[];
  /** Default: the local address of the session, for its own family. */
  readonly nextHop?: { readonly [Family in keyof NextHops]: AddressInput };
  /** TCP MD5 key (RFC 2385), 1 to 80 octets of UTF-8. */
  readonly password?: string;
  /** The external peer is more than one hop away. Internal peers always may be. */
  readonly ebgpMultiHop?: boolean;
  /**
   * RFC 5082: the peer is this many hops away at most, 1 for a neighbour, and both send with TTL 255: segments that have come
   * further are dropped by the kernel. The peer must do the same. 1 to 254.
   */
  readonly ttlSecurityHops?: number;
  /** Only wait for the peer to connect. The speaker must listen. */
  readonly passive?: boolean;
  /**
   * RFC 4724: the peer keeps our routes while this process restarts, and after a NOTIFICATION too (RFC 8538). A node that dies
   * keeps its routes as long, unless BFD or the link going down tells the peer. Absent: off.
   */
  readonly gracefulRestart?: { readonly restartTime?: number };
  /** RFC 9494, offered with graceful restart only: seconds that the peer may keep our routes after the restart time. */
  readonly longLivedStaleTime?: number;
  /** RFC 9234: our role towards the peer. One that says a role that does not match is refused. */
  readonly role?: Role;
  /** A peer that says no role is refused, too. */
  readonly strictRole?: boolean;
  /** RFC 7911: families of which the peer may send several paths for a prefix. Default: none. */
  readonly addPathReceive?: readonly Family[];
  /** More announcements than these end the session (Cease 6/1). Applies from the next session on. Default: no maximum. */
  readonly maximumPrefixes?: MaximumPrefixes;
  /** Try once more without capabilities when the peer refuses them (RFC 5492 3), for IPv4. Default true. */
  readonly capabilityFallback?: boolean;
  /** A session that flaps is held back for a growing time, up to five minutes (RFC 4271 8.1.1). Default true. */
  readonly flapDamping?: boolean;
  /** Keep the session closed, and tell the peer so. */
  readonly adminDown?: boolean;
  /** RFC 9003: told to the peer when the session is shut down. At most 255 octets of UTF-8 are sent. */
  readonly shutdownMessage?: string;
}

/** What a speaker says for peers that do not say it themselves. */
export type PeerDefaults = Partial<Pick<ResolvedOptions, 'localAsn' | 'routerId'>>;

/** Options with values for text, and all defaults filled in. */
export interface ResolvedOptions extends PeerOptions {
  readonly name: string;
  readonly address?: Address;
  readonly localAsn: number;
  readonly sourceAddress?: Address;
  readonly routerId: Address;
  readonly port: number;
  readonly holdTime: number;
  readonly minimumHoldTime: number;
  readonly connectRetryTime: number;
  readonly openHoldTime: number;
  readonly shutdownRetryTime: number;
  readonly families: readonly Family[];
  readonly nextHop: NextHops;
  readonly ebgpMultiHop: boolean;
  readonly passive: boolean;
  readonly gracefulRestart?: { readonly restartTime: number };
  readonly strictRole: boolean;
  readonly addPathReceive: readonly Family[];
  readonly capabilityFallback: boolean;
  readonly flapDamping: boolean;
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
  interface: 'reset',
  port: 'reset',
  localAsn: 'reset',
  peerAsn: 'reset',
  sourceAddress: 'reset',
  routerId: 'reset',
  holdTime: 'reset',
  minimumHoldTime: 'live',
  keepaliveTime: 'live',
  connectRetryTime: 'live',
  openHoldTime: 'live',
  shutdownRetryTime: 'live',
  families: 'reset',
  nextHop: 'soft',
  password: 'reset',
  ebgpMultiHop: 'reset',
  ttlSecurityHops: 'reset',
  passive: 'reset',
  gracefulRestart: 'reset',
  longLivedStaleTime: 'reset',
  role: 'reset',
  strictRole: 'live',
  addPathReceive: 'reset',
  maximumPrefixes: 'live',
  capabilityFallback: 'live',
  flapDamping: 'live',
  adminDown: 'start',
  shutdownMessage: 'live',
};

/** Of those that reset: after such a change we do not come back to the speaker that was the peer, or it would not know us. */
export const fieldsOfPeerIdentity: ReadonlySet<keyof PeerOptions> = new Set(['address', 'interface', 'port', 'sourceAddress']);

/** Reads text and fills in defaults. Throws PeerOptionsError. */
export function resolveOptions(options: PeerOptions, defaults: PeerDefaults = {}): ResolvedOptions {
  const { gracefulRestart, address: _, sourceAddress: __, ...rest } = options;
  const address = read('address', options.address);
  const sourceAddress = read('sourceAddress', options.sourceAddress);
  const resolved: ResolvedOptions = {
    ...rest,
    name: options.name ?? (address === undefined ? (options.interface ?? '') : formatAddress(address)),
    ...defined({ address, sourceAddress }),
    localAsn: needed('localAsn', options.localAsn ?? defaults.localAsn, 'asn'),
    routerId: needed('routerId', read('routerId', options.routerId) ?? defaults.routerId, 'routerId'),
    port: options.port ?? 179,
    holdTime: options.holdTime ?? 90,
    minimumHoldTime: options.minimumHoldTime ?? 0,
    connectRetryTime: options.connectRetryTime ?? 5,
    openHoldTime: options.openHoldTime ?? openHoldTime,
    shutdownRetryTime: options.shutdownRetryTime ?? 10,
    families: sorted(options.families ?? (address === undefined ? [4, 6] : [address.family])),
    nextHop: readNextHops(options.nextHop ?? {}),
    ebgpMultiHop: options.ebgpMultiHop ?? false,
    passive: options.passive ?? false,
    ...(gracefulRestart === undefined ? {} : { gracefulRestart: { restartTime: gracefulRestart.restartTime ?? 120 } }),
    strictRole: options.strictRole ?? false,
    addPathReceive: sorted(options.addPathReceive ?? []),
    capabilityFallback: options.capabilityFallback ?? true,
    flapDamping: options.flapDamping ?? true,
    adminDown: options.adminDown ?? false,
  };
  check(resolved);
  return resolved;
}

function read(field: keyof PeerOptions, address: AddressInput | undefined): Address | undefined {
  if (typeof address !== 'string') return address;
  const result = parseAddress(address);
  if (!result.ok) throw new PeerOptionsError(field, `${JSON.stringify(address)}: ${result.problem}`);
  return result.value;
}

function readNextHops(nextHops: NonNullable<PeerOptions['nextHop']>): NextHops {
  const given = Object.entries(nextHops).map(([family, address]) => [family, read('nextHop', address)] as const);
  return Object.fromEntries(given.filter(([, address]) => address !== undefined));
}

function needed<T>(field: keyof PeerOptions, value: T | undefined, ofSpeaker: string): T {
  if (value === undefined) throw new PeerOptionsError(field, `is missing: give it to the peer, or ${ofSpeaker} to the speaker`);
  return value;
}

const sorted = (families: readonly Family[]): Family[] => [...new Set(families)].sort((a, b) => a - b);

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
  const { address, peerAsn, sourceAddress, routerId, nextHop, ttlSecurityHops, gracefulRestart, role } = options;
  const { interface: networkInterface, longLivedStaleTime, maximumPrefixes } = options;
  demand('name', options.name !== '', 'a peer needs a name');
  demand('address', address !== undefined || networkInterface !== undefined, 'a peer needs an address, or an interface to be found on');
  demand(
    'interface',
    address === undefined || !isLinkLocal(address) || networkInterface !== undefined,
    'a link-local address needs the interface that it is on',
  );
  demand('interface', networkInterface === undefined || isInterfaceName(networkInterface), 'is no name of a network interface');
  demand('port', wholeNumber(options.port, 1, 65535), 'a port is a number from 1 to 65535');
  demand('localAsn', isAsn(options.localAsn), asnRule);
  demand('peerAsn', typeof peerAsn === 'string' || isAsn(peerAsn), asnRule);
  demand(
    'sourceAddress',
    sourceAddress === undefined || sourceAddress.family === (address?.family ?? 6),
    'is not of the family of address',
  );
  demand('routerId', routerId.family === 4 && routerId.value !== 0n, 'a router ID is an IPv4 address other than 0.0.0.0');
  checkTimes(options, demand);
  demand('families', options.families.length > 0, 'a session carries at least one address family');
  demand('nextHop', nextHop.ipv6 === undefined || nextHop.ipv6.family === 6, 'the next hop of IPv6 routes is an IPv6 address');
  demand('nextHop', nextHop.ipv6LinkLocal === undefined || isLinkLocal(nextHop.ipv6LinkLocal), 'ipv6LinkLocal is an address of fe80::/10');
  const octets = options.password === undefined ? 1 : new TextEncoder().encode(options.password).length;
  demand('password', octets >= 1 && octets <= maximumPassword, `a password has 1 to ${maximumPassword} octets`);
  demand('ttlSecurityHops', ttlSecurityHops === undefined || wholeNumber(ttlSecurityHops, 1, 254), 'is from 1 to 254 hops');
  demand(
    'ttlSecurityHops',
    ttlSecurityHops === undefined || !options.ebgpMultiHop,
    'excludes ebgpMultiHop: a peer that is further away has more ttlSecurityHops',
  );
  demand('role', role === undefined || role in roles, `is one of ${Object.keys(roles).join(', ')}`);
  demand('strictRole', !options.strictRole || role !== undefined, 'needs a role of our own');
  demand('longLivedStaleTime', longLivedStaleTime === undefined || gracefulRestart !== undefined, 'needs gracefulRestart');
  for (const count of [maximumPrefixes?.ipv4, maximumPrefixes?.ipv6]) {
    demand('maximumPrefixes', count === undefined || wholeNumber(count, 0, 0xffff_ffff), 'is a number of prefixes');
  }
}

type Demand = (field: keyof PeerOptions, holds: boolean, message: string) => void;

function checkTimes(options: ResolvedOptions, demand: Demand): void {
  const { holdTime, minimumHoldTime, keepaliveTime, connectRetryTime, shutdownRetryTime, gracefulRestart, longLivedStaleTime } = options;
  demand('holdTime', holdTime === 0 || wholeNumber(holdTime, 3, 65535), 'a hold time is 0 or from 3 to 65535 seconds');
  demand('minimumHoldTime', minimumHoldTime === 0 || wholeNumber(minimumHoldTime, 3, 65535), 'is 0 or from 3 to 65535 seconds');
  demand('minimumHoldTime', holdTime >= minimumHoldTime, 'is above our own hold time');
  demand('keepaliveTime', keepaliveTime === undefined || keepaliveTime > 0, 'a keepalive time is above 0 seconds: for none use holdTime 0');
  demand('connectRetryTime', connectRetryTime >= 0.1 && connectRetryTime <= 65535, 'is from 0.1 to 65535 seconds');
  demand('openHoldTime', options.openHoldTime >= 1 && options.openHoldTime <= 65535, 'is from 1 to 65535 seconds');
  demand('shutdownRetryTime', shutdownRetryTime >= 0 && shutdownRetryTime <= 65535, 'is from 0 to 65535 seconds');
  demand(
    'gracefulRestart',
    gracefulRestart === undefined || wholeNumber(gracefulRestart.restartTime, 1, maximumRestartTime),
    `a restart time is from 1 to ${maximumRestartTime} seconds`,
  );
  demand(
    'longLivedStaleTime',
    longLivedStaleTime === undefined || wholeNumber(longLivedStaleTime, 1, maximumStaleTime),
    `is from 1 to ${maximumStaleTime} seconds`,
  );
}

const asnRule = 'an AS number is from 1 to 4294967295, but not 23456 (AS_TRANS)';

/** What Linux takes (dev_valid_name): up to 15 octets without space, colon and slash. */
const isInterfaceName = (name: string): boolean => /^[^\s:/]{1,15}$/.test(name) && name !== '.' && name !== '../..';

export const isAsn = (asn: number): boolean => wholeNumber(asn, 1, 0xffff_ffff) && asn !== 23456;

/** Text that is equal for equal values of a field. */
function canonical(value: PeerOptions[keyof PeerOptions]): string {
  return JSON.stringify(value, (_, part: unknown) => (isAddress(part) ? formatAddress(part) : part)) ?? '';
}

const isAddress = (value: unknown): value is Address =>
  typeof value === 'object' && value !== null && 'family' in value && 'value' in value;
