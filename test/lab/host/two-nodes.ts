import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parse } from 'yaml';
import { defined } from '../../../src/lang/defined.ts';
import { withoutDuplicateDetection } from '../dataplane/one-node.ts';
import { inNamespace } from '../namespace.ts';
import { run, type CommandOptions, type CommandResult } from '../command.ts';
import { startProgram, type CalledProcess } from '../../peers/called-process.ts';
import { until } from '../until.ts';
import type { Manifest } from './objects.ts';

const program = join(import.meta.dirname, '../../../bin/herald');

export type Place = 'client' | 'node1' | 'node2';
export const places: readonly Place[] = ['client', 'node1', 'node2'];

/** The addresses of the nodes. Each node has its own link to the client. */
export const nodeAddresses = {
  node1: { 4: '10.71.1.1', 6: 'fd71:1::1' },
  node2: { 4: '10.71.2.1', 6: 'fd71:2::1' },
} as const;

/** Returns the Node object. `more` adds to it. */
export const nodeManifest = (name: 'node1' | 'node2', more: Manifest = {}): Manifest => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  status: { addresses: Object.values(nodeAddresses[name]).map((address) => ({ type: 'InternalIP', address })) },
  ...more,
});

export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface ReportedReason {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface Report {
  readonly host: readonly ReportedReason[];
  readonly differing: readonly { readonly service: string; readonly aspect: string; readonly reason: ReportedReason }[];
  readonly checks?: ReportedChecks;
}

interface ReportedChecks {
  readonly mode: string;
  readonly answered: readonly string[];
  readonly failing: readonly {
    readonly service: string;
    readonly family: string;
    readonly port: string;
    readonly areAll: boolean;
    readonly reason: ReportedReason;
  }[];
}

/**
 * Two nodes and a client in network namespaces `hh-PID-...`, a directory of manifests, and agents. There are no routers and no controller.
 */
export class TwoNodes {
  readonly directory: string;
  readonly #processes: ChildProcess[] = [];
  #http: CalledProcess | undefined;

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async build(): Promise<TwoNodes> {
    await sweep();
    const lab = new TwoNodes(await mkdtemp(join(tmpdir(), 'herald-hh-')));
    for (const place of places) {
      await run(['ip', 'netns', 'add', namespaceOf(place)]);
      await lab.exec(place, ['ip', 'link', 'set', 'lo', 'up']);
      await lab.exec(place, withoutDuplicateDetection.split(' '));
    }
    for (const [index, node] of (['node1', 'node2'] as const).entries()) {
      const subnet = index + 1;
      await run([
        'ip',
        'link',
        'add',
        'uplink',
        'netns',
        namespaceOf(node),
        'type',
        'veth',
        'peer',
        'name',
        node,
        'netns',
        namespaceOf('client'),
      ]);
      for (const [place, device, host] of [
        [node, 'uplink', 1],
        ['client', node, 2],
      ] as const) {
        await lab.exec(place, ['ip', 'addr', 'add', `10.71.${subnet}.${host}/24`, 'dev', device]);
        await lab.exec(place, ['ip', 'addr', 'add', `fd71:${subnet}::${host}/64`, 'dev', device, 'nodad']);
        await lab.exec(place, ['ip', 'link', 'set', device, 'up']);
      }
    }
    return lab;
  }

  exec(place: Place, argv: readonly string[], options?: CommandOptions): Promise<CommandResult> {
    return run(inNamespace(namespaceOf(place), argv), options);
  }

  /** Starts an agent. `wrap` is a command line that runs the agent in the namespace. */
  async startAgent(
    node: 'node1' | 'node2',
    { wrap = [], options = [] }: { wrap?: readonly string[]; options?: readonly string[] } = {},
  ): Promise<ChildProcess> {
    const agent = this.spawn(node, [...wrap, program, 'agent', '--node', node, '--source', this.directory, ...options]);
    const log = createWriteStream(join(this.directory, '..', `${namespaceOf(node)}.log`), { flags: 'a' });
    let text = '';
    agent.stdout?.on('data', (data) => {
      text += String(data);
      log.write(data as Buffer);
    });
    const started = (note: (seen: string) => string): boolean => {
      note(text.slice(-2_000));
      if (agent.exitCode !== null) throw new Error(`the agent ended with ${agent.exitCode}: ${text}`);
      return text.includes('agent started');
    };
    await until(`${node} has started`, started, 60_000);
    return agent;
  }

  spawn(place: Place, argv: readonly string[]): ChildProcess {
    const [file = '', ...args] = inNamespace(namespaceOf(place), argv);
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#processes.push(child);
    return child;
  }

  /** Writes a manifest as an editor does: to a temporary file that is renamed into place. */
  async write(file: string, text: string): Promise<void> {
    const aside = join(this.directory, `.${file}.swp`);
    await writeFile(aside, text);
    await rename(aside, join(this.directory, file));
  }

  /** Returns the answer that the client gets, or undefined if none comes within so many milliseconds. */
  async get(url: string, milliseconds = 10_000): Promise<HttpReply | undefined> {
    this.#http ??= startProgram(namespaceOf('client'), join(import.meta.dirname, 'http-program.ts'), {});
    return (await this.#http.call('get', url, milliseconds)) as HttpReply | undefined;
  }

  async report(node: 'node1' | 'node2'): Promise<Report> {
    const text = await readFile(join(this.directory, '.herald/nodes', `${node}.yaml`), 'utf8').catch(() => '');
    const { status } = (parse(text) ?? {}) as { status?: Partial<Report> };
    return { host: status?.host ?? [], differing: status?.differing ?? [], ...defined({ checks: status?.checks }) };
  }

  async explain(service: string): Promise<string> {
    const { stdout } = await run([program, 'explain', 'service', service, '-o', 'wide', '--source', this.directory]);
    return stdout;
  }

  async stop(): Promise<void> {
    await this.#http?.kill();
    for (const child of this.#processes) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
    await removeNamespaces(process.pid);
    await rm(this.directory, { recursive: true, force: true });
    for (const place of places) await rm(join(this.directory, '..', `${namespaceOf(place)}.log`), { force: true });
  }
}

export function namespaceOf(place: Place): string {
  return `hh-${process.pid}-${place}`;
}

/** Removes the namespaces of tests that were killed. */
async function sweep(): Promise<void> {
  if (!existsSync('/run/netns')) return;
  const owners = new Set(readdirSync('/run/netns').flatMap((name) => /^hh-(\d+)-/.exec(name)?.[1] ?? []));
  for (const owner of owners) if (!existsSync(`/proc/${owner}`)) await removeNamespaces(Number(owner));
}

async function removeNamespaces(owner: number): Promise<void> {
  for (const place of places) await run(['ip', 'netns', 'del', `hh-${owner}-${place}`], { check: false });
}
