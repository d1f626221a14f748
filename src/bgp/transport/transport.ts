import type { Address } from '../../net/address.ts';
import type { TransportFailure } from '../problem.ts';

/** What one connection to a peer needs. */
export interface DialOptions {
  readonly address: Address;
  readonly port: number;
  readonly sourceAddress?: Address;
  /** TCP MD5 signature key (RFC 2385), at most 80 octets of UTF-8. Never to be logged. */
  readonly password?: string;
  /** TTL, or hop limit, of what we send. */
  readonly ttl: number;
  /** Milliseconds after which the kernel gives up data that the peer does not acknowledge. Absent: the kernel's own time. */
  readonly userTimeout?: number;
}

/** What happens on a connection. Nothing is called before `dial` has returned, and nothing after `closed`. */
export interface ConnectionEvents {
  connected(localAddress: Address | undefined): void;
  /** The receiver may keep the bytes: nobody writes to them again. */
  data(bytes: Uint8Array): void;
  /** What was written has left; only after a `write` that returned false. */
  drain(): void;
  /** Comes exactly once, also when the connection was never made or `destroy` was called. No failure: an orderly end. */
  closed(failure: TransportFailure | undefined): void;
}

export interface Connection {
  /** False: stop until `drain`. What was written is sent in any case. */
  write(bytes: Uint8Array): boolean;
  /** Half close: what was written is sent, then FIN. Data still arrives. */
  end(): void;
  /** Idempotent. */
  destroy(): void;
}

/** Makes connections: the driver's only door to the network. */
export interface Transport {
  /** In words what of these options this transport cannot do, so that no session runs without what it was asked for. */
  cannot(options: DialOptions): string | undefined;
  dial(options: DialOptions, events: ConnectionEvents): Connection;
}
