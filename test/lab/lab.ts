// Skeleton of the public face, to write against; bodies follow.
import type { NodePlan, DualStack } from './address-plan.ts';
import type { PodSpec, Topology, FrrDaemon } from './topology.ts';
import type { Log } from '../../src/system/log.ts';

export interface LabOptions { readonly log?: Log }

export declare class Lab {
  /** `hl` and four characters; namespaces are called `<id>-<machine>`. */
  readonly id: string;
  /** /run/herald-lab/<id>: goes away with the lab; put sockets and manifests into `scratch()`. */
  readonly directory: string;
  readonly client: Client;            // the client machine's
  /** A machine with loopback only, for the controller: `lab.control.spawn([...])`. */
  readonly control: Machine;
  static start(topology: Topology, options?: LabOptions): Promise<Lab>;
  /** Takes down what dead owners left. `kept`: also labs that keep() left standing. Returns ids. */
  static sweep(options?: { readonly kept?: boolean }): Promise<readonly string[]>;
  node(name: string): LabNode;        // node1..node3
  router(name: string): Router;       // spine, tor1, tor2
  pod(name: string): Pod;
  machine(name: string): Machine;     // any of the above, and client and control
  /** Requests sent from any machine or pod: lab.clientIn('node1'), lab.clientIn('web-1'). */
  clientIn(machine: string): Client;
  addPod(spec: PodSpec): Promise<Pod>;
  removePod(name: string): Promise<void>;
  /** Silent loss of all frames between a node and its ToRs (or one of them): nobody sees a link go down. */
  cut(node: string, tor?: string): Promise<void>;
  heal(node: string, tor?: string): Promise<void>;
  /** Link down, seen on both sides. */
  unplug(node: string, tor?: string): Promise<void>;
  plug(node: string, tor?: string): Promise<void>;
  /** Makes and returns directory/<name>. */
  scratch(name: string): Promise<string>;
  until<T>(what: string, attempt: (note: <V>(seen: V) => V) => T | Promise<T>, timeoutMs?: number): Promise<Exclude<T, false | undefined | null>>;
  /** Leaves the lab standing when this process ends; returns the command that takes it down. */
  keep(): Promise<string>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export declare class Machine {
  readonly name: string;
  readonly namespace: string;
  exec(argv: readonly string[], options?: { input?: string; env?: Record<string, string>; cwd?: string; timeoutMs?: number; check?: boolean /* true */ }): Promise<{ stdout: string; stderr: string; code: number }>;
  /** stdout and stderr go to a file in the lab's directory. */
  spawn(argv: readonly string[], options?: { name?: string; env?: Record<string, string>; cwd?: string }): LabProcess;
  /** `ip -j route` of the main table. */
  kernelRoutes(family: 4 | 6): Promise<readonly KernelRoute[]>;
}
export interface KernelRoute { dst: string; protocol?: string; gateway?: string; dev?: string; type?: string; nexthops?: readonly { gateway?: string; dev?: string; weight?: number }[] }

export declare class LabProcess {
  readonly pid: number;
  readonly logFile: string;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly running: boolean;
  lines(): readonly string[];
  onLine(listener: (line: string) => void): () => void;
  waitForLine(pattern: RegExp, timeoutMs?: number): Promise<string>;
  kill(signal?: NodeJS.Signals): void;                 // SIGTERM by default
  stop(timeoutMs?: number): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;   // SIGTERM, then SIGKILL; waits
}

export declare class LabNode extends Machine { readonly plan: NodePlan }

export declare class Router extends Machine {
  show<T = unknown>(command: string, daemon?: FrrDaemon): Promise<T>;   // e.g. 'show bgp ipv4 unicast json'; parsed; guesses bgpd or zebra
  configure(lines: readonly string[]): Promise<void>;                // vtysh; lost at restart()
  kill(daemon?: FrrDaemon): Promise<void>;                           // SIGKILL; routes stay in the kernel when zebra dies
  restart(daemon?: FrrDaemon): Promise<void>;
}

export declare class Pod extends Machine { readonly spec: PodSpec; readonly address: DualStack; kill(): Promise<void>; restart(): Promise<void> }

export interface RequestOptions { address: string; port: number; count?: number; timeoutMs?: number; parallel?: number; localPort?: number }
export type Outcome =
  | { readonly ok: true; readonly at: number; readonly milliseconds: number; readonly pod: string; readonly client: string; readonly clientPort: number }
  | { readonly ok: false; readonly at: number; readonly milliseconds: number; readonly error: string /* TIMEOUT, ECONNREFUSED, EHOSTUNREACH ... */ };
/** `at`: ms since the epoch, with fractions, when the request was begun. */
export interface Report {
  readonly outcomes: readonly Outcome[];
  readonly failed: number;
  readonly pods: Readonly<Record<string, number>>;      // answers per pod
  readonly clients: readonly string[];                 // distinct addresses that servers saw
  readonly errors: Readonly<Record<string, number>>;
}
export declare class Client {
  tcp(options: RequestOptions): Promise<Report>;
  udp(options: RequestOptions): Promise<Report>;
  /** One request each intervalMs (20) with its own timeout (200), until stopped. */
  probe(options: { protocol: 'tcp' | 'udp'; address: string; port: number; intervalMs?: number; timeoutMs?: number }): Probe;
}
export declare class Probe {
  readonly outcomes: readonly Outcome[];               // grows
  onOutcome(listener: (outcome: Outcome) => void): () => void;
  report(): Report;
  /** undefined: no failure so far */
  readonly lastFailure: Outcome | undefined;
  stop(): Promise<Report>;
}
