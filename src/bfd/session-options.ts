import { firstUnknownName } from '../lang/closest-name.ts';
import { defined } from '../lang/defined.ts';
import { formatAddress, isLinkLocal, parseAddress, type Address } from '../net/address.ts';
import type { Endpoint } from './transport/transport.ts';
import { maximumDetectMultiplier, maximumInterval, realTimeInterval } from './limits.ts';

/** An address, or its text as `parseAddress` reads it. */
export type AddressInput = Address | string;

/** How fast a session detects a lost path. All fields can change while the session is up, without a flap. */
export interface ProfileOptions {
  /** Shortest interval in milliseconds at which packets are accepted. Default 300. */
  readonly receiveInterval?: number;
  /** Milliseconds between sent packets, unless the peer asks for longer intervals. Default 300. */
  readonly transmitInterval?: number;
  /** Number of silent intervals after which the peer declares the session Down; 1 to 255. Default 3. */
  readonly detectMultiplier?: number;
  /** Send nothing before the peer does (RFC 5880 6.1). Default: no. */
  readonly passive?: boolean;
}

/** The options of a session. */
export interface SessionOptions extends ProfileOptions {
  /** Unique among the sessions. */
  readonly name: string;
  readonly peer: AddressInput;
  /** Default: the kernel's choice. */
  readonly localAddress?: AddressInput;
  /** The session uses this network interface only. A link-local peer needs it. */
  readonly interface?: string;
  /**
   * The peer is more than one hop away (RFC 5883). `minimumTtl` (1 to 254) is the smallest TTL of an accepted packet; the peer sends 255.
   */
  readonly multihop?: { readonly minimumTtl: number };
  /** Hold the session down and tell the peer that this is intended. */
  readonly adminDown?: boolean;
}

export type Profile = Required<ProfileOptions>;

/** The options with parsed values and all defaults filled in. */
export interface ResolvedSession {
  readonly name: string;
  readonly endpoint: Endpoint;
  /** The address of the peer as text. */
  readonly peer: string;
  readonly profile: Profile;
  readonly adminDown: boolean;
  /** Deviations from the given options, in words. */
  readonly warnings: readonly string[];
}

/** An option that cannot work. `field` names the option, which may be one that does not exist; the message says what to write. */
export class SessionOptionsError extends Error {
  readonly code = 'ERR_BFD_SESSION_OPTIONS';
  readonly field: string;

  constructor(field: string, message: string) {
    super(`${field}: ${message}`);
    this.name = 'SessionOptionsError';
    this.field = field;
  }
}

/** All options, so that the compiler finds a missing one. */
const optionNames: { readonly [Option in keyof Required<SessionOptions>]: unknown } = {
  name: 0,
  peer: 0,
  localAddress: 0,
  interface: 0,
  multihop: 0,
  receiveInterval: 0,
  transmitInterval: 0,
  detectMultiplier: 0,
  passive: 0,
  adminDown: 0,
};

/** The rules of this host for short intervals. */
export interface IntervalRules {
  /** Shortest interval in milliseconds. Shorter ones are raised to it, and the peer is told so. */
  readonly floor: number;
  readonly hasRealTime: boolean;
}

/** Throws SessionOptionsError. */
export function resolveSession(options: SessionOptions, { floor, hasRealTime }: IntervalRules): ResolvedSession {
  refuseUnknown(options);
  const { name, passive = false, adminDown = false, detectMultiplier = 3 } = options;
  if (!Number.isInteger(detectMultiplier) || detectMultiplier < 1 || detectMultiplier > maximumDetectMultiplier) {
    throw new SessionOptionsError('detectMultiplier', `write a number from 1 to ${maximumDetectMultiplier}`);
  }
  const warnings: string[] = [];
  const interval = (field: 'receiveInterval' | 'transmitInterval'): number => {
    const value = options[field] ?? 300;
    if (!Number.isInteger(value) || value < 1 || value > maximumInterval) {
      throw new SessionOptionsError(field, `write milliseconds from 1 to ${maximumInterval}`);
    }
    if (value < floor) warnings.push(`${field} ${value} ms is below the ${floor} ms that this node allows: ${floor} ms is used`);
    if (value < realTimeInterval && !hasRealTime) {
      warnings.push(`${field} ${value} ms without real-time priority: a busy machine may make the session flap`);
    }
    return Math.max(value, floor);
  };
  const profile = {
    receiveInterval: interval('receiveInterval'),
    transmitInterval: interval('transmitInterval'),
    detectMultiplier,
    passive,
  };
  const endpoint = endpointOf(options);
  return { name, endpoint, peer: formatAddress(endpoint.peer), profile, adminDown, warnings };
}

function refuseUnknown(options: SessionOptions): void {
  const unknown = firstUnknownName(Object.keys(options), Object.keys(optionNames));
  if (unknown === undefined) return;
  const { name, nearest } = unknown;
  throw new SessionOptionsError(name, `a session has no such option${nearest === undefined ? '' : `, did you mean ${nearest}?`}`);
}

/**
 * Returns the key by which packets are assigned to a session. Two sessions with one key would get each other's packets. The local address
 * is not part of it, because the packets of the peer do not show which session is meant.
 */
export function endpointKey({ peer, interface: networkInterface, multihop }: Endpoint): string {
  return demultiplexKey(formatAddress(peer), networkInterface, multihop !== undefined);
}

/** Returns the key of a packet that does not have our discriminator yet (RFC 5880 6.3, RFC 5881 3, RFC 5883 4). */
export function demultiplexKey(peer: string, networkInterface: string | undefined, multihop: boolean): string {
  return `${multihop ? 'multihop' : 'hop'} ${peer} ${networkInterface ?? ''}`;
}

/** Tells whether two endpoints have the same path, so that the session can stay. The minimum TTL may differ. */
export function sameEndpoint(a: Endpoint, b: Endpoint): boolean {
  const local = ({ localAddress }: Endpoint): string => (localAddress === undefined ? '' : formatAddress(localAddress));
  return endpointKey(a) === endpointKey(b) && local(a) === local(b);
}

function endpointOf({ peer: peerInput, localAddress: localInput, interface: networkInterface, multihop }: SessionOptions): Endpoint {
  const peer = toAddress('peer', peerInput);
  const localAddress = localInput === undefined ? undefined : toAddress('localAddress', localInput);
  if (localAddress !== undefined && localAddress.family !== peer.family) {
    throw new SessionOptionsError('localAddress', 'must be of the same IP version as the peer');
  }
  if (isLinkLocal(peer) && networkInterface === undefined) {
    throw new SessionOptionsError('interface', 'a link-local address needs the network interface it is on');
  }
  if (isLinkLocal(peer) && multihop !== undefined) {
    throw new SessionOptionsError('multihop', 'a link-local address is never more than one hop away');
  }
  if (multihop !== undefined && !(Number.isInteger(multihop.minimumTtl) && multihop.minimumTtl >= 1 && multihop.minimumTtl <= 254)) {
    throw new SessionOptionsError('multihop', 'write a minimum TTL from 1 to 254');
  }
  return {
    peer,
    ...defined({ localAddress, interface: networkInterface, multihop }),
  };
}

function toAddress(field: 'peer' | 'localAddress', input: AddressInput): Address {
  if (typeof input !== 'string') return input;
  const result = parseAddress(input);
  if (!result.ok) throw new SessionOptionsError(field, `${input}: ${result.problem}`);
  return result.value;
}
