import { defined } from '../lang/defined.ts';
import { formatAddress, isLinkLocal, parseAddress, type Address } from '../net/address.ts';
import type { Endpoint } from './transport/transport.ts';
import { maximumDetectMultiplier, maximumInterval, realTimeInterval } from './limits.ts';

/** An address, or its text as `parseAddress` takes it. */
type AddressInput = Address | string;

/** How fast a session is to notice that its path is down. Every field may change while the session is up, without a flap. */
export interface ProfileOptions {
  /** Milliseconds, at least, between packets that we are ready to take. Default 300. */
  readonly receiveInterval?: number;
  /** Milliseconds between our packets, unless the peer takes them more slowly. Default 300. */
  readonly transmitInterval?: number;
  /** Intervals of silence after which the peer gives us up; 1 to 255. Default 3. */
  readonly detectMultiplier?: number;
  /** Say nothing before the peer does (RFC 5880 6.1). Default: no. */
  readonly passive?: boolean;
}

/** One session. */
export interface SessionOptions extends ProfileOptions {
  /** Unique. */
  readonly name: string;
  readonly peer: AddressInput;
  /** Default: the kernel chooses. */
  readonly localAddress?: AddressInput;
  /** The session uses this network interface only. A link-local peer needs it. */
  readonly interface?: string;
  /** The peer is more than one hop away (RFC 5883); of its packets at least this must be left of the TTL 255 that it sends: 1 to 254. */
  readonly multihop?: { readonly minimumTtl: number };
  /** Hold the session down and tell the peer that this is on purpose. */
  readonly adminDown?: boolean;
}

export interface Profile {
  readonly receiveInterval: number;
  readonly transmitInterval: number;
  readonly detectMultiplier: number;
  readonly passive: boolean;
}

/** Options with values for text, and all defaults filled in. */
export interface ResolvedSession {
  readonly name: string;
  readonly endpoint: Endpoint;
  /** The peer's address as text. */
  readonly peer: string;
  readonly profile: Profile;
  readonly adminDown: boolean;
  /** In words what is not as it was asked for. */
  readonly warnings: readonly string[];
}

/** Options that cannot work. `field` is the name of the option at fault; the message says what to write. */
export class SessionOptionsError extends Error {
  readonly code = 'ERR_BFD_SESSION_OPTIONS';
  readonly field: keyof SessionOptions;

  constructor(field: keyof SessionOptions, message: string) {
    super(`${field}: ${message}`);
    this.name = 'SessionOptionsError';
    this.field = field;
  }
}

/** What this host makes of short intervals. */
export interface IntervalRules {
  /** Milliseconds: shorter ones are made this, and the peer hears so. */
  readonly floor: number;
  readonly hasRealTime: boolean;
}

/** Throws SessionOptionsError. */
export function resolveSession(options: SessionOptions, { floor, hasRealTime }: IntervalRules): ResolvedSession {
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

/** Two sessions with one key would get each other's packets. The local address is no part of it: a peer does not know which is meant. */
export function endpointKey({ peer, interface: networkInterface, multihop }: Endpoint): string {
  return demultiplexKey(formatAddress(peer), networkInterface, multihop !== undefined);
}

/** By what a packet that does not know our discriminator is told apart (RFC 5880 6.3, RFC 5881 3, RFC 5883 4). */
export function demultiplexKey(peer: string, networkInterface: string | undefined, multihop: boolean): string {
  return `${multihop ? 'multihop' : 'hop'} ${peer} ${networkInterface ?? ''}`;
}

/** Whether packets go the same way. Otherwise it is another session; how far they may have come can change. */
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
