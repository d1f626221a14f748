import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, openSync, closeSync, readFileSync, existsSync } from 'node:fs';
import type { Link } from './link.ts';
import { inNamespaceOf, type Root } from './root.ts';

export type Family = 4 | 6;

export const familyOf = (prefix: string): Family => (prefix.includes(':') ? 6 : 4);

/** Features that a daemon may lack. */
export type Feature =
  /** It can ask us for all routes again. */
  | 'route refresh'
  | 'TCP MD5'
  /** It sends an operator's text when it closes a session. */
  | 'shutdown text'
  /** It accepts IPv4 routes with an IPv6 next hop (RFC 8950). */
  | 'extended next hop'
  /** It can leave out the capability for 4-octet AS numbers. */
  | 'no 4-octet AS numbers'
  /** It drops segments whose TTL is too low (RFC 5082). */
  | 'GTSM'
  /** It announces routes of the family that the session does not use. */
  | 'routes of the other family'
  /** It asks us to retain its routes while it restarts. */
  | 'retained routes'
  /** It retains our routes while we restart (RFC 4724). */
  | 'graceful restart'
  /** It retains our routes also after a NOTIFICATION, such as an expired hold timer (RFC 8538). */
  | 'graceful restart after NOTIFICATION'
  /** It peers with the router at the other end of the link over link-local addresses (RFC 8950). */
  | 'unnumbered'
  /** It shows the identifiers of several paths of a prefix (RFC 7911). */
  | 'path identifiers';

/** Configuration of a daemon for one test. It waits for our speaker unless `dials` is set. */
export interface DaemonOptions {
  /** The address family of the session, which carries routes of both families. */
  readonly family: Family;
  readonly password?: string;
  /** It also connects to us. */
  readonly dials?: boolean;
  readonly ttlSecurity?: boolean;
  readonly gracefulRestart?: boolean;
  /** It asks us to retain its routes while it restarts. */
  readonly restarts?: boolean;
  /** It installs routes in the kernel, if it can. */
  readonly kernel?: boolean;
  /** It is in our AS. */
  readonly internal?: boolean;
  /** Prefixes that it announces to us. */
  readonly announces?: readonly string[];
  readonly unnumbered?: boolean;
  /** It takes several paths of a prefix (RFC 7911). */
  readonly severalPaths?: boolean;
  /** Our AS number; the usual one when absent. */
  readonly speakerAsn?: number;
  /** False leaves out the capability for 4-octet AS numbers, like speakers before RFC 6793. */
  readonly fourOctetAsn?: boolean;
}

/** A route from us, as the daemon shows it. */
export interface Path {
  /** The identifier with which it came (RFC 7911), if it had one. */
  readonly pathId: number | undefined;
  readonly nextHop: string;
  /** For example "64512 64512". */
  readonly asPath: string;
  readonly origin: 'IGP' | 'EGP' | 'incomplete';
  readonly med: number | undefined;
  readonly localPref: number | undefined;
  /** For example "64512:100"; sorted. */
  readonly communities: readonly string[];
  /** For example "64512:1:2". */
  readonly largeCommunities: readonly string[];
}

/** A daemon under test, with its view of our session and our routes. */
export interface Daemon {
  /** Starts it; resolves when it listens. */
  start(): Promise<void>;
  established(): Promise<boolean>;
  /** Returns the paths that it has from us, by prefix. */
  paths(family: Family): Promise<ReadonlyMap<string, readonly Path[]>>;
  /** Returns the number of prefixes of this family that it has from us. Cheaper than `paths`. */
  count(family: Family): Promise<number>;
  /** Withdraws one of the prefixes that it announces. */
  withdraw(prefix: string): Promise<void>;
  /** Makes it request the routes of both families again. */
  requestRefresh(): Promise<void>;
  /** Returns its count of UPDATEs, or of the routes in them, since the session is up. */
  updatesReceived(): Promise<number>;
  /** Closes the session with this text for us. */
  shutDown(text: string): Promise<void>;
  /** Enables the session again. */
  bringUp(): Promise<void>;
  /** Returns what it shows and logs about the end of the session. */
  lastError(): Promise<string>;
  /** Sends SIGTERM and waits for its end. */
  stop(): Promise<void>;
  /** Kills it with SIGKILL, so that it sends nothing to us. */
  kill(): Promise<void>;
}

export interface DaemonKind {
  /** Name and version, used in test titles. */
  readonly name: string;
  /** The features that it lacks, each with the reason. */
  readonly lacks: Readonly<Partial<Record<Feature, string>>>;
  /** It can install routes in the kernel. */
  readonly usesKernel: boolean;
  /** The test with 100,000 prefixes runs with this daemon. One daemon is enough, because the test is about our sending. */
  readonly takesManyPrefixes?: boolean;
  /** Starts the daemon; resolves when it listens. */
  start(link: Link, options: DaemonOptions): Promise<Daemon>;
}

export const routerAsn = 65001;
const usualSpeakerAsn = 64512;

export const speakerAsnOf = ({ speakerAsn = usualSpeakerAsn }: DaemonOptions): number => speakerAsn;

export const asnOf = ({ internal }: DaemonOptions): number => (internal === true ? usualSpeakerAsn : routerAsn);

/** Starts a daemon, and kills it when the start fails. */
export async function started(daemon: Daemon): Promise<Daemon> {
  try {
    await daemon.start();
  } catch (error) {
    await daemon.kill();
    throw error;
  }
  return daemon;
}

/** Where a daemon runs: a namespace, and the name of its directories. */
export type DaemonPlace = Pick<Link, 'name' | 'router'>;

/** The programs of one daemon, run in the foreground as child processes. `log` returns their output. */
export class Programs {
  readonly directory: string;
  readonly #namespace: string;
  readonly #root: Root;
  readonly #running: { readonly name: string; readonly end: (signal: NodeJS.Signals) => Promise<void> }[] = [];

  constructor({ name, router }: DaemonPlace, root: Root) {
    this.#namespace = router;
    this.#root = root;
    this.directory = `/run/${name}`;
    mkdirSync(this.path(''), { recursive: true });
    chmodSync(this.path(''), 0o755);
  }

  /** Returns the host's path of a file in the directory that the daemon sees as `directory`. */
  path(file: string): string {
    return `${this.#root.path}${this.directory}/${file}`;
  }

  log(name: string): string {
    const file = this.path(`${name}.log`);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  start(name: string, argv: readonly string[]): { readonly running: () => boolean; readonly signal: (signal: NodeJS.Signals) => void } {
    const output = openSync(this.path(`${name}.log`), 'a');
    const [command = '', ...args] = inNamespaceOf(this.#root, this.#namespace, argv);
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

  /** Ends the programs in the reverse order of their start. */
  async end(signal: NodeJS.Signals): Promise<void> {
    for (const program of this.#running.splice(0).toReversed()) await program.end(signal);
  }
}
