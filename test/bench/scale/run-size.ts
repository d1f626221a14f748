import { setTimeout as sleep } from 'node:timers/promises';
import { limits as agentLimits } from '../../../src/agent/limits.ts';
import type { LabProcess } from '../../lab/lab-process.ts';
import { until } from '../../lab/until.ts';
import { peakMemory, processorSeconds } from '../runner/process-figures.ts';
import { recordedAddress, routerAddress, timeNow } from './addresses.ts';
import { AuditLog, isWrite, programOf, watchedBy, type AuditedRequest } from './audit-log.ts';
import { differences } from './comparison.ts';
import { Controllers } from './controllers.ts';
import { kubeProxyOn } from './kube-proxy-start.ts';
import type { Change, LoadFigures } from './load-program.ts';
import { eventsOf, Probe, secondsOf, type Client } from './probe.ts';
import type { Churn, NewServices, Phase, Reading, Restart, RollingUpdate, SizeResult } from './results.ts';
import { RuleTimes } from './rule-times.ts';
import { recordedAgentsOf, sizeOf } from './size.ts';
import { networkNamespace, octetsOf, Stage, type Helper } from './stage.ts';
import { serviceToRoute, sliceToRule, timesOf } from './times.ts';

export interface RunOptions {
  readonly nodes: number;
  /** Agents that run as they are. */
  readonly realAgents: number;
  /** The most recorded agents. Undefined: all other nodes have one. */
  readonly mostRecorded: number | undefined;
  /** With more nodes kube-proxy does not run. */
  readonly mostNodesOfKubeProxy: number;
  readonly changesPerSecond: number;
  readonly servicesPerSecond: number;
  /** Seconds of each measured phase. */
  readonly seconds: number;
  readonly note: (text: string) => void;
  /** Measures an event. One that fails costs its own row. */
  readonly attempt: <T>(row: string, measure: () => Promise<T>) => Promise<T | undefined>;
}

const patience = 600_000;
/** Agents that begin to read at the same time at the start. A cluster starts all at once; the queue of the API server is the same. */
const startsAtOnce = 200;
/** A rolling update of the bench restarts this part of the agents at the same time. */
const updatedAtOnce = 0.01;
/** Below this part of the changes that were asked for, the machine is too small. */
const enough = 0.95;
/** After the load ends, the slowest change has this long to come into the kernel. */
const settleMilliseconds = 5_000;
/** The longest wait for the reports of all agents after the start. */
const longestSettleMilliseconds = 120_000;
/** A recorded agent counts as started before its last watch, that of its DaemonSet, is open. */
const lastWatchMilliseconds = 3_000;
const nodeStateWrites = (requests: readonly AuditedRequest[]): number =>
  requests.filter((request) => isWrite(request) && request.uri.includes('/nodestates/')).length;

export async function runSize(options: RunOptions): Promise<SizeResult> {
  const stage = await Stage.start();
  try {
    return await new Run(stage, options).run();
  } catch (error) {
    for (const text of stage.ended()) options.note(text);
    throw error;
  } finally {
    await stage.stop();
  }
}

class Run {
  readonly #stage: Stage;
  readonly #options: RunOptions;
  readonly #audit: AuditLog;
  readonly #probe: Probe;
  readonly #agents: LabProcess[] = [];
  readonly #controllers: Controllers;
  /** Agents that are recorded: those of the nodes after the real agents'. */
  readonly #recorded: number;
  /** Undefined: it does not run, or it was not ready in time. */
  #kubeProxy: { readonly pid: number } | undefined;
  /** Number of watches that all agents keep open. */
  #watches = 0;

  constructor(stage: Stage, options: RunOptions) {
    [this.#stage, this.#options] = [stage, options];
    this.#audit = new AuditLog(stage.auditDirectory);
    this.#probe = new Probe(stage, this.#audit);
    this.#controllers = new Controllers(stage, options.note);
    this.#recorded = recordedAgentsOf(options);
  }

  async run(): Promise<SizeResult> {
    const { nodes, realAgents, mostNodesOfKubeProxy, note, attempt, seconds } = this.#options;
    note(`${nodes} nodes: the API server and etcd run`);
    await this.#stage.install(realAgents);
    const load = await this.#stage.helper('api', undefined, 'load-program.ts', await this.#stage.credentials('admin'));
    const populated = timeNow();
    const objects = await load.call<number>('populate', nodes);
    await this.#untilRead(load);
    const populateSeconds = (timeNow() - populated) / 1000;
    note(`${nodes} nodes: ${objects} objects in ${populateSeconds.toFixed(0)} s`);
    const router = await this.#stage.helper('router', routerAddress, 'router-program.ts', {});
    await router.call('listen');
    await load.call('startKubelets');

    const without = await this.#underLoad(load, [], 0);
    note(`without Herald: API server ${without.phase.apiServerCpuPercent.toFixed(0)} %`);
    const recorded = await this.#recordedAgents();
    const start = await this.#start(recorded, router);
    const kubeProxy = nodes > mostNodesOfKubeProxy ? undefined : await kubeProxyOn(this.#stage, nodes - 1, note);
    this.#kubeProxy = kubeProxy;
    // The controller has given addresses, and agents write at the end of their interval how far they are. A few agents write too rarely to matter.
    const spread = (realAgents + this.#recorded) * agentLimits.detailsSpreadMilliseconds;
    const settle = Math.min(longestSettleMilliseconds, agentLimits.reportEveryMilliseconds + spread);
    note(`the reports of the agents are awaited for ${Math.round(settle / 1000)} s`);
    await sleep(settle);
    const { phase: rest } = await this.#probe.during(await this.#clients(load, recorded), seconds);
    const { churn, requests } = await this.#churn(load, await this.#clients(load, recorded));
    note(`changes: ${churn.changesPerSecond.toFixed(0)}/s, API server ${churn.apiServerCpuPercent.toFixed(0)} %`);
    const appearing = await this.#newServices(load, router, await this.#clients(load, recorded));
    note(`new Services: ${appearing.result.serviceToRoute.count} of ${appearing.result.servicesMade} have a route`);
    // What follows may take minutes, and a bench that is ended there loses only that.
    note(
      `measured: ${JSON.stringify({ nodes, without: without.phase, start: start.reading, kubeProxy: kubeProxy?.start, rest, churn, newServices: appearing.result })}`,
    );
    const found = differences({ start: start.requests, changes: requests, newServices: appearing.requests }, realAgents, this.#recorded);
    const apiServerRestart = await attempt(`Herald, ${nodes} nodes: restart of the API server`, () => this.#restartApiServer());
    const leaderChange = await attempt(`Herald, ${nodes} nodes: change of the leader`, () => this.#changeLeader(load));
    const rollingUpdate = await attempt(`Herald, ${nodes} nodes: rolling update`, () => this.#rollingUpdate(recorded));
    const { services, endpoints } = sizeOf(nodes);
    return {
      nodes,
      services,
      endpoints,
      realAgents,
      recordedAgents: this.#recorded,
      populateSeconds,
      without: { ...without.phase, changesPerSecond: without.changesPerSecond },
      start: {
        ...start.reading,
        realAgentSeconds: start.realAgentSeconds,
        realAgentCpuSeconds: start.realAgentCpuSeconds,
        agentPeakMegabytes: start.agentPeakMegabytes,
      },
      kubeProxyStart: kubeProxy?.start,
      rest,
      churn,
      newServices: appearing.result,
      apiServerRestart,
      leaderChange,
      rollingUpdate,
      deviations: found,
      tooLarge: churn.changesPerSecond < enough * this.#options.changesPerSecond,
    };
  }

  /** The watch cache of the API server learns of what was written into etcd. */
  async #untilRead(load: Helper): Promise<void> {
    const last = sizeOf(this.#options.nodes).services - 1;
    const path = `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?resourceVersion=0&fieldSelector=metadata.name%3Dsvc-${last}-x7k2p`;
    await until(
      'the API server has all objects',
      async () => (await load.call<{ items: unknown[] }>('get', path)).items.length === 1,
      patience,
    );
  }

  async #recordedAgents(): Promise<Helper> {
    const credentials = await this.#stage.credentials('herald-agent');
    const recorded = await this.#stage.helper('recorded', recordedAddress, 'recorded-program.ts', {
      ...credentials,
      userAgent: 'herald-agent/recorded',
    });
    await recorded.call('follow', this.#options.nodes - 1);
    return recorded;
  }

  /** Starts the controllers, and every agent at once. */
  async #start(
    recorded: Helper,
    router: Helper,
  ): Promise<{
    reading: Reading;
    realAgentSeconds: number;
    realAgentCpuSeconds: number;
    agentPeakMegabytes: number;
    requests: readonly AuditedRequest[];
  }> {
    const { nodes, realAgents, note } = this.#options;
    await this.#controllers.start();
    await sleep(5_000);
    const before = octetsOf(recorded.pid).received;
    const cpu = this.#apiServerSeconds();
    const began = timeNow();
    let [realAgentSeconds, realAgentCpuSeconds, seconds] = [0, 0, 0];
    let reading: number[] = [];
    const { requests, phase } = await this.#probe.during([], async () => {
      for (let index = 0; index < realAgents; index++) this.#agents.push(await this.#stage.startAgent(index));
      const real = (async () => {
        await Promise.all(this.#agents.map((agent) => agent.waitForLine(/agent started/, patience)));
        realAgentSeconds = (timeNow() - began) / 1000;
        realAgentCpuSeconds = Math.max(...this.#agents.map(({ pid }) => secondsOf(pid)));
      })();
      reading = await recorded.call<number[]>('start', nodes, realAgents, realAgents + this.#recorded, startsAtOnce);
      await real;
      seconds = (timeNow() - began) / 1000;
      await sleep(lastWatchMilliseconds);
    });
    this.#watches = watchedBy(requests.filter(({ source }) => source === recordedAddress)) * (realAgents + this.#recorded);
    const agentPeakMegabytes = Math.max(...this.#agents.map(({ pid }) => peakMemory(pid)));
    const spent = this.#apiServerSeconds() - cpu;
    const megabytes = (octetsOf(recorded.pid).received - before) / 1e6;
    note(
      `${realAgents + this.#recorded} agents have read everything after ${seconds.toFixed(0)} s, a real one after ${realAgentSeconds.toFixed(0)} s`,
    );
    await until('every real agent has a session', async () => (await router.call<number>('sessions')) === realAgents, patience);
    return {
      reading: {
        agentSeconds: timesOf(reading),
        seconds,
        apiServerCpuSeconds: spent,
        megabytes,
        throttled: phase.throttled,
      },
      realAgentSeconds,
      realAgentCpuSeconds,
      agentPeakMegabytes,
      requests,
    };
  }

  /** Returns the processes to measure. */
  async #clients(load: Helper, recorded: Helper): Promise<Client[]> {
    const eventsOfRecorded = async (): Promise<number> =>
      Object.values((await recorded.call<{ events: Record<string, number> }>('figures')).events).reduce((sum, count) => sum + count, 0);
    return [
      ...this.#agents.map(({ pid }, index) => ({
        name: 'herald-agent',
        pid,
        processes: 1,
        events: () => eventsOf(`node${index}`, 10_290),
      })),
      ...(await this.#controllers.clients(load)),
      { name: 'herald-agent (recorded)', pid: recorded.pid, processes: this.#recorded, events: eventsOfRecorded },
      ...(this.#kubeProxy === undefined ? [] : [{ name: 'kube-proxy', pid: this.#kubeProxy.pid, processes: 1 }]),
    ];
  }

  async #underLoad(
    load: Helper,
    clients: readonly Client[],
    servicesPerSecond: number,
  ): Promise<{ phase: Phase; requests: readonly AuditedRequest[]; figures: LoadFigures; changesPerSecond: number }> {
    await load.call('startLoad', this.#options.changesPerSecond, servicesPerSecond);
    // The connections of the first changes are set up.
    await sleep(3_000);
    const { phase, requests } = await this.#probe.during(clients, this.#options.seconds);
    const figures = await load.call<LoadFigures>('stopLoad');
    return { phase, requests, figures, changesPerSecond: figures.changes.length / figures.seconds };
  }

  /** Changes endpoints only. */
  async #churn(load: Helper, clients: readonly Client[]): Promise<{ churn: Churn; requests: readonly AuditedRequest[] }> {
    const lastNode = `node${this.#options.nodes - 1}`;
    const observed = { 'herald-agent': 'node0', ...(this.#kubeProxy === undefined ? {} : { 'kube-proxy': lastNode }) };
    const monitors = Object.entries(observed).map(([name, of]) => [name, new RuleTimes(`/run/netns/${networkNamespace(of)}`)] as const);
    try {
      const { phase, requests, figures, changesPerSecond } = await this.#underLoad(load, clients, 0);
      await sleep(settleMilliseconds);
      for (const [name, { lost }] of monitors)
        if (lost > 0) this.#options.note(`${name}: ${lost} times the kernel reported more rules than were read`);
      const churn: Churn = {
        ...phase,
        changesPerSecond,
        changesAsked: this.#options.changesPerSecond,
        changesMade: figures.changes.length,
        changesFailed: figures.failed,
        sliceToRule: Object.fromEntries(monitors.map(([name, times]) => [name, sliceToRule(figures.changes, times)])),
        nodeStateWritesPerSecond: nodeStateWrites(requests) / phase.seconds,
      };
      return { churn, requests };
    } finally {
      for (const [, monitor] of monitors) monitor.close();
    }
  }

  /** Also creates Services. */
  async #newServices(
    load: Helper,
    router: Helper,
    clients: readonly Client[],
  ): Promise<{ result: NewServices; requests: readonly AuditedRequest[] }> {
    const { phase, requests, figures } = await this.#underLoad(load, clients, this.#options.servicesPerSecond);
    await sleep(settleMilliseconds);
    const addresses = await load.call<Record<string, string>>('ingress');
    const routes = await router.call<Record<string, number>>('times');
    const result: NewServices = {
      ...phase,
      servicesPerSecond: figures.services.length / figures.seconds,
      servicesMade: figures.services.length,
      serviceToRoute: serviceToRoute(figures.services, addresses, routes),
      nodeStateWritesPerSecond: nodeStateWrites(requests) / phase.seconds,
    };
    return { result, requests };
  }

  async #restartApiServer(): Promise<Restart> {
    const { realAgents, note } = this.#options;
    const killed = timeNow();
    this.#audit.take();
    await this.#stage.cluster.stopApiServer();
    await this.#stage.cluster.startApiServer();
    this.#stage.sharePriority();
    const ready = timeNow();
    const requests: AuditedRequest[] = [];
    const opened = (): AuditedRequest[] => requests.filter(({ verb, code }) => verb === 'watch' && code === 200);
    await until(
      'every watch is open again',
      (noteSeen) => {
        requests.push(...this.#audit.take().filter((request) => programOf(request).startsWith('herald-agent')));
        return noteSeen(opened().length) >= this.#watches;
      },
      patience,
    );
    const times = opened().map(({ at }) => at);
    const isRelist = ({ uri }: AuditedRequest): boolean => uri.includes('sendInitialEvents') || !uri.includes('watch=true');
    const perSecond = new Map<number, number>();
    for (const { at } of requests) perSecond.set(Math.floor(at / 1000), (perSecond.get(Math.floor(at / 1000)) ?? 0) + 1);
    note(`the API server restarted: ${times.length} watches of ${realAgents + this.#recorded} agents are open again`);
    return {
      downSeconds: (ready - killed) / 1000,
      watchesOpenAfterSeconds: Math.max(0, (Math.max(...times) - ready) / 1000),
      resumed: opened().filter((request) => !isRelist(request)).length,
      relisted: requests.filter((request) => isRelist(request) && request.code === 200).length,
      peakRequestsPerSecond: Math.max(...perSecond.values()),
      spreadSeconds: (Math.max(...times) - Math.min(...times)) / 1000,
      throttled: requests.filter(({ code }) => code === 429).length,
      // Its processor time begins with the process.
      apiServerCpuSeconds: this.#apiServerSeconds(),
    };
  }

  async #changeLeader(load: Helper): Promise<{ secondsToAddress: number }> {
    await this.#controllers.killLeader(load);
    const { name, at } = await load.call<Change>('create', 'after-the-leader');
    const path = `/api/v1/namespaces/default/services/${name}`;
    await until(
      'the new leader gives an address',
      async () => {
        const has = JSON.stringify(await load.call('get', path)).includes('"ip"');
        // The new leader may lose its Lease, too, while the API server is busy.
        if (!has) await this.#controllers.startWhenAllEnded();
        return has;
      },
      patience,
    );
    const secondsToAddress = (timeNow() - at) / 1000;
    this.#options.note(`the leader was killed: the next Service had its address after ${secondsToAddress.toFixed(1)} s`);
    return { secondsToAddress };
  }

  async #rollingUpdate(recorded: Helper): Promise<RollingUpdate> {
    const { realAgents } = this.#options;
    const atOnce = Math.max(1, Math.round((realAgents + this.#recorded) * updatedAtOnce));
    const before = octetsOf(recorded.pid).received;
    const cpu = this.#apiServerSeconds();
    const began = timeNow();
    let seconds: number[] = [];
    const { requests, phase } = await this.#probe.during([], async () => {
      const real = (async () => {
        for (let index = 0; index < realAgents; index++) {
          await this.#agents[index]?.stop();
          const agent = await this.#stage.startAgent(index);
          this.#agents[index] = agent;
          await agent.waitForLine(/agent started/, patience);
        }
      })();
      seconds = await recorded.call<number[]>('restart', atOnce);
      await real;
    });
    return {
      agentSeconds: timesOf(seconds),
      seconds: (timeNow() - began) / 1000,
      apiServerCpuSeconds: this.#apiServerSeconds() - cpu,
      megabytes: (octetsOf(recorded.pid).received - before) / 1e6,
      throttled: phase.throttled,
      atOnce,
      nodeStateWrites: nodeStateWrites(requests),
    };
  }

  #apiServerSeconds(): number {
    return processorSeconds(this.#stage.cluster.pids.apiServer);
  }
}
