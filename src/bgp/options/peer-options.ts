import { defined } from '../../lang/defined.ts';
import { formatAddress, isLinkLocal, parseAddress, type Address, type Family } from '../../net/address.ts';
import { roles, type AsnRange, type Role } from '../negotiation/local-open.ts';
import { refuseUnknownOptions } from './known-options.ts';
import { maximumAsnRanges, maximumPassword, maximumRestartTime, maximumStaleTime, openHoldTime } from '../limits.ts';
import type { NextHops } from '../rib/update-format.ts';
import type { MaximumPrefixes } from '../rib/received/prefix-counts.ts';
import type { TcpAo } from '../transport/transport.ts';
import { refuseUnknownImport, resolveImport, type ImportOptions, type ResolvedImport } from './import-options.ts';

/** An address, or its text as `parseAddress` reads it. */
export type AddressInput = Address | string;

/** The options of a peer. All times are in seconds. */
export interface PeerOptions {
  /** Unique in a speaker. Default: the address, or the interface if there is no address. */
  readonly name?: string;
  /** When absent, the peer is the router on `interface` that advertises itself (unnumbered peering). */
  readonly address?: AddressInput;
  /** The session uses this network interface only. A link-local address needs it. */
  readonly interface?: string;
  /**
   * The session uses the routes and addresses of this VRF, by the name of its device. Not together with `interface`: the VRF of an interface
   * applies by itself.
   */
  readonly vrf?: string;
  /** Default 179. */
  readonly port?: number;
  /** Default: `asn` of the speaker. */
  readonly localAsn?: number;
  /** A number, `internal` (the local AS), `external` (any other AS) or `auto` (either). */
  readonly peerAsn: number | 'internal' | 'external' | 'auto';
  /** The AS numbers that the peer may have, besides what `peerAsn` demands. Default: any. */
  readonly peerAsns?: readonly (number | AsnRange)[];
  /** Default: the kernel's choice. */
  readonly sourceAddress?: AddressInput;
  /** An IPv4 address other than 0.0.0.0, unique in the AS. Default: that of the speaker. */
  readonly routerId?: AddressInput;
  /** 0 (none) or 3 to 65535. Default 90. */
  readonly holdTime?: number;
  /** A peer with a smaller hold time is refused. Default 0: only the limits of RFC 4271 apply. */
  readonly minimumHoldTime?: number;
  /** Default and maximum: a third of the negotiated hold time. */
  readonly keepaliveTime?: number;
  /** Default 5. */
  readonly connectRetryTime?: number;
  /** How long a connected peer may take to send its OPEN. Default 240 (suggested by RFC 4271 8.2.2). */
  readonly openHoldTime?: number;
  /** Pause after the peer reported that it was shut down or got too many prefixes. The peer may connect earlier. Default 10. */
  readonly shutdownRetryTime?: number;
  /** Default: the family of `address`; both families without an address. */
  readonly families?: readonly Family[];
  /** Default: the local address of the session, for its own family. */
  readonly nextHop?: { readonly [Family in keyof NextHops]: AddressInput };
  /** TCP MD5 key (RFC 2385), 1 to 80 octets of UTF-8. */
  readonly password?: string;
  /**
   * The keys of TCP-AO (RFC 5925), from `tcpAo()` of herald/bgp/tcp-ao; the session begins with the first. Not together with `password`. Needs
   * Linux 6.7 with CONFIG_TCP_AO.
   */
  readonly tcpAo?: TcpAo;
  /** The external peer is more than one hop away. Internal peers always may be. */
  readonly ebgpMultiHop?: boolean;
  /**
   * TTL security (RFC 5082): the peer is at most this many hops away, 1 to 254; 1 for a neighbour. Both sides send with TTL 255, and the
   * kernel drops segments that have come further. The peer must do the same.
   */
  readonly ttlSecurityHops?: number;
  /** Only wait for the peer to connect. The speaker must listen. */
  readonly passive?: boolean;
  /**
   * The peer keeps the routes while this process restarts (RFC 4724), and after a NOTIFICATION (RFC 8538). If the node dies, the peer keeps
   * its routes for that time too, unless BFD or link-down tells it. Absent: off.
   */
  readonly gracefulRestart?: { readonly restartTime?: number };
  /** Seconds that the peer may keep the routes after the restart time (RFC 9494). Offered only with graceful restart. */
  readonly longLivedStaleTime?: number;
  /** The local role towards the peer (RFC 9234). A peer whose role does not match is refused. */
  readonly role?: Role;
  /** Also refuse a peer that sends no role. */
  readonly strictRole?: boolean;
  /** Families in which the peer may send several paths for a prefix (RFC 7911). Default: none. */
  readonly addPathReceive?: readonly Family[];
  /**
   * Families whose routes are sent with a path identifier, to a peer that takes them so (RFC 7911). There is one path for each prefix, and its
   * identifier is 1. Default: none.
   */
  readonly addPathSend?: readonly Family[];
  /** More announcements than these end the session (Cease 6/1). Applies from the next session on. Default: no maximum. */
  readonly maximumPrefixes?: MaximumPrefixes;
  /** Keep the routes of the peer that these rules accept. Default: none are kept. */
  readonly import?: ImportOptions;
  /** Retry once without capabilities if the peer refuses them (RFC 5492 3). Only for IPv4. Default true. */
  readonly capabilityFallback?: boolean;
  /** Hold a flapping session in Idle for a growing time, up to five minutes (RFC 4271 8.1.1). Default true. */
  readonly flapDamping?: boolean;
  /** Keep the session closed and tell the peer so. */
  readonly adminDown?: boolean;
  /** Text sent to the peer when the session is shut down (RFC 9003). At most 255 octets of UTF-8 are sent. */
  readonly shutdownMessage?: string;
}

/** Values of a speaker for peers that do not set their own. */
export type PeerDefaults = Partial<Pick<ResolvedOptions, 'localAsn' | 'routerId'>>;

/** The options with parsed values and all defaults filled in. */
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
  readonly addPathSend: readonly Family[];
  readonly import?: ResolvedImport;
  readonly capabilityFallback: boolean;
  readonly flapDamping: boolean;
  readonly adminDown: boolean;
}

/** An option that cannot work. `field` names the option. The message says what to write and never contains a password. */
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
 * The cost of a change of each field:
 * - live: none.
 * - soft: the routes are sent again.
 * - reset: the session closes (Cease 6/6) and opens again.
 * - start: the session is closed or opened.
 */
export const fieldClass: { readonly [F in keyof Required<PeerOptions>]: 'identity' | 'live' | 'soft' | 'reset' | 'start' } = {
  name: 'identity',
  address: 'reset',
  interface: 'reset',
  vrf: 'reset',
  port: 'reset',
  localAsn: 'reset',
  peerAsn: 'reset',
  peerAsns: 'reset',
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
  tcpAo: 'reset',
  ebgpMultiHop: 'reset',
  ttlSecurityHops: 'reset',
  passive: 'reset',
  gracefulRestart: 'reset',
  longLivedStaleTime: 'reset',
  role: 'reset',
  strictRole: 'live',
  addPathReceive: 'reset',
  addPathSend: 'reset',
  maximumPrefixes: 'live',
  import: 'live',
  capabilityFallback: 'live',
  flapDamping: 'live',
  adminDown: 'start',
  shutdownMessage: 'live',
};

/**
 * Fields that identify the connection to the peer. After such a change the old peer would not see this speaker again, so it is told to drop
 * the routes.
 */
export const endpointFields: ReadonlySet<keyof PeerOptions> = new Set(['address', 'interface', 'vrf', 'port', 'sourceAddress']);

/** Parses text and fills in defaults. Throws PeerOptionsError, and UnknownOptionError for a key that is no option. */
export function resolveOptions(options: PeerOptions, defaults: PeerDefaults = {}): ResolvedOptions {
  refuseUnknown(options);
  const { gracefulRestart, address: _, sourceAddress: __, import: imported, ...rest } = options;
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
    addPathSend: sorted(options.addPathSend ?? []),
    ...(imported === undefined ? {} : { import: readImport(imported) }),
    capabilityFallback: options.capabilityFallback ?? true,
    flapDamping: options.flapDamping ?? true,
    adminDown: options.adminDown ?? false,
  };
  check(resolved);
  return resolved;
}

function refuseUnknown(options: PeerOptions): void {
  const { nextHop = {}, gracefulRestart = {}, maximumPrefixes = {}, import: imported = {} } = options;
  refuseUnknownOptions('peer', options, fieldClass);
  refuseUnknownOptions('peer', nextHop, { ipv4: 0, ipv6: 0, ipv6LinkLocal: 0 }, 'nextHop.');
  refuseUnknownOptions('peer', gracefulRestart, { restartTime: 0 }, 'gracefulRestart.');
  refuseUnknownOptions('peer', maximumPrefixes, { ipv4: 0, ipv6: 0 }, 'maximumPrefixes.');
  refuseUnknownImport(imported);
}

function read(field: keyof PeerOptions, address: AddressInput | undefined): Address | undefined {
  if (typeof address !== 'string') return address;
  const result = parseAddress(address);
  if (!result.ok) throw new PeerOptionsError(field, `${JSON.stringify(address)}: ${result.problem}`);
  return result.value;
}

function readImport(imported: ImportOptions): ResolvedImport {
  const resolved = resolveImport(imported);
  if (typeof resolved === 'string') throw new PeerOptionsError('import', resolved);
  return resolved;
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

/** Returns the fields in which two sets of options differ. */
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
  demand('interface', networkInterface === undefined || isInterfaceName(networkInterface), 'is not the name of a network interface');
  demand(
    'vrf',
    options.vrf === undefined || isInterfaceName(options.vrf),
    'is not the name of a VRF: up to 15 octets without space and slash',
  );
  demand(
    'vrf',
    options.vrf === undefined || networkInterface === undefined,
    'cannot be combined with interface: a session on an interface is in the VRF of that interface',
  );
  demand('port', wholeNumber(options.port, 1, 65535), 'a port is a number from 1 to 65535');
  demand('localAsn', isAsn(options.localAsn), asnRule);
  demand('peerAsn', typeof peerAsn === 'string' || isAsn(peerAsn), asnRule);
  demand(
    'sourceAddress',
    sourceAddress === undefined || sourceAddress.family === (address?.family ?? 6),
    'must be of the same family as address',
  );
  demand('routerId', routerId.family === 4 && routerId.value !== 0n, 'a router ID is an IPv4 address other than 0.0.0.0');
  checkTimes(options, demand);
  demand('families', options.families.length > 0, 'a session carries at least one address family');
  demand('nextHop', nextHop.ipv6 === undefined || nextHop.ipv6.family === 6, 'the next hop of IPv6 routes is an IPv6 address');
  demand('nextHop', nextHop.ipv6LinkLocal === undefined || isLinkLocal(nextHop.ipv6LinkLocal), 'ipv6LinkLocal is an address of fe80::/10');
  const octets = options.password === undefined ? 1 : new TextEncoder().encode(options.password).length;
  demand('password', octets >= 1 && octets <= maximumPassword, `a password has 1 to ${maximumPassword} octets`);
  demand('tcpAo', options.tcpAo === undefined || 'sockets' in options.tcpAo, 'is what tcpAo() of herald/bgp/tcp-ao returns');
  demand(
    'tcpAo',
    options.tcpAo === undefined || options.password === undefined,
    'cannot be combined with password: a session has one of them',
  );
  demand('peerAsns', areAsnRanges(options.peerAsns), `is a list of at most ${maximumAsnRanges} AS numbers and ranges with from and to`);
  demand('ttlSecurityHops', ttlSecurityHops === undefined || wholeNumber(ttlSecurityHops, 1, 254), 'is from 1 to 254 hops');
  demand(
    'ttlSecurityHops',
    ttlSecurityHops === undefined || !options.ebgpMultiHop,
    'cannot be combined with ebgpMultiHop: for a peer that is further away set more ttlSecurityHops',
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

/** The rule of Linux for interface names (dev_valid_name): up to 15 octets without space, colon and slash. */
export const isInterfaceName = (name: string): boolean => /^[^\s:/]{1,15}$/.test(name) && name !== '.' && name !== '..';

function areAsnRanges(ranges: PeerOptions['peerAsns'] = []): boolean {
  const isRange = ({ from, to }: AsnRange): boolean => wholeNumber(from, 1, 0xffff_ffff) && wholeNumber(to, from, 0xffff_ffff);
  return ranges.length <= maximumAsnRanges && ranges.every((each) => (typeof each === 'number' ? isAsn(each) : isRange(each)));
}

export const isAsn = (asn: number): boolean => wholeNumber(asn, 1, 0xffff_ffff) && asn !== 23456;

/** Returns a text that is equal for equal values of a field. */
function canonical(value: PeerOptions[keyof PeerOptions]): string {
  return JSON.stringify(value, (_, part: unknown) => (isAddress(part) ? formatAddress(part) : part)) ?? '';
}

const isAddress = (value: unknown): value is Address =>
  typeof value === 'object' && value !== null && 'family' in value && 'value' in value;
