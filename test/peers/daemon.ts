import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, openSync, closeSync, readFileSync, existsSync } from 'node:fs';
import type { Link } from './link.ts';
import { inNamespaceOf, type Root } from './root.ts';

export type Family = 4 | 6;

/** What the suite asks of a daemon that it may not have. */
export type Feature =
  /** It can be told to ask us for all routes again. */
  | 'route refresh'
  | 'TCP MD5'
  /** It sends an operator's words when it closes a session. */
  | 'shutdown text'
  /** It takes IPv4 routes with an IPv6 next hop (RFC 8950). */
  | 'extended next hop'
  /** It can be told to leave out the capability for 4-octet AS numbers. */
  | 'no 4-octet AS numbers'
  /** It drops segments that have come further than they should (RFC 5082). */
  | 'GTSM'
  /** It keeps our routes while we restart (RFC 4724). */
  | 'graceful restart'
  /** It keeps them also after a NOTIFICATION, such as that its hold timer has expired (RFC 8538). */
  | 'graceful restart after NOTIFICATION'
  /** It peers with whoever is at the other end of the wire, over link-local addresses (RFC 8950). */
  | 'unnumbered';

/** How a daemon is configured for one test. It waits for our speaker unless it is told to dial. */
export interface DaemonOptions {
  /** Of the session; routes of both families are exchanged over it. */
  readonly family: Family;
  readonly password?: string;
  /** It connects to us as well. */
  readonly dials?: boolean;
  readonly ttlSecurity?: boolean;
  readonly gracefulRestart?: boolean;
  /** Its routes go into the kernel, where it can do that. */
  readonly kernel?: boolean;
  /** It is in our AS. */
  readonly internal?: boolean;
  /** Prefixes that it announces to us, of the session's family. */
  readonly announces?: readonly string[];
  readonly unnumbered?: boolean;
  /** Our AS number, where it is not the usual one. */
  readonly speakerAsn?: number;
  /** False: it says nothing of 4-octet AS numbers, as speakers did before RFC 6793. */
  readonly fourOctetAsn?: boolean;
}

/** A route that the daemon has from us, in its own view. */
export interface Path {
  readonly nextHop: string;
  /** "64512 64512" */
  readonly asPath: string;
  readonly origin: 'IGP' | 'EGP' | 'incomplete';
  readonly med: number | undefined;
  readonly localPref: number | undefined;
  /** "64512:100", sorted. */
  readonly communities: readonly string[];
  /** "64512:1:2" */
  readonly largeCommunities: readonly string[];
}

/** A daemon that runs, and what it shows of the session with us and the routes it has from us. */
export interface Daemon {
  /** Resolves when it listens. */
  start(): Promise<void>;
  established(): Promise<boolean>;
  /** By prefix. */
  routes(family: Family): Promise<ReadonlyMap<string, Path>>;
  /** How many prefixes of this family it has from us; cheaper than `routes`. */
  count(family: Family): Promise<number>;
  /** Has it ask for the routes of both families again. */
  requestRefresh(): Promise<void>;
  /** UPDATEs, or the routes in them, that it has counted since the session is up. */
  updatesReceived(): Promise<number>;
  /** Closes the session with these words for us. */
  shutDown(text: string): Promise<void>;
  /** Allows the session again. */
  bringUp(): Promise<void>;
  /** Whatever it shows and logs about the end of the session. */
  lastError(): Promise<string>;
  /** SIGTERM, and waits for the end. */
  stop(): Promise<void>;
  /** SIGKILL: nothing is said to us. */
  kill(): Promise<void>;
}

export interface DaemonKind {
  /** With its version, as the tests are named. */
  readonly name: string;
  /** What it lacks, and why. */
  readonly lacks: Readonly<Partial<Record<Feature, string>>>;
  /** It can put routes into the kernel. */
  readonly usesKernel: boolean;
  /** The 100,000 prefixes are tried with this one; not with all, as that is about our sending. */
  readonly takesManyPrefixes?: boolean;
  /** Resolves when it listens. */
  start(link: Link, options: DaemonOptions): Promise<Daemon>;
}

export const routerAsn = 65001;
const usualSpeakerAsn = 64512;

export const speakerAsnOf = ({ speakerAsn = usualSpeakerAsn }: DaemonOptions): number => speakerAsn;

export const asnOf = ({ internal }: DaemonOptions): number => (internal === true ? usualSpeakerAsn : routerAsn);

/** Starts it; what has failed to start is ended. */
export async function started(daemon: Daemon): Promise<Daemon> {
  try {
    await daemon.start();
  } catch (error) {
    await daemon.kill();
    throw error;
  }
  return daemon;
}

/** Programs of one daemon, in the foreground of processes of ours. Their output is in `log`. */
export class Programs {
  readonly directory: string;
  readonly #link: Link;
  readonly #root: Root;
  readonly #running: { readonly name: string; readonly end: (signal: NodeJS.Signals) => Promise<void> }[] = [];

  constructor(link: Link, root: Root) {
    this.#link = link;
    this.#root = root;
    this.directory = `/run/${link.name}`;
    mkdirSync(this.path(''), { recursive: true });
    chmodSync(this.path(''), 0o755);
  }

  /** Of a file in the directory that the daemon sees as `directory`. */
  path(file: string): string {
    return `${this.#root.path}${this.directory}/${file}`;
  }

  log(name: string): string {
    const file = this.path(`${name}.log`);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  start(name: string, argv: readonly string[]): { readonly running: () => boolean; readonly signal: (signal: NodeJS.Signals) => void } {
    const output = openSync(this.path(`${name}.log`), 'a');
    const [command = '', ...args] = inNamespaceOf(this.#root, this.#link.router, argv);
    const child = spawn(command, args, { stdio: ['ignore', output, output] });
    closeSync(output);
    const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
    this.#running.push({
      name,
      end: (signal) => {
        child.kill(signal);
        return exited;
      },
    });
    return { running: () => child.exitCode === null && child.signalCode === null, signal: (signal) => void child.kill(signal) };
  }

  /** The last one that was started first. */
  async end(signal: NodeJS.Signals): Promise<void> {
    for (const program of this.#running.splice(0).toReversed()) await program.end(signal);
  }
}
