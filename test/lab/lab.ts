import assert from 'node:assert';
import { mkdir } from 'node:fs/promises';
import { silentLog, type Log } from '../../src/system/log.ts';
import { nodePlan, podAddress } from './address-plan.ts';
import { buildNetwork } from './build.ts';
import { Client } from './client.ts';
import { LabNode, Machine } from './machine.ts';
import { ip } from './namespace.ts';
import { Pod } from './pod.ts';
import { Router } from './router.ts';
import { sessionsUp } from './sessions.ts';
import { claimId, directoryOf, markKept, recordProcess } from './state.ts';
import { sweep, teardown } from './teardown.ts';
import type { PodSpec, Topology } from './topology.ts';
import { portsOf, setCut, setPlugged } from './uplinks.ts';
import { until, type Note } from './until.ts';

export type { KernelRoute } from './machine.ts';
export type { Outcome, Report } from './outcome.ts';
export type { ProbeOptions, RequestOptions, SteadyOptions } from './client.ts';
export type { Probe } from './probe.ts';
export type { LabProcess } from './lab-process.ts';
export type { Client, LabNode, Machine, Pod, Router };

export interface LabOptions {
  readonly log?: Log;
}

/**
 * A running topology. See topology.ts for the description and standard-topology.ts for the usual one.
 *
 *     await using lab = await Lab.start(standardTopology({ pods: [{ name: 'web-1', node: 'node1' }] }));
 *     const { pods } = await lab.client.tcp({ address: lab.pod('web-1').address.ipv6, port: 8080 });
 *
 * All processes run in the lab's namespaces, whose names begin with its id. stop() ends all processes. If the owner was killed, the next
 * start() ends them.
 */
export class Lab {
  /** `hl` and four characters. Namespaces are called `<id>-<machine>`. */
  readonly id: string;
  /** /run/herald-lab/<id>. It is removed with the lab. Logs are in logs/. */
  readonly directory: string;
  readonly #topology: Topology;
  readonly #machines = new Map<string, Machine>();
  readonly #clients = new Map<string, Client>();
  #stopped: Promise<void> | undefined;

  private constructor(id: string, topology: Topology) {
    this.id = id;
    this.directory = directoryOf(id);
    this.#topology = topology;
  }

  /**
   * Takes down labs of dead owners and builds the lab. Resolves when pods answer and the routers' sessions with each other are Established.
   */
  static async start(topology: Topology, options: LabOptions = {}): Promise<Lab> {
    const log = options.log ?? silentLog;
    const swept = await sweep();
    if (swept.length > 0) log.info({ labs: swept }, 'took down labs whose owner is gone');
    const lab = new Lab(claimId(), topology);
    try {
      await lab.#build(log);
      return lab;
    } catch (error) {
      // The caller needs the reason why the start failed. The next start takes down what is left.
      await lab.stop().catch((cause: unknown) => log.error({ cause }, 'the lab was not taken down'));
      throw error;
    }
  }

  /**
   * Takes down labs of dead owners and returns their ids. `kept` also takes down labs that keep() left running: all of them, or only the
   * one with this id.
   */
  static sweep(options?: { readonly kept?: boolean | string }): Promise<readonly string[]> {
    return sweep(options);
  }

  /** Sends requests from the client machine. */
  get client(): Client {
    return this.clientIn('client');
  }

  /** A machine with loopback only, for a controller that reads files. */
  get control(): Machine {
    return this.machine('control');
  }

  machine(name: string): Machine {
    const machine = this.#machines.get(name);
    assert(machine, `the lab has no machine called ${name}`);
    return machine;
  }

  node(name: string): LabNode {
    const machine = this.machine(name);
    assert(machine instanceof LabNode, `${name} is not a node`);
    return machine;
  }

  router(name: string): Router {
    const machine = this.machine(name);
    assert(machine instanceof Router, `${name} is not a router`);
    return machine;
  }

  pod(name: string): Pod {
    const machine = this.machine(name);
    assert(machine instanceof Pod, `${name} is not a pod`);
    return machine;
  }

  /** Sends requests from any machine or pod. */
  clientIn(name: string): Client {
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    const client = new Client(this.machine(name).namespace, (identity) => recordProcess(this.id, identity));
    this.#clients.set(name, client);
    return client;
  }

  async addPod(spec: PodSpec): Promise<Pod> {
    const pod = this.#register(spec);
    await ip([`netns add ${pod.namespace}`]);
    await this.#startPod(pod);
    return pod;
  }

  /** Removes a pod. Its process, namespace and link are gone when this resolves. */
  async removePod(name: string): Promise<void> {
    const pod = this.pod(name);
    await pod.kill();
    this.#machines.delete(name);
    this.#clients.delete(name);
    await this.node(pod.spec.node).ip(`link del ${pod.hostInterface}`);
    await ip([`netns del ${pod.namespace}`]);
  }

  /** Drops all frames between a node and its ToRs, or one of them. Neither end sees its link go down. Idempotent, like heal(). */
  async cut(node: string, tor?: string): Promise<void> {
    await Promise.all(portsOf(this.#topology, this.id, node, tor).map((port) => setCut(port, true)));
  }

  async heal(node: string, tor?: string): Promise<void> {
    await Promise.all(portsOf(this.#topology, this.id, node, tor).map((port) => setCut(port, false)));
  }

  /** Takes the link down, so that both ends see it. */
  async unplug(node: string, tor?: string): Promise<void> {
    await Promise.all(portsOf(this.#topology, this.id, node, tor).map((port) => setPlugged(port, false)));
  }

  async plug(node: string, tor?: string): Promise<void> {
    await Promise.all(portsOf(this.#topology, this.id, node, tor).map((port) => setPlugged(port, true)));
  }

  /** Creates a directory of this name inside the lab's own, and returns its path. */
  async scratch(name: string): Promise<string> {
    const path = `${this.directory}/${name}`;
    await mkdir(path, { recursive: true });
    return path;
  }

  /** See until.ts. */
  until<T>(what: string, attempt: (note: Note) => T | Promise<T>, timeoutMs?: number): Promise<Exclude<T, false | null | undefined>> {
    return until(what, attempt, timeoutMs);
  }

  /** Leaves the lab running when this process ends and when other labs start. Returns the command that takes it down. */
  keep(): Promise<string> {
    markKept(this.id);
    return Promise.resolve(`node_modules/.bin/node test/lab/sweep.ts ${this.id}`);
  }

  stop(): Promise<void> {
    this.#stopped ??= teardown(this.id);
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #build(log: Log): Promise<void> {
    for (const spec of this.#topology.machines) {
      if (spec.frr !== undefined) this.#machines.set(spec.name, new Router(this.id, spec.name, spec.frr));
      else if (spec.kind === 'node') this.#machines.set(spec.name, new LabNode(this.id, nodePlan(Number(spec.name.replace('node', '')))));
      else this.#machines.set(spec.name, new Machine(this.id, spec.name));
    }
    const pods = this.#topology.pods.map((spec) => this.#register(spec));
    await buildNetwork(this.id, this.#topology);
    log.info({ lab: this.id }, 'network is up');
    const routers = [...this.#machines.values()].filter((machine) => machine instanceof Router);
    const startRouter = async (router: Router): Promise<void> => {
      await router.frr.prepare();
      await router.frr.start();
    };
    await Promise.all([...routers.map(startRouter), ...pods.map((pod) => this.#startPod(pod))]);
    // A single router gets its sessions from Herald.
    if (routers.length > 1) await sessionsUp(routers);
    log.info({ lab: this.id, routers: routers.length, pods: pods.length }, 'lab is up');
  }

  #register(spec: PodSpec): Pod {
    assert(/^[a-z0-9-]{1,13}$/.test(spec.name) && !this.#machines.has(spec.name), `${spec.name}: taken, or not a valid name for a pod`);
    const pod = new Pod(this.id, spec, spec.address ?? this.#freeAddress(spec.node));
    this.#machines.set(spec.name, pod);
    return pod;
  }

  #freeAddress(node: string): Pod['address'] {
    const taken = new Set([...this.#machines.values()].map((machine) => (machine instanceof Pod ? machine.address.ipv4 : '')));
    const { plan } = this.node(node);
    for (let ordinal = 0; ordinal < 90; ordinal++) {
      const address = podAddress(plan, ordinal);
      if (!taken.has(address.ipv4)) return address;
    }
    assert.fail(`${node} is full`);
  }

  async #startPod(pod: Pod): Promise<void> {
    await pod.connect(this.node(pod.spec.node));
    await pod.start();
  }
}
