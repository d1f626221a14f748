import type { Link } from './link.ts';

/** How a daemon holds its session with us. */
export interface BfdDaemonOptions {
  /** Its address, and ours. */
  readonly local: string;
  readonly remote: string;
  readonly multihop?: boolean;
  /** Milliseconds; both directions. */
  readonly interval?: number;
  readonly multiplier?: number;
  readonly passive?: boolean;
}

/** What a daemon shows of its session with us; times in milliseconds. */
export interface BfdDaemonSession {
  readonly state: 'AdminDown' | 'Down' | 'Init' | 'Up' | 'none';
  /** How often it has come up: 1 without a flap. Undefined where it does not count. */
  readonly ups: number | undefined;
  /** All that it says. */
  readonly text: string;
}

/** A daemon that runs. */
export interface BfdDaemon {
  session(): Promise<BfdDaemonSession>;
  /** Other intervals, without anything else. */
  setInterval(milliseconds: number): Promise<void>;
  /** Holds the session down, or no longer. */
  setAdminDown(down: boolean): Promise<void>;
  /** SIGKILL: nothing is said to us. */
  kill(): Promise<void>;
  log(): string;
}

export interface BfdDaemonKind {
  readonly name: string;
  /** The smallest TTL to expect of its packets over several hops. */
  readonly multihopTtl: number;
  /** It never speaks first: how it is known. */
  readonly waitsAlways?: string;
  /** It always speaks first: why. */
  readonly cannotWait?: string;
  /** It cannot be told to hold a session down: why. */
  readonly cannotAdminDown?: string;
  /** It has no sessions over several hops: why. */
  readonly cannotBeFar?: string;
  /** Other intervals of its own end the session: how. */
  readonly beginsAnew?: string;
  /** Resolves when it runs. */
  start(link: Link, options: BfdDaemonOptions): Promise<BfdDaemon>;
}

export const isLinkLocalText = (address: string): boolean => address.startsWith('fe80:');
