import { cp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Lab, LabProcess } from './lab.ts';

const root = join(import.meta.dirname, '../..');
const program = join(root, 'bin/herald');

/** The directory of example manifests that match the lab's addresses. */
export const examples = join(root, 'examples/fabric');

export interface RecordedService {
  readonly addresses: readonly string[];
  readonly conditions: Readonly<Record<string, { readonly status: string; readonly reason: string; readonly message: string }>>;
}

export interface RecordedSession {
  readonly peer: string;
  readonly address: string;
  readonly interface?: string;
  readonly state: string;
  readonly since: string;
  readonly families?: readonly { readonly family: string; readonly refreshRequested?: string }[];
  readonly lastError?: string;
  readonly cause?: { readonly code: string; readonly details: Readonly<Record<string, unknown>>; readonly message: string };
  readonly warning?: RecordedSession['cause'];
  readonly damping?: { readonly penalty: number; readonly flapsInLastHour: number; readonly until?: string };
  readonly bfd?: { readonly state: string; readonly since: string; readonly reason?: string };
}

/** Herald in a lab, as its users run it: one controller, an agent on each node, and a directory of manifests that tests edit. */
export class HeraldInLab {
  readonly directory: string;
  readonly #lab: Lab;
  readonly #agents = new Map<string, LabProcess>();
  readonly #options = new Map<string, readonly string[]>();
  #controller: LabProcess | undefined;

  private constructor(lab: Lab, directory: string) {
    this.#lab = lab;
    this.directory = directory;
  }

  /**
   * Copies the manifests into the lab and starts nothing. `only` names the files to begin with (all by default). `name` is the directory's
   * name, for labs with several.
   */
  static async prepare(lab: Lab, manifests: string, only?: readonly string[], name = 'manifests'): Promise<HeraldInLab> {
    const directory = await lab.scratch(name);
    for (const file of await readdir(manifests)) {
      if (only === undefined || only.includes(file)) await cp(join(manifests, file), join(directory, file));
    }
    return new HeraldInLab(lab, directory);
  }

  /** Makes an empty directory of manifests. */
  static async empty(lab: Lab, name = 'manifests'): Promise<HeraldInLab> {
    return new HeraldInLab(lab, await lab.scratch(name));
  }

  /**
   * Makes hold times longer, for suites that do not test them: a process that is suspended for seconds ends no session. Call it before the
   * start.
   */
  async prolongHoldTimes(): Promise<void> {
    await this.edit('20-herald.yaml', (text) => text.replaceAll('holdTime: 3s, keepaliveTime: 1s', 'holdTime: 9s, keepaliveTime: 3s'));
  }

  /** Returns the socket of a node's process, or of the "controller". All nodes of a lab share one file system. */
  socket(of: string): string {
    return `${this.#lab.directory}/${of}.sock`;
  }

  startController(): LabProcess {
    const command = [program, 'controller', '--source', this.directory, '--socket', this.socket('controller')];
    this.#controller = this.#lab.control.spawn(command, { name: 'controller' });
    return this.#controller;
  }

  /** Gives every agent that starts on the node from now on these options. */
  passOptions(node: string, ...options: readonly string[]): void {
    this.#options.set(node, options);
  }

  startAgent(node: string, ...options: readonly string[]): LabProcess {
    return this.#spawnAgent(node, [], options);
  }

  /** Starts an agent that lacks a capability, such as "net_admin". */
  startAgentWithout(node: string, capability: string): LabProcess {
    return this.#spawnAgent(node, ['setpriv', `--bounding-set=-${capability}`, `--inh-caps=-${capability}`], []);
  }

  /** Starts the agent of a Node on the host of another. */
  startAgentOn(host: string, node: string): LabProcess {
    return this.#spawnAgent(node, [], [], host);
  }

  #spawnAgent(node: string, wrapper: readonly string[], options: readonly string[], host = node): LabProcess {
    const always = this.#options.get(node) ?? [];
    const command = [program, 'agent', '--node', node, '--source', this.directory, '--socket', this.socket(node), ...always, ...options];
    const agent = this.#lab.node(host).spawn([...wrapper, ...command], { name: `agent-${node}` });
    this.#agents.set(node, agent);
    return agent;
  }

  /** Starts controller and agent of one node in one process. */
  startRun(node: string, ...options: readonly string[]): LabProcess {
    const command = [program, 'run', this.directory, '--node', node, '--socket', this.socket(node), ...options];
    return this.#lab.node(node).spawn(command, { name: `run-${node}` });
  }

  async start(nodes: readonly string[]): Promise<void> {
    const controller = this.startController();
    const agents = nodes.map((node) => this.startAgent(node));
    await controller.waitForLine(/controller started/);
    await Promise.all(agents.map((agent) => agent.waitForLine(/agent started/)));
  }

  get controller(): LabProcess {
    if (this.#controller === undefined) throw new Error('the controller was not started');
    return this.#controller;
  }

  agent(node: string): LabProcess {
    const agent = this.#agents.get(node);
    if (agent === undefined) throw new Error(`no agent was started on ${node}`);
    return agent;
  }

  /** Writes a manifest as an editor does: to a temporary file that is renamed into place. */
  async write(file: string, text: string): Promise<void> {
    const aside = join(this.directory, `.${file}.swp`);
    await writeFile(aside, text);
    await rename(aside, join(this.directory, file));
  }

  async edit(file: string, change: (text: string) => string): Promise<void> {
    const before = await this.read(file);
    const after = change(before);
    if (after === before) throw new Error(`the edit of ${file} changes nothing`);
    await this.write(file, after);
  }

  read(file: string): Promise<string> {
    return readFile(join(this.directory, file), 'utf8');
  }

  async remove(file: string): Promise<void> {
    await rm(join(this.directory, file));
  }

  async service(namespace: string, name: string): Promise<RecordedService> {
    const { loadBalancer, conditions } = await this.#status('services', namespace, name);
    return { addresses: (loadBalancer?.ingress ?? []).map(({ ip }) => ip), conditions };
  }

  /** Returns the conditions of a configuration object, such as Ready of a BGPPeer. */
  async objectConditions(kind: string, name: string): Promise<RecordedService['conditions']> {
    return (await this.#status('objects', kind.toLowerCase(), name)).conditions;
  }

  async #status(...path: readonly string[]) {
    const file = `${join(this.directory, '.herald/status', ...path)}.yaml`;
    const { status } = (parse(await readFile(file, 'utf8').catch(() => '')) ?? {}) as {
      status?: { loadBalancer?: { ingress?: { ip: string }[] }; conditions?: StoredCondition[] };
    };
    const conditions = (status?.conditions ?? []).map(({ type, ...condition }) => [type.replace('herald.dev/', ''), condition] as const);
    return { ...status, conditions: Object.fromEntries(conditions) };
  }

  async untilAssigned(service: `${string}/${string}`, count: number): Promise<readonly string[]> {
    const [namespace = '', name = ''] = service.split('/');
    return this.#lab.until(`${service} has ${count} addresses`, async (note) => {
      const { addresses } = note(await this.service(namespace, name));
      return addresses.length === count ? addresses : undefined;
    });
  }

  /** Waits for a condition of a Service, and returns its reason and message. */
  async untilCondition(service: `${string}/${string}`, type: string, status: string): Promise<{ reason: string; message: string }> {
    const [namespace = '', name = ''] = service.split('/');
    return this.#lab.until(`${service} has ${type}=${status}`, async (note) => {
      const condition = note(await this.service(namespace, name)).conditions[type];
      return condition?.status === status ? condition : undefined;
    });
  }

  async sessions(node: string): Promise<readonly RecordedSession[]> {
    const text = await readFile(join(this.directory, '.herald/nodes', `${node}.yaml`), 'utf8').catch(() => '');
    const { status } = (parse(text) ?? {}) as { status?: { sessions?: RecordedSession[] } };
    return status?.sessions ?? [];
  }

  /** Starts a command on a node that keeps running. */
  startCommand(node: string, name: string, ...command: readonly string[]): LabProcess {
    return this.#lab.node(node).spawn([program, ...command], { name });
  }

  /** Returns the whole output of `herald explain service`. */
  async explain(service: string): Promise<string> {
    const { stdout } = await this.#lab.control.exec([program, 'explain', 'service', service, '-o', 'wide', '--source', this.directory]);
    return stdout;
  }

  async run(...command: readonly string[]): Promise<{ stdout: string; stderr: string; code: number }> {
    return this.#lab.control.exec([program, ...command], { check: false });
  }
}

interface StoredCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}
