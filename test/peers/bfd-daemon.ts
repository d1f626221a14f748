import type { Link } from './link.ts';

/** Configuration of a daemon for its session with us. */
export interface BfdDaemonOptions {
  /** The daemon's address; `remote` is ours. */
  readonly local: string;
  readonly remote: string;
  readonly multihop?: boolean;
  /** The interval of both directions, in milliseconds. */
  readonly interval?: number;
  readonly multiplier?: number;
  readonly passive?: boolean;
}

/** A daemon's view of its session with us; times in milliseconds. */
export interface BfdDaemonSession {
  readonly state: 'AdminDown' | 'Down' | 'Init' | 'Up' | 'none';
  /** How often the session has come up (1 without a flap); undefined when the daemon does not count. */
  readonly ups: number | undefined;
  /** The whole output of the daemon. */
  readonly output: string;
}

/** A running daemon. */
export interface BfdDaemon {
  session(): Promise<BfdDaemonSession>;
  /** Changes the intervals and nothing else. */
  setInterval(milliseconds: number): Promise<void>;
  /** Takes the session down administratively, or enables it again. */
  setAdminDown(down: boolean): Promise<void>;
  /** Kills it with SIGKILL, so that it sends nothing to us. */
  kill(): Promise<void>;
  log(): string;
}

export interface BfdDaemonKind {
  readonly name: string;
  /** The minimum TTL to accept for its packets over several hops. */
  readonly multihopTtl: number;
  /** How it is known that it never sends first; absent when it does. */
  readonly alwaysPassive?: string;
  /** Why it always sends first; absent when it can be passive. */
  readonly cannotBePassive?: string;
  /** Why it cannot take a session down administratively; absent when it can. */
  readonly cannotAdminDown?: string;
  /** Why it has no sessions over several hops; absent when it has them. */
  readonly cannotMultihop?: string;
  /** How a change of its own intervals ends the session; absent when it does not. */
  readonly restartsOnNewIntervals?: string;
  /** Starts the daemon; resolves when it runs. */
  start(link: Link, options: BfdDaemonOptions): Promise<BfdDaemon>;
}

export const isLinkLocalText = (address: string): boolean => address.startsWith('fe80:');
