import { setTimeout as sleep } from 'node:timers/promises';
import { inNamespace } from '../../lab/namespace.ts';
import { run } from '../../lab/command.ts';
import { samplesOf } from '../../unit/telemetry/scrape.ts';
import { childrenSeconds, processorSeconds, residentMemory } from '../runner/process-figures.ts';
import { timeNow } from './addresses.ts';
import { byProgramAndVerb, type AuditedRequest, type AuditLog } from './audit-log.ts';
import type { ClientFigures, Phase } from './results.ts';
import { networkNamespace, octetsOf, type Stage } from './stage.ts';

/** Processes of one kind, each with the network namespace where only it runs. */
export interface Client {
  readonly name: string;
  readonly pid: number;
  /** Agents that the process plays. */
  readonly processes: number;
  /** Returns the number of events that its watches got so far. Absent: it does not count them. */
  readonly events?: () => Promise<number | undefined>;
}

interface ClientReading {
  readonly cpu: number;
  readonly received: number;
  readonly sent: number;
  readonly events: number | undefined;
  readonly rss: number;
}

interface Reading {
  readonly at: number;
  readonly apiServer: number;
  readonly etcd: number;
  /** Undefined: the process has ended. */
  readonly clients: readonly (ClientReading | undefined)[];
}

export interface Measured {
  readonly phase: Phase;
  readonly requests: readonly AuditedRequest[];
}

/** Measures the API server and its clients over a time. */
export class Probe {
  readonly #stage: Stage;
  readonly #audit: AuditLog;

  constructor(stage: Stage, audit: AuditLog) {
    [this.#stage, this.#audit] = [stage, audit];
  }

  /** Measures while `work` runs, or for `seconds`. */
  async during(clients: readonly Client[], work: number | (() => Promise<unknown>)): Promise<Measured> {
    this.#audit.take();
    const before = await this.#read(clients);
    await (typeof work === 'number' ? sleep(work * 1000) : work());
    const after = await this.#read(clients);
    // The API server writes the log of a request after its answer.
    await sleep(200);
    const requests = this.#audit.take();
    const seconds = (after.at - before.at) / 1000;
    const rate = (from: number, to: number): number => (to - from) / seconds;
    const byName: Record<string, ClientFigures> = {};
    clients.forEach((client, index) => {
      const [from, to] = [before.clients[index], after.clients[index]];
      if (from === undefined || to === undefined) return;
      const events = from.events === undefined || to.events === undefined ? undefined : rate(from.events, to.events);
      // Several processes of one kind: the figures of the first.
      byName[client.name] ??= {
        processes: client.processes,
        bytesReceivedPerSecond: rate(from.received, to.received),
        bytesSentPerSecond: rate(from.sent, to.sent),
        eventsPerSecond: events,
        cpuPercent: 100 * rate(from.cpu, to.cpu),
        rssMegabytes: to.rss,
      };
    });
    const phase: Phase = {
      seconds,
      apiServerCpuPercent: 100 * rate(before.apiServer, after.apiServer),
      etcdCpuPercent: 100 * rate(before.etcd, after.etcd),
      apiServerRssMegabytes: residentMemory(this.#stage.cluster.pids.apiServer),
      requestsPerSecond: Object.fromEntries([...byProgramAndVerb(requests)].map(([key, count]) => [key, count / seconds])),
      throttled: requests.filter(({ code }) => code === 429).length,
      clients: byName,
    };
    return { phase, requests };
  }

  async #read(clients: readonly Client[]): Promise<Reading> {
    const events = await Promise.all(clients.map(async (client) => client.events?.()));
    const { apiServer, etcd } = this.#stage.cluster.pids;
    return {
      at: timeNow(),
      apiServer: processorSeconds(apiServer),
      etcd: processorSeconds(etcd),
      clients: clients.map(({ pid }, index) => clientReading(pid, events[index])),
    };
  }
}

/** Returns the processor time of a process and of the programs that it has run: kube-proxy has nft commit its rules. */
export const secondsOf = (pid: number): number => processorSeconds(pid) + childrenSeconds(pid);

function clientReading(pid: number, events: number | undefined): ClientReading | undefined {
  try {
    return { cpu: secondsOf(pid), ...octetsOf(pid), events, rss: residentMemory(pid) };
  } catch {
    // A controller that lost its Lease ends, and has no figures in this phase.
    return undefined;
  }
}

const fetching = `fetch(process.argv[1]).then((answer) => answer.text()).then((text) => process.stdout.write(text))`;

/** Returns the number of watch events that a process of Herald has counted, from its metrics. */
export async function eventsOf(name: string, port: number): Promise<number | undefined> {
  const text = await metricsOf(name, port);
  // A controller that waits, or one that has just ended, answers no scrape.
  return text === undefined ? undefined : [...samplesOf(text, 'herald_watch_events_total').values()].reduce((sum, count) => sum + count, 0);
}

/** Returns when the kernel of this namespace last accepted kube-proxy's rules, in seconds since 1970; 0: not yet. */
export async function lastSyncOfKubeProxy(name: string): Promise<number> {
  const text = (await metricsOf(name, 10_249)) ?? '';
  return Math.max(0, ...samplesOf(text, 'kubeproxy_sync_proxy_rules_last_timestamp_seconds').values());
}

/** Scrapes a program that listens on loopback in the network namespace with this name. */
async function metricsOf(name: string, port: number): Promise<string | undefined> {
  const argv = [process.execPath, '-e', fetching, `http://127.0.0.1:${port}/metrics`];
  const { stdout, code } = await run(inNamespace(networkNamespace(name), argv), { check: false });
  return code === 0 ? stdout : undefined;
}
