import { execFileSync, spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment } from '../../../test/lab/command.ts';
import { manyPeersNetwork, manyPeersSender, receiverAddress, senderAddress } from '../../../src/bgp/bench/addresses.ts';

/** The names of the two namespaces, joined by a veth pair: one for the receiver, one for the senders, which run one after another. */
export const receiverNamespace = 'hxr-receiver';
export const senderNamespace = 'hxr-sender';

/** The directory for configurations and logs; removed at the end. */
export const directory = mkdtempSync(join(tmpdir(), 'herald-bench-'));

export function run(...argv: readonly string[]): string {
  const [file = '', ...rest] = argv;
  return execFileSync(file, rest, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: environment(), maxBuffer: 64 * 1024 * 1024 });
}

export function setUp(): void {
  tearDown();
  for (const namespace of [receiverNamespace, senderNamespace]) {
    run('ip', 'netns', 'add', namespace);
    run('ip', '-n', namespace, 'link', 'set', 'lo', 'up');
  }
  run('ip', 'link', 'add', 'v0', 'netns', receiverNamespace, 'type', 'veth', 'peer', 'name', 'v0', 'netns', senderNamespace);
  for (const [namespace, address] of [
    [receiverNamespace, receiverAddress],
    [senderNamespace, senderAddress],
  ] as const) {
    run('ip', '-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'v0');
    run('ip', '-n', namespace, 'link', 'set', 'v0', 'up');
  }
  // The receiver's kernel answers for every address of the network.
  run('ip', '-n', receiverNamespace, 'route', 'add', 'local', manyPeersNetwork, 'dev', 'lo');
  // By a gateway: the kernel's table of neighbours is too small for 1,000 peers on the link.
  run('ip', '-n', senderNamespace, 'addr', 'add', `${manyPeersSender}/32`, 'dev', 'v0');
  run('ip', '-n', senderNamespace, 'route', 'add', manyPeersNetwork, 'via', receiverAddress, 'src', manyPeersSender);
  run('ip', '-n', receiverNamespace, 'route', 'add', `${manyPeersSender}/32`, 'dev', 'v0');
}

/** Removes the namespaces of this run, and those that a killed run left under the same names. */
export function tearDown(): void {
  for (const namespace of [receiverNamespace, senderNamespace]) {
    if (existsSync(`/run/netns/${namespace}`)) {
      for (const pid of run('ip', 'netns', 'pids', namespace).split('\n').filter(Boolean)) kill(Number(pid));
      run('ip', 'netns', 'delete', namespace);
    }
    rmSync(`/run/frr/${namespace}`, { recursive: true, force: true });
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

/** A process in a namespace. Its output goes to a file unless `stdio` says otherwise. */
export class BenchProcess {
  readonly child: ChildProcess;
  readonly logFile: string;
  readonly #ended: Promise<void>;

  constructor(namespace: string, argv: readonly string[], options: { readonly ipc?: boolean; readonly env?: Record<string, string> } = {}) {
    this.logFile = join(directory, `${argv[0]?.split('/').at(-1) ?? 'process'}.log`);
    const log = openSync(this.logFile, 'w');
    const stdio: StdioOptions = options.ipc === true ? ['ignore', log, log, 'ipc'] : ['ignore', log, log];
    this.child = spawn('ip', ['netns', 'exec', namespace, ...argv], { stdio, env: environment(options.env) });
    closeSync(log);
    this.#ended = new Promise((resolve) => this.child.once('exit', () => resolve()));
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.running) this.child.kill(signal);
    await this.#ended;
  }

  log(): string {
    return readFileSync(this.logFile, 'utf8').slice(-2000);
  }
}

export function file(name: string, text: string | Uint8Array): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const searchedFirst: string[] = [];

/** Makes the benchmark use the programs in these directories instead of the installed ones. */
export function searchFirst(directories: readonly string[]): void {
  searchedFirst.push(...directories);
  process.env['PATH'] = [...directories, process.env['PATH']].join(':');
}

/** OpenBGPD has a program of the same name, so that of FRR is not searched in the path. */
export function bgpdPath(): string {
  return [...searchedFirst, '/usr/lib/frr'].map((each) => join(each, 'bgpd')).find((path) => existsSync(path)) ?? 'bgpd';
}

/** Starts bgpd alone, without zebra and without kernel routes. Returns the process and the path of its vty socket. */
export function startBgpd(namespace: string, config: string): { readonly process: BenchProcess; readonly vty: string } {
  const [uid = 0, gid = 0] = ['-u', '-g'].map((flag) => Number(run('id', flag, 'frr')));
  const runDirectory = `/run/frr/${namespace}`;
  rmSync(runDirectory, { recursive: true, force: true });
  mkdirSync(runDirectory, { recursive: true });
  chownSync(runDirectory, uid, gid);
  const configFile = `${runDirectory}/bgpd.conf`;
  writeFileSync(configFile, config);
  chownSync(configFile, uid, gid);
  const argv = [bgpdPath(), '-Z', '-n', '-N', namespace, '-A', '127.0.0.1', '-f', configFile];
  return { process: new BenchProcess(namespace, argv), vty: `${runDirectory}/bgpd.vty` };
}
