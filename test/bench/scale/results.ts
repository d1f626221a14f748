import type { Conditions } from '../runner/conditions.ts';
import type { Deviation } from './comparison.ts';

/** The p50 and p99 of times in milliseconds, and of how many. */
export interface Times {
  readonly p50: number;
  readonly p99: number;
  readonly count: number;
}

/** A client of the API server during a phase. Bytes include TLS and TCP; a second is one of the phase. */
export interface ClientFigures {
  readonly processes: number;
  readonly bytesReceivedPerSecond: number;
  readonly bytesSentPerSecond: number;
  readonly eventsPerSecond: number | undefined;
  /** Of one core, for one process and the programs that it has run. */
  readonly cpuPercent: number;
  readonly rssMegabytes: number;
}

/** The API server and its clients during a time. */
export interface Phase {
  readonly seconds: number;
  readonly apiServerCpuPercent: number;
  readonly etcdCpuPercent: number;
  readonly apiServerRssMegabytes: number;
  /** Requests a second, by program and verb: "herald-agent patch". */
  readonly requestsPerSecond: Readonly<Record<string, number>>;
  readonly throttled: number;
  readonly clients: Readonly<Record<string, ClientFigures>>;
}

/** Endpoints changes that were made, and when the kernel had them. */
export interface Churn extends Phase {
  readonly changesPerSecond: number;
  readonly changesAsked: number;
  readonly changesMade: number;
  readonly changesFailed: number;
  /** Fewer than `changesMade` when a program skips an endpoint that was replaced before it looked. */
  readonly sliceToRule: Readonly<Record<string, Times>>;
  readonly nodeStateWritesPerSecond: number;
}

/** Services that appear while endpoints change, and when a router had their routes. */
export interface NewServices extends Phase {
  readonly servicesPerSecond: number;
  readonly servicesMade: number;
  readonly serviceToRoute: Times;
  readonly nodeStateWritesPerSecond: number;
}

/** A start of many agents, or a restart. */
export interface Reading {
  /** Seconds of an agent until it has read everything. */
  readonly agentSeconds: Times;
  readonly seconds: number;
  readonly apiServerCpuSeconds: number;
  readonly megabytes: number;
  readonly throttled: number;
}

/** kube-proxy until its first rules are in the kernel. */
export interface KubeProxyStart {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMegabytes: number;
}

export interface Restart {
  /** Seconds until the API server was ready again, and from then until every watch of an agent was open again. */
  readonly downSeconds: number;
  readonly watchesOpenAfterSeconds: number;
  /** Watches that went on where they were, and those that read everything again. */
  readonly resumed: number;
  readonly relisted: number;
  /** The most requests of agents in one second, and the time over which they came. */
  readonly peakRequestsPerSecond: number;
  readonly spreadSeconds: number;
  readonly throttled: number;
  readonly apiServerCpuSeconds: number;
}

export interface RollingUpdate extends Reading {
  readonly atOnce: number;
  readonly nodeStateWrites: number;
}

export interface SizeResult {
  readonly nodes: number;
  readonly services: number;
  readonly endpoints: number;
  readonly realAgents: number;
  /** Fewer than `nodes - realAgents - 1`: the other nodes have no agent. */
  readonly recordedAgents: number;
  readonly populateSeconds: number;
  /** The same changes with no client of Herald. */
  readonly without: Phase & { readonly changesPerSecond: number };
  /** The slowest of the real agents, until its rules are in the kernel. */
  readonly start: Reading & {
    readonly realAgentSeconds: number;
    readonly realAgentCpuSeconds: number;
    readonly agentPeakMegabytes: number;
  };
  /** Undefined: kube-proxy failed or was not started, and has no figures. */
  readonly kubeProxyStart: KubeProxyStart | undefined;
  readonly rest: Phase;
  readonly churn: Churn;
  readonly newServices: NewServices;
  /** Events that could not be measured are undefined. */
  readonly apiServerRestart: Restart | undefined;
  readonly leaderChange: { readonly secondsToAddress: number } | undefined;
  readonly rollingUpdate: RollingUpdate | undefined;
  /** Requests that real and recorded agents do not make equally often. The bench fails unless it is empty. */
  readonly deviations: readonly Deviation[];
  /** The machine could not make the changes that were asked for, so no larger size is run. */
  readonly tooLarge: boolean;
}

export interface Results {
  readonly conditions: Conditions;
  readonly changesPerSecond: number;
  readonly sizes: readonly SizeResult[];
  readonly exponents: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
}
